"""``widemargin train --linear`` and what the other commands make of its models."""

import json
import os

import numpy as np
import pytest
from test_cli import cancer, iris, run  # noqa: F401  (fixtures)

from widemargin import LinearODMClassifier, LinearSVMClassifier, load_model
from widemargin.core.progress import FitProgress
from widemargin.data import read


def test_the_model_is_that_of_memory(run, cancer):  # noqa: F811
    code, out, err = run("train", "--linear", "cancer.svm", "--model", "m.wm", "-C", 0.5)
    assert (code, err) == (0, "")
    table = read("cancer.svm")
    model = load_model("m.wm")
    expected = LinearODMClassifier(C=0.5).fit(table.X, table.y)
    assert model.get_params() == expected.get_params()
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    assert "newton" in out
    assert "support vectors" not in out


def test_predict_evaluate_and_info(run, cancer):  # noqa: F811
    options = ("--algorithm", "svm", "--loss", "hinge", "--class-weight", "-1=2")
    code, out, _ = run("train", "--linear", "cancer.svm", "-m", "m.wm", "--json", *options)
    assert code == 0
    assert json.loads(out)["rows"] == 400
    model = load_model("m.wm")
    assert type(model) is LinearSVMClassifier
    assert model.class_weight == {-1: 2.0}
    code, out, _ = run("evaluate", "m.wm", "cancer.t", "--json")
    table = read("cancer.t", n_features=30)
    assert json.loads(out)["accuracy"] == pytest.approx(model.score(table.X, table.y))
    code, out, _ = run("predict", "m.wm", "cancer.t", "--decision")
    lines = out.splitlines()
    assert lines[0] == "prediction,decision"
    decisions = [float(line.split(",")[1]) for line in lines[1:]]
    np.testing.assert_allclose(decisions, model.decision_function(table.X), rtol=1e-9)
    code, out, _ = run("info", "m.wm")
    assert "LinearSVMClassifier" in out
    assert "loss=hinge" in out
    code, out, _ = run("info", "m.wm", "--json")
    assert json.loads(out)["relative_gap"] <= 1e-3


def test_named_columns_and_several_classes(run, iris):  # noqa: F811
    code, _, err = run("train", "--linear", "iris.csv", "-m", "m.wm", "--spool-dir", ".")
    assert code == 0, err
    assert load_model("m.wm").feature_names_in_.tolist()[0] == "sepal length"
    assert sorted(os.listdir()) == ["iris.csv", "m.wm"]
    code, out, _ = run("predict", "m.wm", "iris.csv", "--decision")
    assert out.splitlines()[0].split(",")[1:] == [f"decision_class {k}" for k in range(3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--linear", "--kernel", "rbf"), "--kernel is no setting of --algorithm odm --linear"),
        (("--linear", "--loss", "hinge"), "--linear. Add --algorithm svm to use it."),
        (("--linear", "--loss", "hinge"), "Try 'widemargin train --help'."),
        (
            ("--linear", "--validation-fraction", 0.1),
            "--validation-fraction is no setting of --lin",
        ),
        (("--linear", "--levels", 2), "--levels is no setting of --linear, which never divides"),
        (("--linear", "--solver", "blocks"), "'solver' parameter"),
        (("--linear", "--spool-dir", "nowhere"), "--spool-dir nowhere: expected a folder"),
        (("--spool-dir", "."), "--spool-dir is for --linear"),
    ],
)
def test_wrong_usage(run, cancer, options, message):  # noqa: F811
    code, out, err = run("train", "cancer.svm", "-m", "m.wm", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not os.path.exists("m.wm")


def test_a_bad_line_is_reported_with_its_number(run, cancer):  # noqa: F811
    with open("cancer.svm", "a") as file:
        file.write("1 1:0.5 2:x\n")
    code, _, err = run("train", "--linear", "cancer.svm", "-m", "m.wm")
    assert code == 1
    assert "401" in err


def test_an_interrupt_saves_what_there_is(run, cancer, monkeypatch):  # noqa: F811
    def interrupt(progress, iteration, *_):
        if iteration >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)
    code, _, err = run("train", "--linear", "cancer.svm", "-m", "m.wm", "--tol", 1e-12)
    assert code == 130
    assert "m.wm holds the model as far as it was fitted" in err
    assert not load_model("m.wm").converged_
