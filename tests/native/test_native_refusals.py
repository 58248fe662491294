"""The native core refuses what would make it read or write outside an array."""

import numpy as np
import pytest
import scipy.sparse as sp
from rows_under_test import DTYPES

from widemargin import _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

KINDS = {"float32": _native.Rows32, "float64": _native.Rows64}
INDEX_TYPES = (np.int32, np.int64)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def csr(
    dtype: str,
    indices: list[int],
    indptr: list[int],
    features: int = 3,
    stored: int | None = None,
    index_type: type = np.int32,
) -> object:
    data = np.ones(len(indices) if stored is None else stored, dtype)
    return KINDS[dtype](data, np.array(indices, index_type), np.array(indptr, np.int64), features)


@dtypes
@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize(
    ("indices", "indptr", "features", "message"),
    [
        ([0, 3], [0, 1, 2], 3, "below the feature count"),
        ([0, -1], [0, 1, 2], 3, "below the feature count"),
        ([0], [0, 1], 0, "below the feature count"),
        ([0, 1, 2], [0, 2, 1, 3], 3, "must not decrease"),
        ([0, 1], [0, -1, 2], 3, "must not decrease"),
        ([0, 1], [1, 2], 3, "start at 0"),
        ([0, 1], [], 3, "start at 0"),
        ([0, 1], [0, 1, 3], 3, "past the stored values"),
    ],
)
def test_broken_csr_structure(
    dtype: str, index_type: type, indices: list[int], indptr: list[int], features: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        csr(dtype, indices, indptr, features, index_type=index_type)


@dtypes
def test_fewer_values_than_indices(dtype: str) -> None:
    with pytest.raises(ValueError, match="past the stored values"):
        csr(dtype, [0, 1, 2], [0, 3], stored=2)


@dtypes
def test_indices_of_another_type(dtype: str) -> None:
    for indices in (np.zeros(2, np.float64), np.zeros(2, np.int16), np.zeros(4, np.int32)[::2]):
        with pytest.raises(ValueError, match="int32 or int64 and contiguous"):
            KINDS[dtype](np.ones(2, dtype), indices, np.array([0, 2]), 3)


@dtypes
def test_dense_rows_need_two_dimensions(dtype: str) -> None:
    for array in (np.ones(3, dtype), np.ones((2, 2, 2), dtype)):
        with pytest.raises(TypeError):
            KINDS[dtype](array)


@pytest.mark.parametrize("bad", [-1, 4, 2**40])
def test_row_numbers_out_of_range(bad: int) -> None:
    rows, kernel = as_rows(np.ones((4, 2))), Kernel("linear")
    picks = np.array([0, bad])
    with pytest.raises(ValueError, match="row number out of range"):
        kernel.block(rows, rows, picks)
    with pytest.raises(ValueError, match="row number out of range"):
        kernel.block(rows, rows, None, picks)
    with pytest.raises(ValueError, match="row number out of range"):
        kernel.product(rows, rows, np.ones((1, 2)), picks)


def test_sets_of_rows_that_do_not_belong_together() -> None:
    kernel = Kernel("rbf")
    two, three = as_rows(np.ones((4, 2))), as_rows(np.ones((4, 3)))
    with pytest.raises(ValueError, match="same features"):
        kernel.block(two, three)
    with pytest.raises(ValueError, match="same features"):
        kernel.product(two, three, np.ones((1, 4)))
    single = as_rows(np.ones((4, 2), np.float32))
    with pytest.raises(TypeError):
        kernel.block(two, single)


def test_coefficients_of_the_wrong_length() -> None:
    rows = as_rows(np.ones((4, 2)))
    with pytest.raises(ValueError, match="one row of `coef` per basis row"):
        Kernel("rbf").product(rows, rows, np.ones((1, 5)))


def test_unknown_kernel() -> None:
    with pytest.raises(ValueError, match="unknown kernel 'cosine'"):
        _native.KernelSpec("cosine")


# Precomputed: rows are kernel values, row numbers of the right-hand side are columns.


@dtypes
def test_precomputed_blocks_are_picked_values(dtype: str) -> None:
    K = np.arange(20.0, dtype=dtype).reshape(4, 5)
    rows = as_rows(K)
    kernel = Kernel("precomputed", constant=0.5)
    np.testing.assert_array_equal(kernel.block(rows, rows), K + 0.5)
    picked, columns = np.array([3, 0, 3]), np.array([4, 4, 1])
    expected = K[np.ix_(picked, columns)] + 0.5
    np.testing.assert_array_equal(kernel.block(rows, rows, picked, columns), expected)
    np.testing.assert_array_equal(kernel.diagonal(rows), np.diagonal(K) + 0.5)


def test_precomputed_refusals() -> None:
    kernel = Kernel("precomputed")
    tall = as_rows(np.ones((5, 4)))
    with pytest.raises(ValueError, match="column for every row"):
        kernel.diagonal(tall)
    with pytest.raises(ValueError, match="row number out of range"):
        kernel.block(tall, tall, None, np.array([4]))
    with pytest.raises(ValueError, match="needs no product"):
        kernel.product(tall, tall, np.ones((1, 5)))
    sparse = as_rows(sp.identity(4, format="csr"))
    with pytest.raises(ValueError, match="dense"):
        kernel.block(sparse, sparse)


def test_precomputed_diagonal_of_sparse_rows() -> None:
    sparse = as_rows(sp.identity(4, format="csr"))
    with pytest.raises(ValueError, match="dense"):
        Kernel("precomputed").diagonal(sparse)


# One block of several problems


def solve_block(kernel: np.ndarray, **changed: np.ndarray) -> int:
    vectors = ("label", "diagonal", "below", "above", "bound", "floor", "net_dual", "margin")
    given = {name: np.ones(len(kernel)) for name in vectors} | changed
    limits = {"gap": 0.0, "sets": 1, "working_set": 2, "threads": 1, "seed": 0}
    return _native.solve_block(kernel, lower_margin=1.0, upper_margin=np.inf, **given, **limits)


@dtypes
def test_blocks_whose_arrays_do_not_belong_together(dtype: str) -> None:
    square = np.eye(3, dtype=dtype)
    assert solve_block(square) >= 0
    with pytest.raises(ValueError, match="must be square"):
        solve_block(np.ones((3, 4), dtype))
    for name in ("label", "diagonal", "below", "above", "bound", "floor", "net_dual", "margin"):
        with pytest.raises(ValueError, match="one entry per row"):
            solve_block(square, **{name: np.ones(2)})
    with pytest.raises(TypeError):  # a copy would be solved, and lost
        solve_block(square, net_dual=np.ones(3, np.float32))
