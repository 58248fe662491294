"""Rows most of whose features are rare, as in text: lists of rows against dense values."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from rows_under_test import DTYPES, KERNELS, expected_block

from tolerances import TOLERANCES
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
names = pytest.mark.parametrize("name", BY_NAME)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


@cache
def text(rows: int, seed: int, features: int = 500, words: int = 15) -> sp.csr_matrix:
    """Rows of random words, feature f about 1 / f times as often as the first: a few are common."""
    rng = np.random.default_rng(seed)
    columns = np.floor(features ** rng.random((rows, words))).astype(np.int64) - 1
    columns[::7, :2] = 0
    values = rng.normal(size=rows * words) / np.sqrt(words)
    values[5 * words : 6 * words] = 0.0  # a row without entries
    starts = np.arange(0, rows * words + 1, words)
    X = sp.csr_matrix((values, columns.ravel(), starts), (rows, features))
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def test_text_has_rare_and_common_features() -> None:
    """What the other tests here are about."""
    X = text(400, 0)
    share = X.getnnz(axis=0) / 400
    rare = X.getnnz(axis=0)[share < 0.1].sum() / X.nnz
    assert 0.3 < rare < 0.9
    assert (share >= 0.1).sum() > 3


@names
@dtypes
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_same_values_as_dense_rows(name: str, dtype: str, index: type) -> None:
    kernel = BY_NAME[name]
    X, Z = (text(n, seed).astype(dtype) for n, seed in ((131, 0), (201, 1)))
    expected = expected_block(kernel, X.toarray(), Z.toarray())
    atol = TOLERANCES[dtype].kernel * (1 + np.abs(expected).max())
    sparse = []
    for matrix in (X, Z):
        wide = matrix.copy()
        wide.indices, wide.indptr = wide.indices.astype(index), wide.indptr.astype(index)
        sparse.append(as_rows(wide))
    np.testing.assert_allclose(kernel.block(*sparse), expected, rtol=0, atol=atol)
    # Streamed as lists, packed dense; and the other way round.
    for a, b in ((sparse[0], as_rows(Z.toarray())), (as_rows(X.toarray()), sparse[1])):
        np.testing.assert_allclose(kernel.block(a, b), expected, rtol=0, atol=atol)
    for outputs in (1, 3):
        coef = np.random.default_rng(outputs).normal(size=(outputs, 131)).astype(dtype)
        coef[:, 50:90] = 0.0
        found = kernel.product(sparse[1], sparse[0], coef)
        largest = np.abs(coef).sum(axis=1).max()
        np.testing.assert_allclose(found, coef @ expected, rtol=0, atol=largest * atol)


@names
@dtypes
def test_value_depends_on_neither_neighbours_nor_threads(name: str, dtype: str) -> None:
    """To the bit, though the features that a block has differ from block to block."""
    kernel, rows = BY_NAME[name], as_rows(text(700, 0).astype(dtype))
    block = kernel.block(rows, rows)
    coef = np.random.default_rng(0).normal(size=(2, 700))
    sums = kernel.product(rows, rows, coef)
    for threads in (2, 5):
        np.testing.assert_array_equal(kernel.block(rows, rows, threads=threads), block)
        np.testing.assert_array_equal(kernel.product(rows, rows, coef, threads=threads), sums)
    rng = np.random.default_rng(1)
    for part in (np.arange(1), np.arange(3, 20), np.arange(30, 430), rng.integers(0, 700, 90)):
        np.testing.assert_array_equal(kernel.block(rows, rows, part), block[part])
        np.testing.assert_array_equal(kernel.block(rows, rows, None, part), block[:, part])


@dtypes
def test_several_blocks_to_a_task(dtype: str) -> None:
    """20,000 packed rows make tasks of 2,048; long rows divide a task into several blocks."""
    kernel = Kernel("linear")
    for rows, features, words in ((20_000, 3000, 25), (3_000, 20_000, 400)):
        Z = text(rows, 1, features, words).astype(dtype)
        X = text(30, 0, features, words).astype(dtype)
        coef = np.random.default_rng(0).normal(size=(1, 30))
        expected = (Z.astype(float) @ (X.astype(float).T @ coef.T)).T
        found = [kernel.product(as_rows(Z), as_rows(X), coef, threads=n) for n in (1, 2)]
        np.testing.assert_array_equal(found[0], found[1])
        atol = 40 * np.abs(coef).sum() * TOLERANCES[dtype].kernel
        np.testing.assert_allclose(found[0], expected, rtol=0, atol=atol)


@dtypes
def test_groups_of_rows(dtype: str) -> None:
    kernel = BY_NAME["rbf"]
    X, Z = text(131, 0).astype(dtype), text(201, 1).astype(dtype)
    coef = np.random.default_rng(0).normal(size=131)
    starts = np.array([0, 40, 41, 100, 131])
    offset = np.array([0.1, -0.2, 0.0, 0.3])
    weighted = coef[:, None] * expected_block(kernel, X.toarray(), Z.toarray())
    scores = np.add.reduceat(weighted, starts[:-1], axis=0) + offset[:, None]
    best, score = kernel.nearest_group(as_rows(Z), as_rows(X), coef, starts, offset, 2)
    atol = np.abs(coef).sum() * TOLERANCES[dtype].kernel
    np.testing.assert_allclose(score, scores.max(axis=0), rtol=0, atol=atol)
    np.testing.assert_allclose(scores[best, np.arange(201)], score, rtol=0, atol=atol)
    order = np.argsort(best, kind="stable")
    query_start = np.searchsorted(best[order], np.arange(5))
    sums = kernel.routed_product(as_rows(Z), as_rows(X), coef, order, query_start, starts, 2)
    np.testing.assert_allclose(sums + offset[best], score, rtol=0, atol=atol)
