"""Blocks, products and diagonals of the native core against the reference."""

import numpy as np
import pytest
import scipy.sparse as sp
from rows_under_test import (
    DTYPES,
    FEATURES,
    KERNELS,
    LAYOUTS,
    SIZES,
    expected_block,
    expected_values,
    in_layout,
    values,
)

from tolerances import TOLERANCES
from widemargin import _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
names = pytest.mark.parametrize("name", BY_NAME)
dtypes = pytest.mark.parametrize("dtype", DTYPES)
layouts = pytest.mark.parametrize(
    ("left", "right"), [(a, b) for a in LAYOUTS for b in LAYOUTS if "dense" in (a, b) or a == b]
)
# Every size on either side, next to a small and a large partner.
SHAPES = sorted({(n, m) for n in SIZES for m in (1, 5, 257)} | {(5, m) for m in SIZES})


def allowed(expected: np.ndarray, tolerance: float) -> float:
    return tolerance * (1 + np.abs(expected).max(initial=0.0))


@names
@dtypes
@layouts
@pytest.mark.parametrize("n_features", FEATURES)
def test_block(name: str, dtype: str, left: str, right: str, n_features: int) -> None:
    kernel = BY_NAME[name]
    X, Z = values(n_features, dtype, 0), values(n_features, dtype, 1)
    everything = expected_values(kernel, n_features, dtype)
    for n, m in SHAPES:
        block = kernel.block(in_layout(X[:n], left), in_layout(Z[:m], right))
        expected = everything[:n, :m]
        assert block.shape == (n, m)
        assert block.dtype == dtype
        np.testing.assert_allclose(
            block, expected, rtol=0, atol=allowed(expected, TOLERANCES[dtype].kernel)
        )


@names
@dtypes
@layouts
@pytest.mark.parametrize("n_features", FEATURES)
def test_product(name: str, dtype: str, left: str, right: str, n_features: int) -> None:
    kernel = BY_NAME[name]
    X, Z = values(n_features, dtype, 0), values(n_features, dtype, 1)
    everything = expected_values(kernel, n_features, dtype)
    rng = np.random.default_rng(0)
    for n, m in SHAPES:
        coef = rng.normal(size=(1 + (n + m) % 4, n)).astype(dtype).astype(np.float64)
        sums = kernel.product(in_layout(Z[:m], right), in_layout(X[:n], left), coef)
        assert sums.shape == (len(coef), m)
        assert sums.dtype == np.float64
        expected = everything[:n, :m]
        largest = np.abs(coef).sum(axis=1).max(initial=0.0)
        np.testing.assert_allclose(
            sums,
            coef @ expected,
            rtol=0,
            atol=largest * allowed(expected, TOLERANCES[dtype].kernel),
        )


@names
@dtypes
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_features", FEATURES)
def test_diagonal(name: str, dtype: str, layout: str, n_features: int) -> None:
    kernel = BY_NAME[name]
    X = values(n_features, dtype, 0)
    for n in SIZES:
        diagonal = kernel.diagonal(in_layout(X[:n], layout))
        expected = np.diagonal(expected_block(kernel, X[:n], X[:n]))
        assert diagonal.dtype == np.float64
        # Always in float64, whatever the rows are: coordinate descent divides by it.
        np.testing.assert_allclose(diagonal, expected, rtol=1e-13)


@names
@dtypes
@layouts
def test_picked_rows(name: str, dtype: str, left: str, right: str) -> None:
    """Rows may be picked in any order, more than once, or not at all."""
    kernel = BY_NAME[name]
    everything = expected_values(kernel, 17, dtype)
    a, b = in_layout(values(17, dtype, 0), left), in_layout(values(17, dtype, 1), right)
    picks = [
        np.array([], dtype=np.int64),
        np.array([256]),
        np.array([16, 3, 3, 200, 16, 0]),
        np.random.default_rng(0).integers(0, 257, size=300),
    ]
    for rows in picks:
        for columns in [*picks, None]:
            block = kernel.block(a, b, rows, columns)
            expected = everything[rows][:, slice(None) if columns is None else columns]
            assert block.shape == expected.shape
            np.testing.assert_allclose(
                block, expected, rtol=0, atol=allowed(everything, TOLERANCES[dtype].kernel)
            )
        coef = np.random.default_rng(1).normal(size=(2, len(rows))).astype(dtype)
        sums = kernel.product(b, a, coef, rows)
        largest = np.abs(coef).sum(axis=1).max()
        np.testing.assert_allclose(
            sums,
            coef @ everything[rows],
            rtol=0,
            atol=largest * allowed(everything, TOLERANCES[dtype].kernel),
        )


@names
@dtypes
@pytest.mark.parametrize("layout", ["dense", "csr32"])
def test_constant_is_added_to_every_value(name: str, dtype: str, layout: str) -> None:
    plain = BY_NAME[name]
    kernel = Kernel(plain.name, plain.gamma, plain.coef0, plain.degree, constant=1.5)
    rows = in_layout(values(3, dtype, 0), layout)
    tolerance = TOLERANCES[dtype].kernel
    shifted, block = kernel.block(rows, rows), plain.block(rows, rows)
    np.testing.assert_allclose(shifted, block + 1.5, atol=allowed(block, tolerance))
    np.testing.assert_allclose(kernel.diagonal(rows), plain.diagonal(rows) + 1.5, rtol=1e-14)
    coef = np.linspace(-1, 2, 257)[None].astype(dtype)
    np.testing.assert_allclose(
        kernel.product(rows, rows, coef),
        plain.product(rows, rows, coef) + 1.5 * coef.sum(dtype=np.float64),
        atol=np.abs(coef).sum() * allowed(block, tolerance),
    )


@names
@dtypes
@layouts
def test_threads_do_not_change_a_bit(name: str, dtype: str, left: str, right: str) -> None:
    kernel = BY_NAME[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 5)).astype(dtype) * (rng.random((1100, 5)) < 0.6)
    a, b = in_layout(X[:300], left), in_layout(X, right)
    coef = rng.normal(size=(2, 300))
    block, sums = kernel.block(a, b, threads=1), kernel.product(b, a, coef, threads=1)
    for threads in (2, 5):
        np.testing.assert_array_equal(kernel.block(a, b, threads=threads), block)
        np.testing.assert_array_equal(kernel.product(b, a, coef, threads=threads), sums)


@names
@dtypes
@pytest.mark.parametrize("layout", ["dense", "csr32"])
def test_value_does_not_depend_on_the_neighbours(name: str, dtype: str, layout: str) -> None:
    """The same pair of rows has the same value to the bit, wherever it sits in a block."""
    kernel = BY_NAME[name]
    rows = in_layout(values(17, dtype, 0), layout)
    block = kernel.block(rows, rows)
    for first, last in [(0, 1), (3, 20), (40, 53), (200, 257)]:
        part = np.arange(first, last)
        np.testing.assert_array_equal(kernel.block(rows, rows, part), block[first:last])
        np.testing.assert_array_equal(kernel.block(rows, rows, None, part), block[:, first:last])


@pytest.mark.parametrize("layout", ["dense", "csr32", "csr64"])
@pytest.mark.parametrize("n_features", [0, 600, 17_000])
@names
def test_many_features_or_none(name: str, layout: str, n_features: int) -> None:
    """So many that few panels, or one, fit the cache; and rows without any feature."""
    rng = np.random.default_rng(0)
    X = np.zeros((20, n_features))
    for row in X:
        row[rng.integers(0, max(n_features, 1), 30 if n_features else 0)] = 0.3
    kernel = BY_NAME[name]
    rows = in_layout(X, layout)
    expected = expected_block(kernel, X, X)
    np.testing.assert_allclose(kernel.block(rows, rows), expected, atol=1e-12)
    coef = rng.normal(size=(1, 20))
    np.testing.assert_allclose(kernel.product(rows, rows, coef), coef @ expected, atol=1e-11)


def test_wide_sparse_rows_over_several_tasks() -> None:
    """Past 16,384 columns a task takes 2,048 rows; 2,100 need two."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 50_000, size=(2100, 10)).ravel()
    X = sp.csr_matrix((rng.normal(size=21_000), columns, np.arange(0, 21_001, 10)), (2100, 50_000))
    kernel, rows = Kernel("linear"), as_rows(X)
    coef = rng.normal(size=(1, 2100))
    expected = (X @ (X.T @ coef.T)).T
    for threads in (1, 2):
        sums = kernel.product(rows, rows, coef, threads=threads)
        np.testing.assert_allclose(sums, expected, atol=1e-12)


@dtypes
def test_exponential_is_accurate_over_its_whole_range(dtype: str) -> None:
    """exp(−gamma·1²) for gamma from nothing to where the result is left out."""
    floor = 59.5 if dtype == "float32" else 599.0
    origin, one = as_rows(np.zeros((1, 1), dtype)), as_rows(np.ones((1, 1), dtype))
    gammas = np.concatenate([[0.0], np.logspace(-12, np.log10(floor), 3000)]).astype(dtype)
    gammas = np.minimum(gammas, floor)
    found = np.array([Kernel("rbf", float(g)).block(origin, one)[0, 0] for g in gammas])
    expected = np.exp(-gammas.astype(np.float64))
    # An exponent of g is itself rounded, by g times the precision.
    error = np.abs(found / expected - 1) / (1 + gammas)
    assert error.max() <= TOLERANCES[dtype].exponential
    assert found[0] == 1.0
    # Beyond: nothing, so that no product with a coefficient is denormal.
    for gamma in (1.01 * floor, 1e6, 1e30):
        assert Kernel("rbf", gamma).block(origin, one)[0, 0] == 0.0


@dtypes
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7, 64])
def test_degrees(dtype: str, degree: int) -> None:
    X = values(3, dtype, 0)
    rows = as_rows(X)
    kernel = Kernel("poly", gamma=0.05, coef0=0.8, degree=degree)
    expected = expected_block(kernel, X, X)
    np.testing.assert_allclose(
        kernel.block(rows, rows),
        expected,
        rtol=0,
        atol=allowed(expected, degree * TOLERANCES[dtype].kernel),
    )


def test_instruction_set_is_named() -> None:
    assert _native.instruction_set() in ("baseline", "avx2", "avx512")
