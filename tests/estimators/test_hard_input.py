"""Data that are unusual and right: every one of them trains and predicts."""

import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from tolerances import SAME_DECISION
from widemargin import ODMClassifier, SVMClassifier
from widemargin.estimators.kernel_machine import KernelMachine

CLASSES = (ODMClassifier, SVMClassifier)
classes = pytest.mark.parametrize("kind", CLASSES)
# Every solver on every loss it supports.
MODELS = [
    ODMClassifier(solver="newton"),
    ODMClassifier(solver="coordinate"),
    SVMClassifier(),
    SVMClassifier(loss="squared_hinge", solver="newton"),
    SVMClassifier(loss="squared_hinge", solver="coordinate"),
]
NAMES = ["odm-newton", "odm-coordinate", "hinge", "squared-newton", "squared-coordinate"]


@pytest.fixture(params=MODELS, ids=NAMES)
def model(request: pytest.FixtureRequest) -> KernelMachine:
    return clone(request.param)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> object:
    """What works, works quietly; tests that expect a warning ask for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def moons(n_rows: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_circles(n_rows, noise=0.1, factor=0.4, random_state=seed)


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
    X, codes = moons()
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
    X, y = moons()
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
    X, y = moons(40)
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
    model.set_params(kernel=kernel, random_state=0)
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
    np.testing.assert_array_equal(model.decision_function(X), np.zeros(20))


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
    X, y = moons(1100)
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


CALLED_CONVERGED = pytest.mark.xfail(
    strict=True, reason="newton is content when its rows repeat, whatever the gap"
)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(
    ("kind", "n_rows"),
    [
        pytest.param(ODMClassifier, 60, marks=CALLED_CONVERGED),
        (ODMClassifier, 1100),
        (SVMClassifier, 60),
        (SVMClassifier, 1100),
    ],
)
def test_squares_that_overflow_are_not_called_converged(
    kind: type, n_rows: int, kernel: str
) -> None:
    X, y = moons(n_rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind(kernel, gamma=1.0, max_iter=100).fit(1e200 * X, y)
    assert not model.converged_
    assert any(issubclass(w.category, ConvergenceWarning) for w in caught)


# Weights


def test_zero_weight_is_no_row(model: KernelMachine) -> None:
    X, y = moons()
    keep = np.arange(80) % 3 != 1
    keep[-1] = False
    model.set_params(random_state=0)
    left_out = model.fit(X[keep], y[keep]).decision_function(X)
    weighted = model.fit(X, y, keep.astype(float))
    np.testing.assert_allclose(weighted.decision_function(X), left_out, atol=SAME_DECISION)
    assert set(weighted.support_) <= set(np.flatnonzero(keep))
    np.testing.assert_array_equal(weighted.support_vectors_, X[weighted.support_])


@classes
def test_zero_weights_with_a_precomputed_kernel(kind: type) -> None:
    X, y = moons()
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    keep = np.arange(80) % 3 != 1
    part = kind("precomputed").fit(K[np.ix_(keep, keep)], y[keep])
    whole = kind("precomputed").fit(K, y, keep.astype(float))
    np.testing.assert_allclose(
        whole.decision_function(K), part.decision_function(K[:, keep]), atol=SAME_DECISION
    )


def test_weight_two_is_the_row_twice(model: KernelMachine) -> None:
    X, y = moons()
    copies = 1 + np.arange(80) % 3
    rows = np.repeat(np.arange(80), copies)
    weighted = model.fit(X, y, copies).decision_function(X)
    repeated = model.fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=SAME_DECISION)


def test_lambda_counts_rows_by_weight() -> None:
    X, y = moons()
    copies = 1 + np.arange(80) % 3
    rows = np.repeat(np.arange(80), copies)
    model = ODMClassifier(lam=20.0, theta=0.3)
    weighted = model.fit(X, y, copies).decision_function(X)
    repeated = model.fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=SAME_DECISION)
    C = 20.0 / (80 * 0.7**2)
    by_row = ODMClassifier(C=C, theta=0.3).fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), by_row, atol=SAME_DECISION)


def test_class_weights_are_sample_weights(model: KernelMachine) -> None:
    X, y = moons()
    y[:30] = 0
    by_class = model.set_params(class_weight={0: 1.0, 1: 3.0}).fit(X, y).decision_function(X)
    by_row = model.set_params(class_weight=None).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_row.decision_function(X), by_class, atol=SAME_DECISION)
    counts = np.bincount(y)
    balanced = model.set_params(class_weight="balanced").fit(X, y).decision_function(X)
    by_row = model.set_params(class_weight=None).fit(X, y, (80 / (2 * counts))[y])
    np.testing.assert_allclose(by_row.decision_function(X), balanced, atol=SAME_DECISION)


def test_imbalance_without_intercept(model: KernelMachine) -> None:
    X, y = make_classification(
        400, 5, n_informative=3, weights=[0.95], class_sep=2.0, flip_y=0, random_state=0
    )
    balanced = model.set_params(class_weight="balanced").fit(X, y).predict(X)
    assert balanced_accuracy_score(y, balanced) > 0.9


def test_weights_over_many_orders_of_magnitude(model: KernelMachine) -> None:
    X, y = moons()
    weights = 10.0 ** np.linspace(-9, 3, 80)
    assert model.fit(X, y, weights).converged_


@pytest.mark.xfail(strict=True, reason="1 / weight is infinite, and a gap of NaN goes on for ever")
def test_subnormal_weights_end() -> None:
    X, y = moons(1100)
    weights = np.where(np.arange(1100) % 3 == 0, 1e-320, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ODMClassifier(max_time=1.0).fit(X, y, weights)
    assert not any("max_time" in str(w.message) for w in caught)
    assert model.score(X, y) > 0.9


# Containers


@classes
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_layouts(kind: type, dtype: str) -> None:
    X, y = moons()
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
    X, y = moons()
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
    X, y = moons()
    model = kind(random_state=0).fit(X, y)
    listed = kind(random_state=0).fit(X.tolist(), y.tolist(), np.ones(80).tolist())
    np.testing.assert_array_equal(model.dual_coef_, listed.dual_coef_)


@classes
@pytest.mark.parametrize(
    "layout",
    [
        *("csr", "csc", "coo", "lil", "int64", "array"),
        pytest.param(
            "duplicates",
            marks=pytest.mark.xfail(strict=True, reason="gamma='scale' squares the parts of a sum"),
        ),
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
    X, y = moons(n_rows)
    X = X.astype(np.float32)
    double = kind(tol=1e-6).fit(X.astype(np.float64), y)
    single = kind(tol=1e-6).fit(X, y)
    assert single.support_vectors_.dtype == np.float32
    assert single.dual_coef_.dtype == np.float64
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=5e-3)


# Kernels of the user


def test_precomputed_and_callable_kernels(model: KernelMachine) -> None:
    def gaussian(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-2.0 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    X, y = moons()
    Xt, _ = moons(30, seed=1)
    model.set_params(kernel="rbf", gamma=2.0, fit_intercept=True)
    expected = model.fit(X, y).decision_function(Xt)
    model.set_params(kernel=gaussian).fit(X, y)
    assert model.gamma_ is None
    np.testing.assert_allclose(model.decision_function(Xt), expected, atol=SAME_DECISION)
    model.set_params(kernel="precomputed").fit(gaussian(X, X), y)
    np.testing.assert_allclose(
        model.decision_function(gaussian(Xt, X)), expected, atol=SAME_DECISION
    )
    assert model.support_vectors_.shape == (len(model.support_), 0)


@classes
@pytest.mark.parametrize("n_rows", [550, pytest.param(1100, marks=pytest.mark.slow)])
@pytest.mark.xfail(
    strict=True,
    reason="Lanczos does not find the lowest eigenvalue of a smooth kernel in 50 rounds",
)
def test_precomputed_kernel_of_many_rows(kind: type, n_rows: int) -> None:
    X, y = moons(n_rows)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = kind("precomputed").fit(K, y)
    assert model.converged_
    assert model.relative_gap_ < 1e-3
    assert model.score(K, y) > 0.9


@pytest.mark.parametrize(
    "kind",
    [
        ODMClassifier,
        pytest.param(
            SVMClassifier,
            marks=pytest.mark.xfail(
                strict=True, reason="more than the damping of the polish, less than indefinite"
            ),
        ),
    ],
)
def test_precomputed_kernel_in_float32(kind: type) -> None:
    """Rounding makes its lowest eigenvalues negative; that is no reason to refuse it."""
    X, y = make_blobs(300, random_state=0)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    model = kind("precomputed", fit_intercept=True).fit(X @ X.T, y)
    assert model.converged_
    assert model.score(X @ X.T, y) > 0.8


@pytest.mark.parametrize("n_rows", [120, 1100])
def test_indefinite_kernel_has_no_certificate(
    model: KernelMachine, n_rows: int, request: pytest.FixtureRequest
) -> None:
    if model.solver == "newton":
        reason = "the line search needs a convex primal, which a shifted curvature does not give"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    elif isinstance(model, ODMClassifier):
        reason = (
            "a shift of 1.01 |λ_min| all but cancels that direction, with the wrong sign; 2 works"
        )
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    X, y = make_classification(n_rows, 5, class_sep=2.0, random_state=0)
    model.set_params(kernel="sigmoid", gamma=0.2)
    with pytest.warns(ConvergenceWarning, match=r"indefinite .* `relative_gap_` is NaN"):
        model.fit(X, y)
    assert model.converged_
    assert np.isnan(model.relative_gap_)
    assert np.isnan(model.dual_gap_)
    assert model.score(X, y) > 0.8


def test_indefinite_precomputed_kernel() -> None:
    X, y = moons()
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.warns(ConvergenceWarning, match=r"lowest eigenvalue about -0.5"):
        model = SVMClassifier("precomputed").fit(K - 0.5 * np.eye(80), y)
    assert np.isnan(model.relative_gap_)
    assert model.score(K, y) > 0.9


# Limits


@pytest.mark.parametrize("n_rows", [200, 1500])
def test_max_iter_is_named(model: KernelMachine, n_rows: int) -> None:
    X, y = moons(n_rows)
    model.set_params(C=1e5, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"did not converge: .*tol=1e-09. `max_iter` was"):
        model.fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.relative_gap_ > 1e-9
    assert model.predict(X).shape == (n_rows,)


def test_max_time_is_named(model: KernelMachine) -> None:
    n_rows = 1200 if model.solver == "newton" else 4000
    X, y = make_classification(n_rows, 20, flip_y=0.4, random_state=0)
    model.set_params(max_time=0.001, tol=1e-12)
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="`max_time` was reached"):
        model.fit(X, y)
    assert time.perf_counter() - started < 5
    assert not model.converged_
    assert np.isfinite(model.relative_gap_)


@classes
def test_several_problems_are_summed_up_in_one_warning(kind: type) -> None:
    X, y = make_classification(300, 8, n_informative=6, n_classes=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="in 3 of 3 binary problems") as caught:
        kind(C=1e4, max_iter=1, tol=1e-9).fit(X, y)
    assert len(caught) == 1


@classes
def test_interrupted_fit_is_a_model(kind: type) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15_000, 150)).astype(np.float32), np.arange(15_000) % 2
    model = kind(tol=1e-12, memory_limit="40MB")
    timer = threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert not model.converged_
    assert np.isnan(model.relative_gap_)
    assert model.n_support_.sum() > 0
    assert set(model.predict(X[:20])) <= {0, 1}
    assert model.history_["primal"].size > 0


# Warm start


def test_warm_start_at_the_solution_is_immediate(model: KernelMachine) -> None:
    X, y = moons(1200)
    model.set_params(warm_start=True, max_iter=10_000)
    weights = np.ones(1200)
    weights[-5:] = 0.0
    model.fit(X, y, weights)
    first = model.decision_function(X)
    model.fit(X, y, weights)
    assert model.n_iter_ <= 1
    np.testing.assert_allclose(model.decision_function(X), first, atol=1e-9)


@pytest.mark.parametrize("n_rows", [80, 1100])
def test_warm_start_survives_any_change(model: KernelMachine, n_rows: int) -> None:
    """Smaller C (the old solution is outside the box), flipped labels, other kernel, other rows."""
    X, y = moons(n_rows)
    model.set_params(warm_start=True, C=100.0, max_time=20.0).fit(X, y)
    for change in ({"C": 0.1}, {"C": 1.0, "kernel": "laplacian"}, {"multi_class": "ovo"}):
        model.set_params(**change).fit(X, y)
        assert model.converged_
    assert model.fit(X, 1 - y).score(X, 1 - y) > 0.9
    assert model.fit(X[::2], y[::2]).score(X, y) > 0.9
    assert model.fit(X, y + 5).score(X, y + 5) > 0.9


def test_warm_start_from_one_scheme_to_the_other() -> None:
    """Three classes are three problems either way, with other rows and signs."""
    X, y = make_classification(150, 8, n_informative=5, n_classes=3, random_state=0)
    model = SVMClassifier(warm_start=True).fit(X, y)
    warm = model.set_params(multi_class="ovo").fit(X, y).decision_function(X)
    cold = SVMClassifier(multi_class="ovo").fit(X, y).decision_function(X)
    np.testing.assert_allclose(warm, cold, atol=SAME_DECISION)
