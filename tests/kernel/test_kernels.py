"""Kernels as Python sees them: how data become rows, and how ``gamma`` is resolved."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from widemargin import _native
from widemargin.core.rows import as_rows, drop_unused_columns, row_sums
from widemargin.kernel.kernels import KERNEL_NAMES, Kernel, resolve_gamma, rounding_of_distances


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(30, 4))


def gram(X: object) -> np.ndarray:
    rows = as_rows(X)
    return Kernel("linear").block(rows, rows)


# Rows


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "sigmoid"])
def test_kernels_mean_what_they_mean_in_scikit_learn(name: str, X: np.ndarray) -> None:
    kernel = Kernel(name, gamma=0.3, coef0=0.4, degree=2)
    arguments = {
        "linear": {},
        "poly": {"gamma": 0.3, "coef0": 0.4, "degree": 2},
        "sigmoid": {"gamma": 0.3, "coef0": 0.4},
    }.get(name, {"gamma": 0.3})
    expected = pairwise.pairwise_kernels(X, X[:7], metric=name, **arguments)
    np.testing.assert_allclose(kernel.block(as_rows(X), as_rows(X[:7])), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "sigmoid"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_matrix_has_the_values_of_a_block(name: str, form: Callable, threads: int) -> None:
    random = np.random.default_rng(1)
    X = form(random.normal(size=(700, 5)) * (random.random((700, 5)) < 0.5))
    kernel, order = Kernel(name, gamma=0.3, coef0=0.4, degree=2), random.permutation(700)[:600]
    for dtype in (np.float32, np.float64):
        rows = as_rows(X, dtype)
        for chosen in (None, order):
            values = kernel.matrix(rows, chosen, threads)
            assert values.dtype == dtype
            np.testing.assert_array_equal(values, values.T)
            expected = kernel.block(rows, rows, chosen, chosen)
            np.testing.assert_allclose(values, expected, rtol=0, atol=100 * np.finfo(dtype).eps)


def test_precision_follows_the_data(X: np.ndarray) -> None:
    assert isinstance(as_rows(X), _native.Rows64)
    assert isinstance(as_rows(X.astype(np.float32)), _native.Rows32)
    assert isinstance(as_rows(X, np.float32), _native.Rows32)
    assert isinstance(as_rows(X.astype(np.float32), np.float64), _native.Rows64)
    assert isinstance(as_rows((10 * X).astype(np.int16)), _native.Rows64)
    assert isinstance(as_rows(sp.csr_matrix(X, dtype=np.float32)), _native.Rows32)


def test_contiguous_rows_are_not_copied(X: np.ndarray) -> None:
    rows = as_rows(X)
    X *= 2  # seen by the rows, as they are a view
    np.testing.assert_allclose(Kernel("linear").block(rows, rows), X @ X.T, rtol=1e-12)


def test_rows_keep_their_memory_alive() -> None:
    rows = as_rows(np.full((3, 100_000), 2.0))
    other = [np.full((3, 100_000), float(k)) for k in range(20)]  # would reuse freed memory
    np.testing.assert_array_equal(Kernel("linear").block(rows, rows), np.full((3, 3), 4e5))
    assert len(other) == 20


@pytest.mark.parametrize("n_bytes", [4, 8])
def test_any_memory_layout(n_bytes: int, X: np.ndarray) -> None:
    X = X.astype(f"f{n_bytes}")
    wide = np.zeros((30, 8), X.dtype)
    wide[:, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    swapped = X.astype(X.dtype.newbyteorder())
    for version in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], frozen, swapped):
        np.testing.assert_allclose(gram(version), X @ X.T, atol=1e-5 if n_bytes == 4 else 1e-12)


@pytest.mark.parametrize("to", ["tocsr", "tocsc", "tocoo", "tolil", "todok"])
def test_any_sparse_format(to: str, X: np.ndarray) -> None:
    X[X < 0] = 0.0
    for kind in (sp.csr_matrix, sp.csr_array):
        matrix = getattr(kind(X), to)()
        rows = as_rows(matrix)
        assert rows.sparse
        assert (rows.count, rows.features) == (30, 4)
        np.testing.assert_allclose(gram(matrix), X @ X.T, rtol=1e-12)


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_entries_stored_twice_are_summed(name: str) -> None:
    """SciPy means the sum of them; the caller's matrix is left as it was."""
    matrix = sp.csr_matrix(
        (np.array([1.0, 2.0, 5.0, -1.0]), np.array([2, 2, 1, 0]), np.array([0, 2, 2, 4])), (3, 3)
    )
    expected = as_rows(matrix.toarray())
    rows, kernel = as_rows(matrix), Kernel(name, 0.1)
    np.testing.assert_allclose(
        kernel.block(rows, rows), kernel.block(expected, expected), rtol=1e-14
    )
    np.testing.assert_allclose(kernel.diagonal(rows), kernel.diagonal(expected), rtol=1e-14)
    assert matrix.nnz == 4


def test_stored_zeros_and_empty_rows_are_zeros() -> None:
    matrix = sp.csr_matrix((np.zeros(2), np.array([0, 1]), np.array([0, 2, 2])), (2, 3))
    np.testing.assert_array_equal(gram(matrix), np.zeros((2, 2)))


def test_descriptions() -> None:
    psd = {name: Kernel(name).positive_semidefinite for name in KERNEL_NAMES}
    assert [name for name, certain in psd.items() if certain] == [
        "linear",
        "poly",
        "rbf",
        "laplacian",
    ]
    assert not Kernel("poly", coef0=-0.1).positive_semidefinite


# gamma


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scale_is_svc_s(sparse: bool, dtype: str, X: np.ndarray) -> None:
    X = (X * (np.abs(X) < 1)).astype(dtype)
    data = sp.csr_matrix(X) if sparse else X
    expected = SVC().fit(X.astype(np.float64), np.arange(30) % 2)._gamma
    assert resolve_gamma("scale", data, np.ones(30)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_scale_counts_a_row_of_weight_two_twice(sparse: bool, X: np.ndarray) -> None:
    weights = 1.0 + np.arange(30) % 3
    repeated = np.repeat(X, weights.astype(int), axis=0)
    data = sp.csr_matrix(X) if sparse else X
    expected = 1 / (4 * repeated.var())
    assert resolve_gamma("scale", data, weights) == pytest.approx(expected, rel=1e-12)
    assert resolve_gamma("scale", data, 1e-9 * weights) == pytest.approx(expected, rel=1e-12)


def test_scale_of_many_rows_is_computed_in_blocks() -> None:
    X = np.random.default_rng(0).normal(5, 2, size=(10_000, 3))
    found = resolve_gamma("scale", X, np.ones(10_000))
    assert found == pytest.approx(1 / (3 * X.var()), rel=1e-12)


def test_other_gammas(X: np.ndarray) -> None:
    assert resolve_gamma("auto", X, np.ones(30)) == 0.25
    assert resolve_gamma(0.7, X, np.ones(30)) == 0.7
    assert resolve_gamma(3, X, np.ones(30)) == 3.0


def test_constant_data_have_no_scale() -> None:
    """SVC takes 1 then, too."""
    for value in (0.0, 3.0, 0.1):
        X = np.full((30, 4), value)
        assert resolve_gamma("scale", X, np.ones(30)) == 1.0
        assert resolve_gamma("scale", sp.csr_matrix(X), np.ones(30)) == 1.0


def test_scale_of_sparse_rows_far_from_zero() -> None:
    X = 1e6 + np.random.default_rng(0).normal(size=(200, 3))
    expected = resolve_gamma("scale", X, np.ones(200))
    assert resolve_gamma("scale", sp.csr_matrix(X), np.ones(200)) == pytest.approx(
        expected, rel=1e-5
    )


# Helpers that others rely on


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_row_sums_in_float64(kind: Callable[[np.ndarray], object]) -> None:
    X = np.full((2, 100_001), 0.1, np.float32)
    expected = X.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(row_sums(kind(X)), expected, rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_rounding_of_distances_warns_before_float32_lies(sparse: bool) -> None:
    """The bound exceeds the error that is actually made, and is not absurdly larger."""
    rng = np.random.default_rng(0)
    kernel = Kernel("rbf", gamma=0.5)
    for offset in (0.0, 3.0, 30.0):
        X = (offset + rng.normal(size=(50, 4))).astype(np.float32)
        data = sp.csr_matrix(X) if sparse else X
        exact = kernel.block(as_rows(data, np.float64), as_rows(data, np.float64))
        error = np.abs(kernel.block(as_rows(data), as_rows(data)) - exact).max()
        bound = rounding_of_distances(kernel, data)
        assert error < 4 * bound < 1000 * error
    assert rounding_of_distances(kernel, X.astype(np.float64)) == 0.0
    assert rounding_of_distances(Kernel("linear"), X) == 0.0
    assert rounding_of_distances(kernel, X[:0]) == 0.0


def test_unused_columns_of_wide_rows_change_nothing() -> None:
    """Two narrow matrices spread over a million columns, each with a few columns of its own."""
    random = np.random.default_rng(0)
    narrow = [sp.random(40, 30, 0.2, format="csr", random_state=k) for k in (0, 1)]
    where = np.sort(random.choice(10**6, 45, replace=False))
    places = (where[:30], where[15:])
    wide = [
        sp.csr_matrix((m.data, at[m.indices], m.indptr), (40, 10**6))
        for m, at in zip(narrow, places, strict=True)
    ]
    fewer = drop_unused_columns(*wide)
    assert fewer[0].shape[1] == fewer[1].shape[1] <= 45
    for name in ("rbf", "laplacian", "linear"):
        kernel = Kernel(name, 0.5)
        expected = kernel.block(as_rows(wide[0]), as_rows(wide[1]))
        # Which features are summed in a list may depend on the columns, and their order with it.
        np.testing.assert_allclose(kernel.block(*map(as_rows, fewer)), expected, rtol=1e-14)
    assert drop_unused_columns(narrow[0])[0] is narrow[0]
