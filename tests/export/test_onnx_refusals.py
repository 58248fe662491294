"""What cannot be exported is refused, with the reason."""

import sys

import numpy as np
import pytest
from onnx_graphs import run_graph
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from widemargin import ODMClassifier, ODMClassifierCV, OneClassSVM, SVMClassifier, to_onnx
from widemargin.export import graph

X, Y = load_iris(return_X_y=True)


class Renamed(StandardScaler):
    """A step that might do anything."""


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        (SVMClassifier("precomputed"), rbf_kernel(X), "keeps no rows"),
        (SVMClassifier(rbf_kernel), X, "no Python code"),
        (make_pipeline(PowerTransformer(), SVMClassifier()), X, "class PowerTransformer cannot be"),
        (make_pipeline(Renamed(), SVMClassifier()), X, "class Renamed cannot be exported"),
        (make_pipeline(StandardScaler(), LogisticRegression()), X, "got LogisticRegression"),
        (StandardScaler(), X, "got StandardScaler"),
        (make_pipeline(StandardScaler(), OneClassSVM()), X, "novelty detector, such as this OneCl"),
    ],
    ids=["precomputed", "function", "unknown", "derived", "foreign", "scaler", "novelty"],
)
def test_models_that_cannot_be_exported(model, rows, message):
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(rows, Y))


def test_models_that_are_not_fitted():
    searched = ODMClassifierCV(Cs=2, gammas=1, cv=2, refit=False).fit(X, Y)
    for model in (ODMClassifier(), make_pipeline(StandardScaler(), ODMClassifier()), searched):
        with pytest.raises(NotFittedError):
            to_onnx(model)


def test_unknown_precision():
    with pytest.raises(ValueError, match="'float32' or 'float64'; got 'float16'"):
        to_onnx(ODMClassifier().fit(X, Y), dtype="float16")


def test_labels_beyond_int64():
    labels = np.array([0, 2**63 + 1, 5], dtype=np.uint64)[Y]
    with pytest.raises(ValueError, match="int64"):
        to_onnx(ODMClassifier().fit(X, labels))


def test_models_beyond_two_gibibytes(monkeypatch):
    monkeypatch.setattr(graph, "LARGEST_MODEL", 1000)
    with pytest.raises(ValueError, match="compress"):
        to_onnx(ODMClassifier().fit(X, Y))


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"widemargin\[onnx\]"):
        to_onnx(ODMClassifier().fit(X, Y))


def test_a_failed_export_leaves_the_file(tmp_path):
    path = tmp_path / "model.onnx"
    proto = to_onnx(ODMClassifier().fit(X, Y), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="no Python code"):
        to_onnx(ODMClassifier(rbf_kernel).fit(X, Y), path)
    assert path.read_bytes() == before
    assert run_graph(proto, X.astype(np.float32))["label"].shape == (150,)
    with pytest.raises(FileNotFoundError):
        to_onnx(ODMClassifier().fit(X, Y), tmp_path / "nowhere" / "model.onnx")
