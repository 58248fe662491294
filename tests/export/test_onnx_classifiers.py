"""Graphs of classifiers predict what the classifiers predict."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from onnx_graphs import assert_same_predictions, run_graph
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

from widemargin import (
    Clustered,
    GossipClassifier,
    LinearODMClassifier,
    LinearODMClassifierCV,
    LinearSVMClassifier,
    LinearSVMClassifierCV,
    MulticlassSVMClassifier,
    ODMClassifier,
    ODMClassifierCV,
    Stratified,
    SVMClassifier,
    SVMClassifierCV,
    __version__,
    to_onnx,
)
from widemargin.export.kernel_values import CentredVectors, float32_suffices
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.partition import tree_growth

DTYPES = ("float32", "float64")
KERNELS = ("rbf", "laplacian", "poly", "linear", "sigmoid")


def labelled(n_classes, n_rows=200):
    X, y = make_classification(
        n_rows, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=n_classes
    )
    return X, y


# Nearer and farther than the training rows.
QUERIES = 2.0 * np.random.default_rng(0).normal(size=(300, 6))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [ODMClassifier, SVMClassifier])
def test_every_kernel(kind, kernel, n_classes, dtype):
    model = kind(kernel, coef0=0.3 * (kernel != "sigmoid"), fit_intercept=True, multi_class="ovr")
    assert_same_predictions(model.fit(*labelled(n_classes)), QUERIES, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_pairs_of_classes(kernel, shape, dtype):
    model = SVMClassifier(kernel, multi_class="ovo", decision_function_shape=shape)
    assert_same_predictions(model.fit(*labelled(4)), QUERIES, dtype)


def test_tied_votes_have_the_same_winner():
    # Three classes at the corners of a triangle: in its middle each wins one pair, and decisions
    # cancel but for rounding; on its axes two of them are equal.
    corners = np.array([[0.0, 1.0], [0.75, -0.5], [-0.75, -0.5]])
    model = SVMClassifier("rbf", gamma=0.5, multi_class="ovo").fit(corners, [0, 1, 2])
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)), -1).reshape(-1, 2)
    assert_same_predictions(model, grid, "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("C", [1e-3, 1e4])
@pytest.mark.parametrize("degree", [1, 2, 5, 8])
def test_degrees_and_large_coefficients(degree, C, dtype):
    model = ODMClassifier("poly", degree=degree, coef0=1.0, C=C, max_time=5.0)
    assert_same_predictions(model.fit(*labelled(2)), QUERIES, dtype)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LinearODMClassifier(),
        LinearSVMClassifier(fit_intercept=False),
        LinearODMClassifierCV(Cs=2, cv=2),
        LinearSVMClassifierCV(Cs=2, cv=2),
        MulticlassSVMClassifier("ww"),
        MulticlassSVMClassifier("cs"),
        MulticlassSVMClassifier("llw"),
        MulticlassSVMClassifier("ovr"),
        GossipClassifier(4, random_state=0, C=0.1, tol=0.1),
        ODMClassifierCV(Cs=2, gammas=2, cv=2),
        SVMClassifierCV("laplacian", Cs=2, gammas=2, cv=2),
        GridSearchCV(SVMClassifier(), {"C": [1.0, 2.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__ + str(getattr(model, "formulation", "")),
)
def test_every_estimator(model, n_classes):
    assert_same_predictions(model.fit(*labelled(n_classes)), QUERIES)


def test_sparse_weights_and_support_vectors():
    X, y = labelled(3)
    X, queries = np.where(X > 0.5, X, 0.0), np.where(QUERIES > 0.5, QUERIES, 0.0)
    weights = MulticlassSVMClassifier().fit(sp.csr_array(X), y).sparsify()
    assert_same_predictions(weights, queries)
    assert_same_predictions(SVMClassifier().fit(sp.csr_array(X), y), queries)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_clusters_decide_alone(n_classes, kernel, dtype):
    strategy = Clustered(levels=2, fan_in=2, stop_level=2)
    model = SVMClassifier(kernel, strategy=strategy, fit_intercept=True, random_state=0)
    model.fit(*labelled(n_classes, 400))
    assert model.routing_ is not None
    assert_same_predictions(model, QUERIES, dtype)


@pytest.mark.parametrize("most", [2, 4])
def test_trees_of_clusters(monkeypatch, most):
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", most)
    strategy = Clustered(levels=3, fan_in=2, stop_level=3)
    model = SVMClassifier(strategy=strategy, random_state=0).fit(*labelled(2, 400))
    assert "child" in model.routing_[0]
    assert_same_predictions(model, QUERIES)


def test_mean_of_parts():
    strategy = Stratified(levels=1, fan_in=4, stop_level=1)
    model = ODMClassifier(strategy=strategy, random_state=0).fit(*labelled(3, 400))
    assert model.level_ == 1
    assert_same_predictions(model, QUERIES)


def test_compressed_models_are_smaller():
    model = ODMClassifier().fit(*labelled(2, 400))
    whole = assert_same_predictions(model, QUERIES)
    small = assert_same_predictions(model.compress(20), QUERIES)
    assert small.ByteSize() < whole.ByteSize() / 4


def test_float32_vectors_are_stored_as_such():
    X, y = labelled(2, 400)
    rounded = X.astype(np.float32)
    single, double = (
        to_onnx(SVMClassifier().fit(rows, y), dtype="float64") for rows in (rounded, X)
    )
    assert single.ByteSize() < 0.7 * double.ByteSize()
    assert_same_predictions(SVMClassifier().fit(rounded, y), QUERIES, "float64")


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "maybe", "yes"]),
        np.array(["no", "maybe", "yés"], dtype=object),
        np.array([-7, 0, 2**40]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([0.0, 1.0, 2.0]),
    ],
    ids=["text", "objects", "integers", "bytes", "floats"],
)
def test_labels(labels):
    X, y = labelled(3)
    proto = assert_same_predictions(LinearSVMClassifier().fit(X, labels[y]), QUERIES)
    named = {each.key: json.loads(each.value) for each in proto.metadata_props}
    assert named["classes"] == sorted(labels.tolist())


def test_boolean_labels():
    X, y = labelled(2)
    model = ODMClassifier().fit(X, y > 0)
    proto = assert_same_predictions(model, QUERIES)
    assert run_graph(proto, QUERIES.astype(np.float32))["label"].dtype == bool


def test_what_the_file_says_of_itself():
    pandas = pytest.importorskip("pandas")
    X, y = labelled(2)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    proto = to_onnx(SVMClassifier().fit(frame, y))
    assert (proto.producer_name, proto.producer_version) == ("widemargin", __version__)
    named = {each.key: json.loads(each.value) for each in proto.metadata_props}
    assert named == {
        "estimator": "SVMClassifier",
        "classes": [0, 1],
        "feature_names": list("abcdef"),
    }
    assert {entry.domain for entry in proto.opset_import} == {""}


def test_rows_far_from_the_origin():
    X, y = labelled(2)
    model = ODMClassifier(gamma=0.2).fit(X + 1000.0, y)
    queries = (QUERIES + 1000.0).astype(np.float32)
    proto = to_onnx(model)
    # Of squared distances in float32 nothing would be left: 6e-8 of a million is the distance.
    wanted = model.decision_function(queries.astype(np.float64))
    np.testing.assert_allclose(run_graph(proto, queries)["decision"], wanted, atol=1e-5)


def test_large_coefficients_need_float64():
    rng = np.random.default_rng(0)
    z, kernel = rng.normal(size=(100, 4)), Kernel("rbf", 0.5)
    coef = rng.normal(size=(1, 100))
    assert float32_suffices(kernel, z, coef)
    assert not float32_suffices(kernel, z, 1e4 * coef)
    assert CentredVectors.of(kernel, z, coef).dtype == np.float32
    assert CentredVectors.of(kernel, z, 1e4 * coef).dtype == np.float64
    assert CentredVectors.of(kernel, z).dtype == np.float64


def test_a_model_without_support_vectors():
    X, y = labelled(2)
    model = SVMClassifier(C=1e-12).fit(X, y)
    model.support_ = model.support_[:0]
    model.support_vectors_ = model.support_vectors_[:0]
    model.dual_coef_ = model.dual_coef_[:, :0]
    model.intercept_ = np.array([0.5])
    outputs = run_graph(to_onnx(model), QUERIES.astype(np.float32))
    assert (outputs["decision"] == 0.5).all()
    assert (outputs["label"] == 1).all()


def test_no_rows_and_one():
    X, y = labelled(3)
    for kernel in KERNELS:
        proto = to_onnx(SVMClassifier(kernel, multi_class="ovo").fit(X, y))
        for n in (0, 1):
            assert run_graph(proto, QUERIES[:n].astype(np.float32))["decision"].shape == (n, 3)


def test_the_same_file_every_time(tmp_path):
    model = ODMClassifier().fit(*labelled(2))
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    proto = to_onnx(model, first)
    to_onnx(model, str(second))
    assert first.read_bytes() == second.read_bytes()
    assert run_graph(proto, QUERIES.astype(np.float32)).keys() == {"label", "decision"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.onnx", "b.onnx"]
