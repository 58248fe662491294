"""Data that are unusual and right: every one of them trains and predicts."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from toy_data import circles

from tolerances import SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine

pytestmark = pytest.mark.usefixtures("warnings_are_errors")
CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)


# Labels


@classes
@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array(["ä", "日本"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([0.0, 1.0]),
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]),
        np.array([0, np.iinfo(np.uint64).max], dtype=np.uint64),
        np.array([3, 250], dtype=np.uint8),
    ],
    ids=lambda names: str(names.dtype) + str(len(str(names[0]))),
)
def test_labels_of_any_kind(kind: type, names: np.ndarray) -> None:
    X, codes = circles()
    model = kind().fit(X, names[codes])
    np.testing.assert_array_equal(model.classes_, names)
    predicted = model.predict(X)
    assert predicted.dtype == names.dtype
    assert np.mean(predicted == names[codes]) > 0.9
    # The second of the sorted names is the positive side.
    np.testing.assert_array_equal(predicted == names[1], model.decision_function(X) > 0)


@classes
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_many_classes_of_few_rows(kind: type, scheme: str) -> None:
    rng = np.random.default_rng(0)
    centres = 10 * rng.normal(size=(12, 3))
    y = np.repeat(np.arange(12), 3)
    X = centres[y] + rng.normal(size=(36, 3))
    model = kind(multi_class=scheme).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.decision_function(X).shape == (36, 12)
    assert len(model.dual_coef_) == (12 if scheme == "ovr" else 66)


@classes
def test_one_row_of_a_class(kind: type) -> None:
    X = np.array([[0.0], [0.1], [0.2], [3.0]])
    y = np.array([0, 0, 0, 1])
    np.testing.assert_array_equal(kind(C=100.0).fit(X, y).predict(X), y)
    two = kind().fit(X[[0, 3]], y[[0, 3]])
    np.testing.assert_array_equal(two.predict(X[[0, 3]]), [0, 1])


# Features


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_one_feature(model: KernelMachine, kernel: str) -> None:
    X = np.linspace(-2, 2, 40)[:, None]
    y = X[:, 0] > 0.05
    model.set_params(kernel=kernel).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.9


def test_constant_features_change_nothing(model: KernelMachine) -> None:
    X, y = circles()
    model.set_params(gamma=1.0)
    plain = model.fit(X, y).decision_function(X)
    padded = np.column_stack([X, np.full(80, 3.0), np.zeros(80)])
    np.testing.assert_allclose(
        model.fit(padded, y).decision_function(padded), plain, atol=SAME_DECISION
    )


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_all_features_constant(model: KernelMachine, value: float) -> None:
    """Nothing is to be learnt but which class has more rows."""
    X = np.full((30, 2), value)
    y = np.arange(30) % 3 == 0
    model.fit(X, y)
    assert model.converged_
    assert not np.any(model.predict(X))


def test_equal_rows_with_opposite_labels(model: KernelMachine) -> None:
    X, y = circles(40)
    twice, labels = np.vstack([X, X]), np.concatenate([y, 1 - y])
    model.fit(twice, labels)
    assert model.converged_
    # No decision is better than none at all.
    np.testing.assert_allclose(model.decision_function(X), 0.0, atol=1e-7)


def test_contradiction_is_decided_by_the_majority(model: KernelMachine) -> None:
    X = np.repeat(np.eye(3), 5, axis=0)
    y = np.tile([0, 0, 1, 1, 1], 3)
    model.fit(X, y)
    assert model.converged_
    np.testing.assert_array_equal(model.predict(np.eye(3)), [1, 1, 1])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_empty_sparse_rows(model: KernelMachine, kernel: str) -> None:
    """A row without entries is the origin; for a linear kernel its diagonal is zero."""
    X, y = make_classification(80, 6, random_state=0)
    X[::8] = 0.0
    X[np.abs(X) < 0.3] = 0.0
    model.set_params(kernel=kernel, fit_intercept=False, random_state=0)
    dense = model.fit(X, y).decision_function(X)
    sparse = model.fit(sp.csr_matrix(X), y)
    assert sparse.converged_
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_matrix(X)), dense, atol=SAME_DECISION
    )
    if kernel == "linear":
        np.testing.assert_allclose(dense[::8], 0.0, atol=1e-12)


def test_nothing_but_empty_rows(model: KernelMachine) -> None:
    X = sp.csr_matrix((20, 5))
    model.set_params(kernel="linear").fit(X, np.arange(20) % 2)
    np.testing.assert_allclose(model.decision_function(X), 0.0, atol=1e-12)


@classes
def test_a_million_sparse_columns(kind: type) -> None:
    rng = np.random.default_rng(0)
    n, stored = 300, 20
    y = np.arange(n) % 2
    columns = rng.integers(0, 10**6, size=(n, stored))
    columns[:, 0] = y  # the first two columns tell the classes apart
    columns[:, 1] = 999_999
    X = sp.csr_matrix((np.ones(n * stored), columns.ravel(), np.arange(0, n * stored + 1, stored)))
    X.sum_duplicates()
    for kernel in ("linear", "rbf", "laplacian"):
        model = kind(kernel, C=10.0).fit(X, y)
        assert model.converged_
        assert model.n_features_in_ == 10**6
        assert model.score(X, y) == 1.0


@classes
def test_more_features_than_rows(kind: type) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3000))
    y = np.arange(20) % 2
    assert kind("linear", C=100.0).fit(X, y).score(X, y) == 1.0


# Scales


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("scales", [(1, 1, 1e6, 1), (1, 1e-6, 1e6, 1), (1, 1, 1, 1e10)], ids=str)
def test_uneven_scales_end_and_warn(
    model: KernelMachine, kernel: str, scales: tuple[float, ...]
) -> None:
    X, y = make_classification(100, 4, random_state=1)
    X *= scales
    model.set_params(kernel=kernel, max_time=20.0)
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert time.perf_counter() - started < 15
    texts = [str(w.message) for w in caught]
    assert any(f"the {kernel} kernel sees almost nothing else. Scale" in text for text in texts)
    said = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert model.converged_ != said
    assert np.all(np.isfinite(model.decision_function(X)))


@classes
@pytest.mark.parametrize("sparse", [False, True])
def test_scale_warning_names_the_feature(kind: type, sparse: bool) -> None:
    X, y = make_classification(60, 4, random_state=1)
    data = sp.csr_matrix(X) if sparse else X
    kind().fit(data, y)  # quietly
    X[:, 2] *= 1e6
    data = sp.csr_matrix(X) if sparse else X
    with pytest.warns(UserWarning, match=r"Feature 2 carries .* % of the variance of all 4 "):
        kind().fit(data, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind("precomputed").fit(np.eye(60) + X @ X.T / 1e12, y)


@classes
@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_float32_far_from_the_origin(kind: type, offset: float) -> None:
    """In float32 squared distances would drown; they are computed in float64 instead."""
    X, y = circles(1100)
    X = X.astype(np.float32)
    moved = (X.astype(np.float64) + offset).astype(np.float32)
    near = kind(gamma=1.0, tol=1e-6).fit(moved.astype(np.float64) - offset, y)
    far = kind(gamma=1.0, tol=1e-6).fit(moved, y)
    np.testing.assert_allclose(
        far.decision_function(moved),
        near.decision_function(moved.astype(np.float64) - offset),
        atol=2e-2,
    )
    assert far.score(moved, y) > 0.9


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(
    ("kind", "n_rows"),
    [
        (ODMClassifier, 60),
        (ODMClassifier, 1100),
        (SVMClassifier, 60),
        (SVMClassifier, 1100),
    ],
)
def test_squares_that_overflow_are_not_called_converged(
    kind: type, n_rows: int, kernel: str
) -> None:
    X, y = circles(n_rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind(kernel, gamma=1.0, max_iter=100).fit(1e200 * X, y)
    assert not model.converged_
    assert any(issubclass(w.category, ConvergenceWarning) for w in caught)


# Containers


@classes
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_layouts(kind: type, dtype: str) -> None:
    X, y = circles()
    X = X.astype(dtype)
    model = kind(random_state=0).fit(X, y)
    wide = np.zeros((160, 4), dtype)
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(X), wide[::2, ::2], frozen, X[::-1][::-1]):
        again = kind(random_state=0).fit(other, y)
        np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
        np.testing.assert_array_equal(again.decision_function(other), model.decision_function(X))


@classes
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, np.float16, object])
def test_other_number_types(kind: type, dtype: type) -> None:
    X, y = circles()
    X = np.round(10 * (X - X.min()))
    expected = kind(random_state=0).fit(X.astype(dtype).astype(np.float64), y)
    model = kind(random_state=0).fit(X.astype(dtype), y)
    np.testing.assert_allclose(
        model.decision_function(X.astype(dtype)),
        expected.decision_function(X.astype(dtype).astype(np.float64)),
        atol=1e-6,
    )


@classes
def test_lists(kind: type) -> None:
    X, y = circles()
    model = kind(random_state=0).fit(X, y)
    listed = kind(random_state=0).fit(X.tolist(), y.tolist(), np.ones(80).tolist())
    np.testing.assert_array_equal(model.dual_coef_, listed.dual_coef_)


@classes
@pytest.mark.parametrize(
    "layout",
    [
        *("csr", "csc", "coo", "lil", "int64", "array"),
        "duplicates",
    ],
)
def test_sparse_containers(kind: type, layout: str) -> None:
    X, y = make_classification(80, 6, random_state=0)
    X[np.abs(X) < 0.5] = 0.0
    if layout == "int64":
        data = sp.csr_matrix(X)
        data.indices, data.indptr = data.indices.astype(np.int64), data.indptr.astype(np.int64)
    elif layout == "array":
        data = sp.csr_array(X)
    elif layout == "duplicates":  # every entry in two halves
        half = sp.csr_matrix(X / 2)
        data = sp.csr_matrix(
            (np.repeat(half.data, 2), np.repeat(half.indices, 2), 2 * half.indptr), X.shape
        )
    else:
        data = sp.csr_matrix(X).asformat(layout)
    dense = kind(random_state=0).fit(X, y)
    sparse = kind(random_state=0).fit(data, y)
    assert sp.issparse(sparse.support_vectors_)
    expected = dense.decision_function(X)
    for rows in (data, X):  # predicting dense rows with a sparse model, and the other way round
        np.testing.assert_allclose(sparse.decision_function(rows), expected, atol=SAME_DECISION)
    np.testing.assert_allclose(dense.decision_function(data), expected, atol=SAME_DECISION)


@classes
@pytest.mark.parametrize("n_rows", [100, 1100])
def test_float32_stays_float32_and_agrees(kind: type, n_rows: int) -> None:
    X, y = circles(n_rows)
    X = X.astype(np.float32)
    double = kind(tol=1e-6).fit(X.astype(np.float64), y)
    single = kind(tol=1e-6).fit(X, y)
    assert single.support_vectors_.dtype == np.float32
    assert single.dual_coef_.dtype == np.float64
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=5e-3)
