"""``widemargin gossip simulate`` and what the other commands make of its models."""

import csv
import inspect
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from test_cli import cancer, iris, run  # noqa: F401  (fixtures)

from widemargin import GossipClassifier, load_model
from widemargin.cli.gossip import simulate
from widemargin.core.progress import FitProgress
from widemargin.data import read
from widemargin.gossip import NetworkFaults

SIMULATE = ("gossip", "simulate")


def test_the_model_is_that_of_the_class(run, cancer):  # noqa: F811
    options = "--sites 6 --topology grid --topology-option columns=2 --loss odm --C 0.1 --drop 0.3"
    options += " --delay 1 --duplicate 0.1 --event 5:crash:1 --event 9:return:1 --slow 2:0.5"
    options += " --rounds 500"
    options += " --solver-option relaxation=0.5 --seed 3 --asynchronous --class-weight 1=2"
    code, out, err = run(*SIMULATE, "cancer.svm", "--model", "m.wm", *options.split())
    assert (code, err) == (0, "")
    model = load_model("m.wm")
    faults = NetworkFaults(0.3, 0.1, 1, [(5, "crash", 1), (9, "return", 1)], speeds={2: 0.5})
    assert model.faults == faults
    assert model.topology == ("grid", {"columns": 2})
    assert (model.C, model.max_iter, model.random_state) == (0.1, 500, 3)
    assert model.solver.relaxation == 0.5
    table = read("cancer.svm")
    expected = GossipClassifier(**{**model.get_params(deep=False), "class_weight": {1: 2.0}})
    expected.fit(table.X.toarray(), table.y)
    np.testing.assert_array_equal(model.site_coef_, expected.site_coef_)
    assert f"consensus, {model.n_iter_} rounds" in out
    assert "6, label skew" in out
    assert "grid, 7 links, mixing time" in out
    scores = expected.score_sites(table.X, table.y)
    assert f"{scores.min():.4f} to {scores.max():.4f} over sites" in out


def test_every_setting_has_an_option_or_a_reason():
    options = {"faults": "drop"}
    without = {"intercept_scaling": "scale the features", "verbose": "the progress line tells"}
    for name in inspect.signature(GossipClassifier).parameters:
        assert (options.get(name, name) in inspect.signature(simulate).parameters) != (
            name in without
        )


def test_the_course_as_csv(run, cancer):  # noqa: F811
    code, _, _ = run(*SIMULATE, "cancer.svm", "--history", "h.csv", "-m", "m.wm", "--seed", 1)
    assert code == 0
    with open("h.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    history = load_model("m.wm").history_
    assert list(lines[0]) == list(history)
    for name, column in history.items():
        assert [float(line[name]) for line in lines] == column.tolist()


def test_predict_evaluate_and_info(run, iris):  # noqa: F811
    options = ("--json", "--tol", 0.05, "--loss", "odm", "--sites", 4)
    code, out, _ = run(*SIMULATE, "iris.csv", "-m", "m.wm", *options)
    assert code == 0
    summary = json.loads(out)
    model, table = load_model("m.wm"), read("iris.csv")
    assert summary["command"] == "gossip simulate"
    assert summary["rows"] == len(table.y)
    assert summary["sites"] == 4
    assert summary["messages"] == model.n_messages_
    assert summary["site_accuracy"]["max"] == model.score_sites(table.X, table.y).max()
    assert model.feature_names_in_.tolist()[0] == "sepal length"
    code, out, _ = run("evaluate", "m.wm", "iris.csv", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx(model.score(table.X, table.y))
    code, out, _ = run("predict", "m.wm", "iris.csv", "--decision")
    assert out.splitlines()[0].split(",")[1:] == [f"decision_class {k}" for k in range(3)]
    code, out, _ = run("info", "m.wm")
    assert "GossipClassifier" in out
    assert "upsilon=0.5" in out
    code, out, _ = run("info", "m.wm", "--json")
    assert json.loads(out)["parameters"]["solver"] == "consensus"


def test_nothing_need_be_saved(run, cancer, tmp_path):  # noqa: F811
    before = set(os.listdir(tmp_path))
    code, out, _ = run(*SIMULATE, "cancer.svm", "--solver", "gadget", "--rounds", 20)
    assert code == 0
    assert "upsilon" not in out  # not a setting of the hinge
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--topology", "mesh"), "`topology` must be one of 'complete', 'ring'"),
        (("--topology-option", "degree=4"), "for a --topology that has options"),
        (("--topology", "grid", "--topology-option", "columns"), "must be NAME=VALUE; got 'col"),
        (("--topology", "grid", "--topology-option", "rows=2"), "takes the options ['columns']"),
        (("--sites", 0), "error: --sites must be None or an int in the range [1, inf). Got 0"),
        (("--rounds", 0), "error: --rounds must be an int in the range [1, inf). Got 0"),
        (("--jobs", 0), "error: --jobs must not be 0"),
        (("--seed", -1), "error: --seed must be an int"),
        (("--loss", "log"), "The 'loss' parameter of GossipClassifier must be a str among"),
        (("--theta", 0.1), "--theta is no setting of --loss hinge. Add --loss odm to use it."),
        (("--loss", "squared_hinge", "--upsilon", 1), "--upsilon is no setting of --loss squared_"),
        (("--epsilon", 1), "--epsilon is no setting of --stopping gap. Add --stopping norm to use"),
        (("--stopping", "never", "--quiet", 2), "--quiet is no setting of --stopping never."),
        (("--solver", "admm"), "'solver' parameter"),
        (("--solver", "admm", "--solver-option", "penalty=1"), "'solver' parameter"),
        (("--solver-option", "step=1"), "solver consensus has the options epochs, penalty, relax"),
        (("--drop", 1), "error: --drop must be in [0, 1); got 1.0."),
        (("--duplicate", 2), "error: --duplicate must be in [0, 1]; got 2.0."),
        (("--event", "3:return:1"), "error: --event must not contradict itself; site 1 has"),
        (("--event", "crash:3"), "--event must be ROUND:EVENT:SITE, such as 100:crash:3"),
        (("--event", "3:explode:1"), "An event of --event must be one of"),
        (
            ("--event", "3:crash:10"),
            "from 0 to 9, its position in `sites_`; got 10",
        ),
        (("--slow", "3=0.5"), "--slow must be SITE:SPEED, such as 3:0.25; got '3=0.5'."),
        (
            ("--slow", "3:2"),
            "A speed must be in (0, 1], a share of the rounds; got 2.0",
        ),
        (("--slow", "12:0.5"), "A site of --slow must be a number from 0 to 9"),
        (("-C", 1, "--lam", 1), "-C and --lam set the same weight"),
        (("--history", "nowhere/h.csv"), "nowhere must be a directory"),
        (("--history", "cancer.svm"), "this is an input file"),
        (("--model", "cancer.t"), "this file exists and is not a model"),
        (("--memory-limit", "much"), "`memory_limit` must be a positive number"),
    ],
)
def test_wrong_usage(run, cancer, options, message):  # noqa: F811
    code, out, err = run(*SIMULATE, "cancer.svm", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Try 'widemargin gossip simulate --help'." in err


def test_what_only_the_data_tell(run, cancer):  # noqa: F811
    code, _, err = run(*SIMULATE, "cancer.svm", "--sites", 401)
    assert code == 1
    assert "There must be a row for every site; --sites is 401, and there are 400 rows." in err
    assert "Lower --sites" in err


def test_warnings_name_options(run, cancer):  # noqa: F811
    options = ("--rounds", 5, "--event", "9:crash:1", "--json")
    code, out, err = run(*SIMULATE, "cancer.svm", *options)
    assert code == 0
    assert "Events of --event lie after the last round, 5, and did not happen" in err
    assert "The number of rounds in --rounds was reached: raise it, loosen --tol, scale" in err
    assert all(f"warning: {text}\n" in err for text in json.loads(out)["warnings"])


def test_an_interrupt_keeps_what_there_is(run, cancer, monkeypatch):  # noqa: F811
    def interrupt(progress, iteration, *_):
        if iteration >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)
    files = ("-m", "m.wm", "--history", "h.csv")
    code, out, err = run(*SIMULATE, "cancer.svm", *files)
    assert code == 130
    assert err == "interrupted: these are the models of the last checkpoint\n"
    assert "not certified" in out
    assert load_model("m.wm").n_iter_ == 3
    with open("h.csv") as file:
        assert len(file.readlines()) == 4
    run(*SIMULATE, "cancer.svm", *files)
    assert os.path.exists("m.partial.wm")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_a_signal(tmp_path):
    rng = np.random.default_rng(0)
    noise = np.column_stack([rng.normal(size=(200, 5)), rng.integers(2, size=200)])
    np.savetxt(tmp_path / "noise.csv", noise, delimiter=",")
    # GADGET's steps shrink: this takes many times longer than the wait below.
    command = "gossip simulate noise.csv -m m.wm --solver gadget --tol 1e-12 --rounds 1000000000"
    with subprocess.Popen(
        [sys.executable, "-m", "widemargin", *command.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline().startswith("note: labels are taken from")
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "these are the models of the last checkpoint" in err
    assert not load_model(tmp_path / "m.wm").converged_


def test_kernels_and_the_choice_of_C(run, iris):  # noqa: F811
    options = "--sites 3 --kernel rbf --gamma 0.5 --components 50 -C 0.001 -C 10 --holdout 0.3"
    code, out, _ = run(*SIMULATE, "iris.csv", "--model", "m.wm", *options.split(), "--json")
    assert code == 0
    summary = json.loads(out)
    model = load_model("m.wm")
    assert (model.kernel, model.gamma, model.n_components) == ("rbf", 0.5, 50)
    assert (model.C, model.holdout, model.C_) == ([0.001, 10.0], 0.3, 10.0)
    assert summary["chosen_C"] == 10.0
    assert summary["C_scores"] == model.C_scores_.tolist()
    for wrong in ("--components 5", "--gamma 1", "--kernel rbf --degree 2", "--holdout 0.5"):
        code, _, err = run(*SIMULATE, "iris.csv", *wrong.split())
        assert code == 2
        assert wrong.split()[-2] in err
