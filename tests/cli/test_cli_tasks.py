"""Regression and novelty detection from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from typer.testing import CliRunner

from widemargin import LinearSVMRegressor, ODMRegressor, OneClassSVM, Stratified
from widemargin.cli import app
from widemargin.persistence import load_model


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "diabetes.csv"
    load_diabetes(as_frame=True).frame.to_csv(path, index=False)
    return path


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code != 0
    return " ".join(done.output.split())


def test_numbers_are_learnt_measured_and_predicted(numbers: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.wm"
    summary = json.loads(run("train", numbers, "--task", "regression", "-m", model, "--json"))
    assert 0.3 < summary["held_out"]["r2"] < 0.7
    assert summary["rows"] == 442
    assert summary["relative_gap"] <= 1e-3
    measured = json.loads(run("evaluate", model, numbers, "--json"))
    assert measured["r2"] > 0.5
    lines = run("predict", model, numbers).splitlines()
    assert lines[0] == "prediction"
    frame = load_diabetes(as_frame=True)
    expected = load_model(model).predict(frame.data)
    assert np.allclose([float(each) for each in lines[1:]], expected)
    assert "ODMRegressor" in run("info", model)


def test_a_regressor_of_ones_choice_is_that_of_python(numbers: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.wm"
    options = ["--linear", "--algorithm", "svm", "--epsilon", 5, "-C", 10, "-m", model]
    run("train", numbers, "--task", "regression", *options)
    X, y = load_diabetes(return_X_y=True)
    direct = LinearSVMRegressor(epsilon=5.0, C=10.0).fit(X, y)
    assert np.allclose(load_model(model).coef_, direct.coef_, rtol=1e-6)
    options = ["--kernel", "poly", "--degree", 2, "-m", model]
    run("train", numbers, "--task", "regression", *options)
    direct = ODMRegressor(kernel="poly", degree=2).fit(X, y)
    assert np.allclose(load_model(model).predict(X), direct.predict(X), rtol=1e-6)


def test_quantiles(numbers: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.wm"
    run("train", numbers, "--task", "regression", "--quantile", 0.9, "-C", 1, "-m", model)
    measured = json.loads(run("evaluate", model, numbers, "--json"))
    assert 0.8 < measured["share_below"] < 0.97
    frame = load_diabetes(as_frame=True)
    predicted = load_model(model).predict(frame.data)
    above = frame.target - predicted
    assert measured["pinball_loss"] == pytest.approx(np.maximum(0.9 * above, -0.1 * above).mean())
    assert measured["share_at_or_below"] == np.mean(frame.target <= predicted)
    assert "pinball loss" in run("evaluate", model, numbers)
    run("train", numbers, "--task", "regression", "-m", model)
    assert "pinball" not in run("evaluate", model, numbers)


def test_rows_too_few_to_hold_some_out(numbers: Path, tmp_path: Path) -> None:
    data = tmp_path / "few.csv"
    for n_rows, counted in ((1, "1 row is"), (3, "3 rows are")):
        pd.read_csv(numbers)[:n_rows].to_csv(data, index=False)
        said = refused("train", data, "--task", "regression")
        assert f"{counted} too few to hold some out to measure on. Give more rows" in said
        assert "class" not in said


@pytest.mark.parametrize(
    "options",
    [
        ["--quantile", 0.9],
        ["-C", 2],
        ["--theta", 0.5, "--upsilon", 0.7],
        ["--algorithm", "svm", "--epsilon", 0.5],
    ],
)
def test_what_to_learn_leaves_features_prepared(
    numbers: Path, tmp_path: Path, options: list[object]
) -> None:
    model = tmp_path / "model.wm"
    out = json.loads(run("train", numbers, "--task", "regression", *options, "-m", model, "--json"))
    assert [each for each, _ in load_model(model).steps] == ["preprocessor", "regressor"]
    assert out["held_out"]["rows"] == 88
    assert out["rows"] == 442
    settings = load_model(model).steps[-1][1].regressor_.get_params()
    given = dict(zip(options[::2], options[1::2], strict=True))
    given.pop("--algorithm", None)
    assert {
        str(name).strip("-"): value for name, value in given.items()
    }.items() <= settings.items()


@pytest.mark.parametrize(
    "options", [[], ["--quantile", 0.9], ["--algorithm", "svm", "--epsilon", 0.3, "-C", 2]]
)
def test_models_do_not_depend_on_the_unit_of_the_targets(
    numbers: Path, tmp_path: Path, options: list[object]
) -> None:
    """Predictions and errors are in the unit of the file, and so is what `info` tells."""
    frame = pd.read_csv(numbers)
    found, errors = [], []
    for unit, offset in ((1.0, 0.0), (1000.0, 1e5)):
        data, model = tmp_path / "data.csv", tmp_path / "model.wm"
        frame.assign(target=unit * frame.target + offset).to_csv(data, index=False)
        run("train", data, "--task", "regression", *options, "-m", model)
        lines = run("predict", model, data).splitlines()[1:]
        found.append((np.array(lines, dtype=float) - offset) / unit)
        measured = json.loads(run("evaluate", model, data, "--json"))
        errors.append((measured["mean_absolute_error"] / unit, measured["r2"]))
        mean, deviation = unit * 152.133 + offset, unit * 77.0057
        assert f"targets: mean {mean:.6g}, standard deviation {deviation:.6g}" in run("info", model)
    assert np.allclose(found[0], found[1], rtol=1e-6)
    assert np.allclose(errors[0], errors[1], rtol=1e-6)
    assert np.std(found[0]) > 30


def test_regressors_of_scaled_targets_are_exported(numbers: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    model, graph = tmp_path / "model.wm", tmp_path / "model.onnx"
    run("train", numbers, "--task", "regression", "-m", model)
    assert "prediction" in run("export", model, "-o", graph, "--compress", 50)
    assert graph.stat().st_size > 0


def test_targets_too_large_to_be_scaled_are_refused(numbers: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(numbers)
    frame.loc[3, "target"] = 1e200
    frame.to_csv(tmp_path / "data.csv", index=False)
    said = refused("train", tmp_path / "data.csv", "--task", "regression")
    assert "the label column must hold finite numbers of at most 1e+100 in size; got 1e+200" in said


@pytest.mark.parametrize(
    "options", [["--algorithm", "svm"], ["--gamma", 1, "-C", 2], ["--tol", 0.01]]
)
def test_a_regressor_of_ones_choice_takes_features_as_they_are(
    numbers: Path, tmp_path: Path, options: list[object]
) -> None:
    model = tmp_path / "model.wm"
    out = json.loads(run("train", numbers, "--task", "regression", *options, "-m", model, "--json"))
    assert not hasattr(load_model(model), "steps")
    assert out["held_out"] is None


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    """Columns of very different scales, and one of labels."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=300), "b": 1e3 * random.normal(size=300)})
    frame["status"] = random.choice(["x", "y"], 300)
    frame.to_csv(tmp_path / "usual.csv", index=False)
    return tmp_path / "usual.csv"


@pytest.mark.parametrize("options", [[], ["--nu", 0.1], ["--nu", 0.1, "-k", "rbf"]])
def test_novelty_says_what_share_is_outside(usual: Path, options: list[object]) -> None:
    given = ["--task", "novelty", "--label", "status", *options]
    done = CliRunner().invoke(app, [str(each) for each in ["train", usual, *given]])
    assert done.exit_code == 0
    model = load_model(usual.with_suffix(".wm"))
    assert hasattr(model, "steps") == ("-k" not in options)
    detector = model.steps[-1][1] if hasattr(model, "steps") else model
    assert detector.nu == (0.1 if options else 0.05)
    assert ("note: --nu 0.05 is taken: about 5 % of the rows" in done.stderr) == (not options)


@pytest.mark.parametrize("options", [[], ["-k", "rbf"]])
@pytest.mark.parametrize("name", ["target", "Class", "y"])
def test_novelty_says_which_column_it_leaves_out(
    tmp_path: Path, name: str, options: list[str]
) -> None:
    data = tmp_path / "rows.csv"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", name])
    frame.to_csv(data, index=False)
    given = ["train", str(data), "--task", "novelty", *options]
    done = CliRunner().invoke(app, given)
    assert f"note: column {name!r} is taken for labels, which are not learnt from" in done.stderr
    assert load_model(data.with_suffix(".wm")).feature_names_in_.tolist() == ["a", "b"]
    done = CliRunner().invoke(app, [*given, "--label", "a"])
    assert "labels" not in done.stderr
    assert load_model(data.with_suffix(".wm")).feature_names_in_.tolist() == ["b", name]


def test_labels_that_are_no_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["1", "two", "3"]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    said = refused("train", tmp_path / "data.csv", "--task", "regression")
    assert "needs numbers in the label column; row 2 holds 'two'" in said


@pytest.mark.parametrize("options", [[], ["-C", 1], ["--linear"], ["--multiclass", "cs"]])
def test_targets_are_no_classes(numbers: Path, tmp_path: Path, options: list[object]) -> None:
    frame = pd.read_csv(numbers)
    frame["target"] += 0.5
    frame.to_csv(tmp_path / "half.csv", index=False)
    said = refused("train", tmp_path / "half.csv", *options)
    if "--linear" not in options:  # which reads the file by blocks, and only to the first of them
        assert "214 different numbers in 442 rows look like a regression" in said
    assert "pass --task regression, or name another column with --label." in said
    frame["target"] = np.arange(len(frame)) // 1.5 // 1
    frame.to_csv(tmp_path / "many.csv", index=False)
    said = refused("train", tmp_path / "many.csv", *options)
    assert "295 different numbers in 442 rows look like a regression; pass --task reg" in said


@pytest.mark.parametrize("options", [["--max-time", 1], ["--linear", "--max-time", 1]])
def test_many_numbers_are_hardly_classes(
    numbers: Path, tmp_path: Path, options: list[object]
) -> None:
    given = ["train", numbers, "-m", tmp_path / "model.wm", *options]
    done = CliRunner().invoke(app, [str(each) for each in given])
    assert done.exit_code == 0
    assert "214 different numbers in 442 rows look like a regression; pass --task" in done.stderr
    assert done.stderr.count("look like a regression") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", 1], "--epsilon is for --task regression"),
        (["--nu", 0.1], "--nu is for --task novelty"),
        (["--task", "regression", "--nu", 0.1], "--nu is for --task novelty"),
        (["--task", "regression", "--class-weight", "balanced"], "--class-weight is for classif"),
        (["--task", "regression", "--calibrate", "sigmoid"], "--calibrate is for classifiers"),
        (["--task", "regression", "--linear", "--gamma", 1], "--gamma is no setting of LinearODM"),
        (["--task", "regression", "--quantile", 2], "quantile"),
        (
            ["--task", "regression", "--epsilon", 1],
            "of ODMRegressor. Add --algorithm svm to use it.",
        ),
        (
            ["--task", "regression", "--linear", "--epsilon", 1],
            "of LinearODMRegressor. Add --algorithm svm to use it.",
        ),
        (
            ["--task", "regression", "--algorithm", "svm", "--theta", 1],
            "of SVMRegressor. Add --algorithm odm to use it.",
        ),
        (
            ["--task", "regression", "--quantile", 0.5, "--epsilon", 1],
            "of QuantileSVMRegressor. Leave out --quantile to use it.",
        ),
        (["--task", "regression", "--linear", "--spool-dir", "."], "keeps the rows in memory"),
        (["--task", "novelty", "--linear"], "--task novelty has kernels only"),
        (["--task", "novelty", "--epsilon", 1], "are for --task regression"),
        (["--task", "novelty", "--holdout", 0.2], "give --test with a file of labels"),
    ],
)
def test_options_of_other_tasks(numbers: Path, options: list[object], message: str) -> None:
    assert message in refused("train", numbers, *options)


def test_novelty_on_parts_is_that_of_python(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    data, model = tmp_path / "rows.csv", tmp_path / "usual.wm"
    pd.DataFrame(X, columns=["a", "b"]).to_csv(data, index=False)
    options = ("--nu", 0.1, "--strategy", "stratified", "--levels", 1, "--stop-level", 1)
    out = run("train", data, "--task", "novelty", "-m", model, *options)
    assert "level 1 of 1, 4 parts" in out
    expected = OneClassSVM(nu=0.1, strategy=Stratified(levels=1, stop_level=1)).fit(X)
    np.testing.assert_array_equal(load_model(model).dual_coef_, expected.dual_coef_)


def test_novel_rows_are_recognised(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    names = ["a", "b", "c"]
    usual = pd.DataFrame(random.normal(size=(200, 3)), columns=names)
    usual.to_csv(tmp_path / "usual.csv", index=False)
    rows = np.concatenate([random.normal(size=(50, 3)), random.normal(size=(20, 3)) + 6.0])
    other = pd.DataFrame(rows, columns=names)
    other["label"] = [1] * 50 + [-1] * 20
    other.to_csv(tmp_path / "other.csv", index=False)
    model = tmp_path / "model.wm"
    options = ["--task", "novelty", "--nu", 0.1, "-m", model, "--json"]
    summary = json.loads(
        run("train", tmp_path / "usual.csv", *options, "--test", tmp_path / "other.csv")
    )
    assert (summary["rows"], summary["features"]) == (200, 3)
    assert summary["held_out"]["roc_auc"] > 0.99
    measured = json.loads(run("evaluate", model, tmp_path / "other.csv", "--json"))
    assert measured["novel"] == 20
    assert measured["accuracy"] == summary["held_out"]["accuracy"] > 0.8
    lines = run("predict", model, tmp_path / "other.csv", "--decision").splitlines()
    assert lines[0] == "prediction,decision"
    assert {line.split(",")[0] for line in lines[51:]} == {"-1"}
    assert "OneClassSVM" in run("info", model)
    other["label"] = [1] * 50 + [0] * 20
    other.to_csv(tmp_path / "other.csv", index=False)
    said = refused("evaluate", model, tmp_path / "other.csv")
    assert "labelled 1, or -1 where they are novel; row 51 is labelled '0'" in said
    said = refused("predict", model, tmp_path / "other.csv", "--proba")
    assert "no probabilities" in said
    assert "calibrate" not in said
