"""``widemargin train --multiclass`` and what the other commands make of its models."""

import json
import os

import numpy as np
import pytest
from test_cli import cancer, iris, run  # noqa: F401  (fixtures)

from widemargin import MulticlassODMClassifier, MulticlassSVMClassifier, load_model
from widemargin.core.progress import FitProgress
from widemargin.data import read
from widemargin.multiclass.problem import FORMULATIONS


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_model_is_that_of_the_class(run, iris, formulation):  # noqa: F811
    options = ("--multiclass", formulation, "-C", 0.5, "--seed", 3, "--tol", 0.01)
    code, out, err = run("train", "iris.csv", "-m", "m.wm", *options)
    assert code == 0
    assert "warning" not in err
    table = read("iris.csv")
    model = load_model("m.wm")
    expected = MulticlassSVMClassifier(formulation, C=0.5, random_state=3, tol=0.01)
    expected.fit(table.X, table.y)
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert f"formulation={formulation}" in out
    assert "% of the weights are not zero" in out


def test_the_margin_distribution_of_all_classes(run, iris):  # noqa: F811
    options = ("--multiclass", "odm", "-C", 2, "--theta", 0.1, "--upsilon", 0.3, "--seed", 3)
    code, out, err = run("train", "iris.csv", "-m", "m.wm", *options, "--solver", "dual")
    assert code == 0
    assert "warning" not in err
    table, model = read("iris.csv"), load_model("m.wm")
    expected = MulticlassODMClassifier(C=2, theta=0.1, upsilon=0.3, random_state=3, solver="dual")
    expected.fit(table.X, table.y)
    assert model.get_params() == expected.get_params()
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert "MulticlassODMClassifier" in out
    code, out, _ = run("evaluate", "m.wm", "iris.csv", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx(expected.score(table.X, table.y))
    code, out, _ = run("info", "m.wm", "--json")
    assert json.loads(out)["relative_gap"] == expected.relative_gap_


def test_lam_and_the_algorithm_may_be_named(run, iris):  # noqa: F811
    options = ("--multiclass", "odm", "--algorithm", "odm", "--lam", 100.0)
    code, _, _ = run("train", "iris.csv", "-m", "m.wm", *options)
    assert code == 0
    assert load_model("m.wm").lam == 100.0


def test_predict_evaluate_and_info(run, iris):  # noqa: F811
    options = ("--multiclass", "cs", "--class-weight", "class 0=2", "--algorithm", "svm")
    code, out, _ = run("train", "iris.csv", "-m", "m.wm", "--json", "--tol", 0.02, *options)
    assert code == 0
    assert json.loads(out)["rows"] == len(read("iris.csv").y)
    model = load_model("m.wm")
    assert model.class_weight == {"class 0": 2.0}
    assert model.feature_names_in_.tolist()[0] == "sepal length"
    table = read("iris.csv")
    code, out, _ = run("evaluate", "m.wm", "iris.csv", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx(model.score(table.X, table.y))
    code, out, _ = run("predict", "m.wm", "iris.csv", "--decision")
    lines = out.splitlines()
    assert lines[0].split(",")[1:] == [f"decision_class {k}" for k in range(3)]
    decisions = [[float(value) for value in line.split(",")[1:]] for line in lines[1:]]
    np.testing.assert_allclose(decisions, model.decision_function(table.X), rtol=1e-9)
    code, out, _ = run("info", "m.wm")
    assert "MulticlassSVMClassifier" in out
    assert "formulation=cs" in out
    code, out, _ = run("info", "m.wm", "--json")
    described = json.loads(out)
    assert described["density"] == model.density_
    assert described["relative_gap"] <= 0.02


def test_two_classes_in_a_sparse_file(run, cancer):  # noqa: F811
    code, _, _ = run("train", "cancer.svm", "-m", "m.wm", "--multiclass", "ww", "-C", 0.01)
    assert code == 0
    code, out, _ = run("predict", "m.wm", "cancer.t", "--decision")
    assert out.splitlines()[0] == "prediction,decision"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--multiclass", "ovo"), "'formulation' parameter"),
        (("--multiclass", "ww", "-C", 0), "'C' parameter"),
        (("--multiclass", "ww", "--algorithm", "odm"), "it has no --algorithm odm"),
        (("--multiclass", "odm", "--algorithm", "svm"), "it has no --algorithm svm"),
        (("--multiclass", "odm", "--loss", "hinge"), "--loss is no setting of --multiclass odm."),
        (("--multiclass", "odm", "--theta", 2), "'theta' parameter"),
        (("--multiclass", "odm", "--solver", "newton"), "'solver' parameter"),
        (("--multiclass", "odm", "--linear"), "--multiclass is linear as it is"),
        (("--multiclass", "ww", "--linear"), "--multiclass is linear as it is"),
        (("--multiclass", "ww", "--kernel", "rbf"), "--kernel is no setting of --multiclass ww."),
        (("--multiclass", "cs", "--loss", "hinge"), "--multiclass cs. Give --linear instead"),
        (("--multiclass", "ww", "--multi-class", "ovr"), "--multi-class is no setting of --mul"),
        (("--multiclass", "ww", "--theta", 0.1), "--theta is no setting of --multiclass ww."),
        (("--multiclass", "ww", "--strategy", "dc"), "--strategy is no setting of --multiclass"),
        (("--multiclass", "ww", "--levels", 2), "--levels is no setting of --multiclass, which"),
        (("--multiclass", "ww", "--solver", "parts"), "'solver' parameter"),
        (("--multiclass", "cs", "--solver", "printed"), "formulation='ww' or 'llw'"),
        (("--multiclass", "ww", "--spool-dir", "."), "--spool-dir is for --linear"),
        (("--multiclass", "ww", "--checkpoint", "d"), "--checkpoint is no setting of --multiclass"),
    ],
)
def test_wrong_usage(run, cancer, options, message):  # noqa: F811
    code, out, err = run("train", "cancer.svm", "-m", "m.wm", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not os.path.exists("m.wm")


def test_an_interrupt_saves_what_there_is(run, iris, monkeypatch):  # noqa: F811
    def interrupt(progress, iteration, *_):
        if iteration >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)
    code, out, err = run("train", "iris.csv", "-m", "m.wm", "--multiclass", "ww", "--tol", 1e-12)
    assert code == 130
    assert err.endswith("interrupted: m.wm holds the model as far as it was fitted\n")
    assert "not certified" in out
    assert not load_model("m.wm").converged_


def test_an_interrupt_at_the_beginning_saves_nothing(run, iris, monkeypatch):  # noqa: F811
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "report", interrupt)
    code, _, err = run("train", "iris.csv", "-m", "m.wm", "--multiclass", "ww")
    assert code == 130
    assert "no model saved" in err
    assert not os.path.exists("m.wm")
