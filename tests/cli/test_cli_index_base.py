"""LIBSVM files on the command line: a model remembers what feature indices count from."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification
from test_cli import run  # noqa: F401

from widemargin import load_model


@pytest.fixture
def files(tmp_path):
    """Return a zero-based file, and one of the same kind in which index 0 never occurs."""
    X, y = make_classification(
        300, 6, n_informative=5, n_redundant=0, shuffle=False, random_state=3
    )
    X[200:, 0] = 0.0
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    dump_svmlight_file(X[:200], y[:200], str(train), zero_based=True)
    dump_svmlight_file(X[200:], y[200:], str(test), zero_based=True)
    return train, test, X[200:], y[200:]


@pytest.mark.parametrize("options", [["--algorithm", "svm"], ["--linear"]])
def test_a_test_file_without_index_zero(run, files, tmp_path, options):  # noqa: F811
    train, test, X, y = files
    model = tmp_path / "m.wm"
    assert run("train", train, "-m", model, *options)[0] == 0
    loaded = load_model(model)
    assert loaded.index_base_ == 0
    code, out, err = run("evaluate", model, test, "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] == pytest.approx(loaded.score(X, y))
    assert "count from 1" not in err
    predicted = np.array(run("predict", model, test)[1].split()[1:], dtype=int)
    assert predicted.tolist() == loaded.predict(X).tolist()


def test_contradictions_and_doubts(run, files, tmp_path):  # noqa: F811
    train, test, *_ = files
    model = tmp_path / "m.wm"
    one_based = tmp_path / "one.svm"
    dump_svmlight_file(files[2], files[3], str(one_based), zero_based=False)
    # Column 0 is zero here, so that the first index of the file is 2.
    assert run("train", one_based, "-m", model, "--algorithm", "svm", "--one-based")[0] == 0
    assert load_model(model).index_base_ == 1
    code, _, err = run("predict", model, train)
    assert code == 1
    assert "count from 1 in the file that the model was trained on; found 0" in " ".join(
        err.split()
    )
    assert run("predict", model, train, "--zero-based")[0] == 0

    fitted = load_model(model)
    del fitted.index_base_
    fitted.save(model)
    code, _, err = run("predict", model, test)
    assert code == 0
    assert "may count from 0" in " ".join(err.split())
