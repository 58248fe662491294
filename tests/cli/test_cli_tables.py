"""``widemargin train`` on tables as people have them, and what follows."""

import csv
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import train_test_split
from test_cli import cancer, iris, run  # noqa: F401  (fixtures)

from widemargin import (
    AutoClassifier,
    LinearODMClassifier,
    SVMClassifier,
    TablePreprocessor,
    load_model,
)
from widemargin.cli.measures import judge, measure, neglected
from widemargin.cli.options import Theta, Upsilon
from widemargin.cli.train import train

# Searches end early: what they find does not matter here.
QUICK = ("--max-time", 2)


def messy(rows=240, seed=0):
    """Return a table with ids, dates, decimal commas, blanks and text, and a rule to learn."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=rows)
    job = rng.choice(["cook", "clerk", "driver"], rows)
    frame = pd.DataFrame(
        {
            "customer_id": np.arange(rows) + 7000,
            "size": [f"{x:.3f}".replace(".", ",") for x in size],
            "job": job,
            "since": pd.date_range("2020-01-01", periods=rows, freq="2D").strftime("%d.%m.%Y"),
            "income": np.where(size + (job == "cook") > 0.4, ">50K", "<=50K"),
        }
    )
    frame.loc[rng.random(rows) < 0.05, "size"] = "?"
    frame.loc[rng.random(rows) < 0.05, "job"] = ""
    return frame


@pytest.fixture
def tables(tmp_path):
    """Write a training and a test file with semicolons."""
    frame = messy()
    frame[:180].to_csv(tmp_path / "data.csv", sep=";", index=False)
    frame[180:].to_csv(tmp_path / "test.csv", sep=";", index=False)
    return frame


@pytest.fixture
def model(run, tables):  # noqa: F811
    assert run("train", "data.csv", "--label", "income", *QUICK)[0] == 0
    return "data.wm"


class TestTrain:
    def test_one_command(self, run, tables):  # noqa: F811
        code, out, _ = run("train", "data.csv", "--label", "income", *QUICK, "--json")
        assert code == 0
        summary = json.loads(out)
        assert summary["model"] == "data.wm"
        assert summary["estimator"] == "AutoClassifier"
        held_out = summary["held_out"]
        assert 34 <= held_out["rows"] <= 36
        assert held_out["accuracy"] > 0.8
        assert held_out["balanced_accuracy"] > 0.8
        assert 0 < held_out["log_loss"] < 0.5
        assert held_out["roc_auc"] > 0.9
        assert len(summary["leaderboard"]["score"]) == len(summary["leaderboard"]["name"]) > 1
        assert isinstance(load_model("data.wm"), AutoClassifier)

    def test_text(self, run, tables):  # noqa: F811
        _, out, err = run("train", "data.csv", "--label", "income", *QUICK)
        assert err == ""
        for part in (
            "AutoClassifier",
            "Dropped, because they are identifiers",
            "'customer_id'",
            "decimal comma: 'size'",
            "measured on rows held out from training",
            "balanced accuracy",
            "log loss",
            "ROC AUC",
            "rows: actual, columns: predicted",
            "tried ",
            "seconds",
        ):
            assert part in out

    def test_a_guessed_label_is_told_once(self, run, tables):  # noqa: F811
        code, _, err = run("train", "data.csv", *QUICK, "--test", "test.csv")
        assert code == 0
        assert err == "note: labels are taken from column 'income'\n"

    def test_wine_needs_no_scaling(self, run, tmp_path):  # noqa: F811
        frame = load_wine(as_frame=True).frame
        train, test = train_test_split(frame, test_size=0.3, stratify=frame.target, random_state=0)
        train.to_csv(tmp_path / "wine.csv", index=False)
        test.to_csv(tmp_path / "wine_test.csv", index=False)
        assert run("train", "wine.csv", "--max-time", 20)[0] == 0
        _, out, _ = run("evaluate", "wine.wm", "wine_test.csv", "--json")
        assert json.loads(out)["accuracy"] >= 0.97

    @pytest.mark.parametrize(("seconds", "rows"), [(60, 180), (0.01, 145)])
    def test_trained_on_all_rows_if_there_is_time(self, run, tables, seconds, rows):  # noqa: F811
        options = ("--label", "income", "--json", "--max-time", seconds)
        _, out, _ = run("train", "data.csv", *options)
        summary = json.loads(out)
        assert abs(summary["rows"] - rows) <= 1
        assert summary["held_out"]["rows"] < 40
        assert load_model("data.wm").max_time == seconds

    def test_all_rows(self, run, tables):  # noqa: F811
        options = ("--label", "income", *QUICK, "--json", "--holdout", 0)
        _, out, _ = run("train", "data.csv", *options)
        summary = json.loads(out)
        assert summary["rows"] == 180
        assert summary["held_out"] is None

    def test_a_test_file(self, run, tables):  # noqa: F811
        options = ("--label", "income", *QUICK, "--test", "test.csv")
        _, out, _ = run("train", "data.csv", *options, "--json")
        summary = json.loads(out)
        assert summary["rows"] == 180
        assert summary["held_out"]["rows"] == 60
        _, out, _ = run("evaluate", "data.wm", "test.csv", "--json")
        assert json.loads(out)["accuracy"] == summary["held_out"]["accuracy"]

    def test_the_split_is_seeded_and_stratified(self, run, tables):  # noqa: F811
        rows = []
        for seed in (1, 1, 2):
            run(
                "train",
                "data.csv",
                "--label",
                "income",
                "--algorithm",
                "svm",
                "--holdout",
                0.25,
                "--seed",
                seed,
            )
            _, out, _ = run(
                "train",
                "data.csv",
                "--label",
                "income",
                "--algorithm",
                "svm",
                "--holdout",
                0.25,
                "--seed",
                seed,
                "--json",
            )
            measured = json.loads(out)["held_out"]
            rows.append((measured["confusion"], [each["rows"] for each in measured["classes"]]))
        assert rows[0] == rows[1] != rows[2]
        share = (tables[:180].income == "<=50K").sum() // 4
        assert rows[0][1][0] == rows[2][1][0] == share

    def test_dropped_columns(self, run, tables):  # noqa: F811
        options = ("--label", "income", *QUICK, "--drop", "since", "--drop", "customer_id")
        assert run("train", "data.csv", *options)[0] == 0
        assert load_model("data.wm").feature_names_in_.tolist() == ["size", "job"]
        code, _, err = run("predict", "data.wm", "test.csv")
        assert code == 0, err
        code, _, err = run("train", "data.csv", *options, "--drop", "nothing")
        assert code == 1
        assert "no column is called 'nothing'" in err

    @pytest.mark.parametrize(
        "settings",
        [
            ("--jobs", 1),
            ("--seed", 3),
            ("--class-weight", "balanced"),
            ("--memory-limit", "100MB"),
            ("--calibrate", "isotonic"),
        ],
    )
    def test_options_that_leave_the_choice(self, run, tables, settings):  # noqa: F811
        assert run("train", "data.csv", "--label", "income", *QUICK, *settings)[0] == 0
        model = load_model("data.wm")
        names = {"--jobs": "n_jobs", "--seed": "random_state"}
        name = names.get(settings[0], settings[0].removeprefix("--").replace("-", "_"))
        assert getattr(model, name) == settings[1]
        assert model.max_time == 2.0

    def test_standard_input(self, run, tables, monkeypatch):  # noqa: F811
        class Stdin:
            buffer = io.BytesIO(Path("data.csv").read_bytes())

        monkeypatch.setattr(sys, "stdin", Stdin)
        assert run("train", "-", "--label", "income", *QUICK)[0] == 0
        assert isinstance(load_model("model.wm"), AutoClassifier)
        Stdin.buffer = io.BytesIO(Path("test.csv").read_bytes())
        _, out, _ = run("predict", "model.wm", "-")
        assert len(out.splitlines()) == 61
        Stdin.buffer = io.BytesIO(b"a,income\n1,x\n1\n")
        code, _, err = run("train", "-", "--format", "csv", "--label", "income")
        assert code == 1
        assert "standard input, line 3: expected 2 columns, found 1" in err

    def test_matrices(self, run, cancer):  # noqa: F811
        assert run("train", "cancer.svm", *QUICK)[0] == 0
        _, out, _ = run("evaluate", "cancer.wm", "cancer.t", "--json")
        assert json.loads(out)["accuracy"] > 0.94


class TestAClassifierOfOnesChoice:
    def test_a_table_of_numbers_is_left_as_it_is(self, run, iris):  # noqa: F811
        assert run("train", "iris.csv", "--algorithm", "svm", "-C", 8)[0] == 0
        model = load_model("iris.wm")
        X, y = load_iris(return_X_y=True)
        assert type(model) is SVMClassifier
        expected = SVMClassifier(C=8.0).fit(X, y)
        np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_)

    @pytest.mark.parametrize(
        ("options", "kind"),
        [(["--algorithm", "svm", "-C", 4], SVMClassifier), (["--linear"], LinearODMClassifier)],
    )
    def test_another_table_is_prepared(self, run, tables, options, kind):  # noqa: F811
        code, _, err = run("train", "data.csv", "--label", "income", *options)
        assert code == 0
        assert "the table is prepared first" in err
        model = load_model("data.wm")
        assert [type(step) for _, step in model.steps] == [TablePreprocessor, kind]
        _, out, _ = run("evaluate", "data.wm", "test.csv", "--json")
        assert json.loads(out)["accuracy"] > 0.75
        _, out, _ = run("predict", "data.wm", "test.csv", "--decision")
        assert out.startswith("prediction,decision\n")
        _, out, _ = run("info", "data.wm")
        assert "TablePreprocessor" in out
        assert kind.__name__ in out

    def test_dropped_columns(self, run, tables):  # noqa: F811
        options = ("--label", "income", "--algorithm", "svm", "--drop", "since")
        assert run("train", "data.csv", *options)[0] == 0
        assert "since" not in load_model("data.wm").feature_names_in_


class TestPredict:
    def test_probabilities(self, run, model):  # noqa: F811
        _, out, _ = run("predict", model, "test.csv", "--proba")
        rows = list(csv.DictReader(io.StringIO(out)))
        assert list(rows[0]) == ["prediction", "probability_<=50K", "probability_>50K"]
        for row in rows:
            best = max(("<=50K", ">50K"), key=lambda name: float(row[f"probability_{name}"]))
            assert best == row["prediction"]

    def test_kept_columns(self, run, model, tables):  # noqa: F811
        options = ("--keep", "customer_id", "--keep", "job")
        _, out, _ = run("predict", model, "test.csv", *options)
        rows = list(csv.DictReader(io.StringIO(out)))
        assert list(rows[0]) == ["customer_id", "job", "prediction"]
        _, plain, _ = run("predict", model, "test.csv")
        assert [row["prediction"] for row in rows] == plain.split()[1:]
        given = tables["customer_id"][180:].astype(str)
        assert [row["customer_id"] for row in rows] == given.to_list()
        code, _, err = run("predict", model, "test.csv", "--keep", "no such column")
        assert code == 1
        assert "no such column" in err

    def test_probabilities_of_a_model_without(self, run, cancer):  # noqa: F811
        run("train", "cancer.svm", "--algorithm", "odm")
        code, _, err = run("predict", "cancer.wm", "cancer.t", "--proba")
        assert code == 2
        assert "Train it with --calibrate" in err

    def test_columns_by_name_and_unseen_categories(self, run, model, tables):  # noqa: F811
        other = tables[180:].drop(columns="income").assign(extra=1)
        other.loc[other.index[:3], "job"] = "astronaut"
        other[other.columns[::-1]].to_csv("other.csv", index=False)
        code, out, err = run("predict", model, "other.csv")
        assert code == 0
        assert "column 'job' has categories unseen in fit: 'astronaut' (3 rows)" in err
        _, expected, _ = run("predict", model, "test.csv")
        assert out.splitlines()[4:] == expected.splitlines()[4:]

    def test_missing_columns_are_named(self, run, model, tables):  # noqa: F811
        tables[["size", "since"]].to_csv("other.csv", index=False)
        code, _, err = run("predict", model, "other.csv")
        assert code == 1
        assert "missing: 'customer_id', 'job'" in err

    def test_without_a_header(self, run, tables):  # noqa: F811
        tables[:180].to_csv("plain.csv", index=False, header=False)
        tables[180:].drop(columns="income").to_csv("new.csv", index=False, header=False)
        assert run("train", "plain.csv", *QUICK)[0] == 0
        assert load_model("plain.wm").feature_names_in_[1] == "column 2"
        code, out, err = run("predict", "plain.wm", "new.csv")
        assert code == 0, err
        assert len(out.splitlines()) == 61


class TestReport:
    def test_one_file_with_pictures(self, run, tables):  # noqa: F811
        options = ("--label", "income", *QUICK, "--report", "r.html")
        code, _, err = run("train", "data.csv", *options)
        assert code == 0
        assert "report: r.html" in err
        page = Path("r.html").read_text(encoding="utf-8")
        titles = re.findall(r'<img alt="([^"]+)" src="data:image/png;base64,', page)
        assert titles == [
            "Confusion matrix",
            "ROC curve",
            "Calibration",
            "Margins",
            "What was tried",
            "Importance of columns",
        ]
        assert "&gt;50K" in page
        assert "http" not in page
        assert "<h1>AutoClassifier on data.csv</h1>" in page
        facts = re.search('<p class="facts">(.*?)</p>', page)[1]
        assert re.match(r"\d{4}-\d\d-\d\d · .*column &#x27;income&#x27; · ", facts)
        assert re.search(r"(19|20) % of 180 rows held out$", facts)

    def test_is_of_the_measured_model_and_tells_of_the_saved_one(self, run, tables):  # noqa: F811
        options = ("--label", "income", "--max-time", 40, "--report", "r.html")
        code, out, _ = run("train", "data.csv", *options)
        assert code == 0
        assert ", before training on all rows" in out
        page = Path("r.html").read_text(encoding="utf-8")
        assert "Afterwards it was trained anew on all 180 rows" in page
        # One preparation and one table of what was tried.
        assert page.count("customer_id") == 1
        assert page.count("<h2>What was tried</h2>") == 1
        saved = page.partition("<h2>The model that was saved</h2>")[2]
        assert "<td>rows</td><td>180</td>" in saved
        assert "tried" not in saved

    def test_of_an_evaluation(self, run, model):  # noqa: F811
        code, _, err = run("evaluate", model, "test.csv", "--report", "r.html")
        assert code == 0
        assert err.endswith("report: r.html\n")
        assert "Confusion matrix" in Path("r.html").read_text(encoding="utf-8")

    def test_without_matplotlib(self, run, tables, monkeypatch):  # noqa: F811
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        code, _, err = run("train", "data.csv", "--report", "r.html")
        assert code == 2
        assert "pip install 'widemargin[plot]'" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--holdout", 1.0), "--holdout must be at least 0 and below 1"),
        (("--holdout", 0.3, "--test", "test.csv"), "--holdout and --test"),
        (("--linear", "--holdout", 0.3), "use --test, not --holdout"),
        (("--max-time", -1), "max_time"),
        (("--calibrate", "foo"), "calibrate"),
        (("--report", "nowhere/r.html"), "nowhere must be a directory"),
        (("--zero-based",), "for LIBSVM files"),
    ],
)
def test_wrong_usage(run, tables, options, message):  # noqa: F811
    code, out, err = run("train", "data.csv", "--label", "income", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not os.path.exists("data.wm")


def test_labels_that_are_no_classes(run, tmp_path):  # noqa: F811
    np.savetxt(tmp_path / "data.csv", np.random.default_rng(0).normal(size=(40, 3)), delimiter=",")
    code, _, err = run("train", "data.csv")
    assert code == 1
    assert "40 different numbers in 40 rows look like a regression" in err
    names = pd.DataFrame({"a": range(40), "label": [f"row {i}" for i in range(40)]})
    names.to_csv(tmp_path / "names.csv", index=False)
    code, _, err = run("train", "names.csv")
    assert code == 1
    assert "40 classes in 40 rows. Is the label column the right one?" in err


def test_interrupt(run, tables, monkeypatch):  # noqa: F811
    def interrupt(self, X, y):
        raise KeyboardInterrupt

    monkeypatch.setattr(AutoClassifier, "fit", interrupt)
    code, _, err = run("train", "data.csv", "--label", "income")
    assert code == 130
    assert "no model saved" in err


class TestHelp:
    def test_options_stand_under_headings(self, run):  # noqa: F811
        _, out, _ = run("train", "--help")
        headings = re.findall(r"^(\w.*):$", out, re.MULTILINE)
        assert headings == [
            "Arguments",
            "Result",
            "Data",
            "Resources and weights",
            "Solver (of a classifier of your choice)",
            "Choose the classifier yourself",
            "Its kernel",
            "Divide the rows (of a kernel classifier of your choice)",
            "Other options",
        ]

    def test_defaults_are_those_of_the_estimators(self):
        import inspect

        from widemargin import ODMClassifier

        annotations = inspect.get_annotations(train, eval_str=True)
        annotations |= {"upsilon": Upsilon, "theta": Theta}
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(ODMClassifier).parameters.items()
        }
        shown = {
            name: annotation.__metadata__[0].show_default
            for name, annotation in annotations.items()
            if hasattr(annotation, "__metadata__") and name in defaults
        }
        checked = {
            name: text
            for name, text in shown.items()
            if isinstance(text, str) and name not in ("n_jobs", "max_time", "calibrate")
        }
        assert len(checked) > 8
        assert checked == {name: str(defaults[name]) for name in checked}


class TestRareClasses:
    @pytest.fixture
    def rare(self, tmp_path):
        rng = np.random.default_rng(0)
        y = rng.random(600) < 0.06
        X = rng.normal(size=(600, 2)) + 0.8 * y[:, None]
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(fraud=np.where(y, "yes", "no"))
        frame.to_csv(tmp_path / "rare.csv", index=False)

    def test_are_noticed_once(self, run, rare):  # noqa: F811
        options = ("--label", "fraud", "--algorithm", "svm", "--holdout", 0.5)
        code, _, err = run("train", "rare.csv", *options)
        assert code == 0
        assert err.count("note:") == 1
        assert "note: of class yes, less than half of the rows are recognised (recall 0" in err
        assert "--class-weight balanced" in err
        _, _, err = run("evaluate", "rare.wm", "rare.csv", "--label", "fraud")
        assert "--class-weight balanced" in err

    def test_are_not_noticed_where_weights_were_chosen(self, run, rare):  # noqa: F811
        frame = pd.read_csv("rare.csv")
        X, y = frame[["a", "b"]], frame.fraud.to_numpy(dtype=str)
        model = SVMClassifier(C=0.1).fit(X, y)
        measured = measure(judge(model, X, y))
        assert neglected(model, measured) is not None
        assert neglected(model.set_params(class_weight="balanced"), measured) is None
