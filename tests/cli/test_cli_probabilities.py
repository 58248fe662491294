"""``widemargin train --calibrate`` and ``widemargin predict --proba``."""

import csv
import os

import numpy as np
import pytest
from test_cli import cancer, iris, run  # noqa: F401  (fixtures)

from widemargin import load_model
from widemargin.data import read


@pytest.mark.parametrize("kind", [(), ("--linear",), ("--multiclass", "ww")])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_column_for_every_class(run, iris, kind, method):  # noqa: F811
    code, _, err = run("train", "iris.csv", "-m", "m.wm", "--calibrate", method, *kind)
    assert code == 0, err
    code, out, _ = run("predict", "m.wm", "iris.csv", "--proba")
    model = load_model("m.wm")
    assert model.calibrate == method
    names = [f"probability_{name}" for name in model.classes_]
    rows = list(csv.DictReader(out.splitlines()))
    assert list(rows[0]) == ["prediction", *names]
    found = np.array([[float(row[name]) for name in names] for row in rows])
    np.testing.assert_array_equal(found, model.predict_proba(read("iris.csv").X))
    assert [str(model.classes_[k]) for k in found.argmax(axis=1)] == [
        row["prediction"] for row in rows
    ]


def test_a_model_without_probabilities(run, cancer):  # noqa: F811
    run("train", "cancer.svm", "-m", "m.wm", "-C", "1")
    code, out, err = run("predict", "m.wm", "cancer.t", "--proba")
    assert (code, out) == (2, "")
    assert "Train it with --calibrate sigmoid" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--calibrate", "spline"), "'calibrate' parameter"),
        (("--linear", "--spool-dir", ".", "--calibrate", "sigmoid"), "leave out --spool-dir"),
    ],
)
def test_wrong_usage(run, cancer, options, message):  # noqa: F811
    code, _, err = run("train", "cancer.svm", "-m", "m.wm", *options)
    assert code == 2
    assert message in err
    assert not os.path.exists("m.wm")
