"""Rows of a training set: the native core's view of them, faster and smaller forms, and copies."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _native
from .arrays import Array

Rows: TypeAlias = "_native.Rows32 | _native.Rows64"
# Dense rows with this share of entries that are not zero, and this many features, are evaluated
# faster as CSR: RBF values per second of one core, CSR against dense, were 1.3 to 1.7 times as many
# at a share of .3 and 1.4 to 2.2 times at .2 with 32 to 128 features, 1.2 and 1.5 times with 256,
# 1.3 and 1.8 times with 784 (AVX-512, float32; float64 gains more).
SPARSE_SHARE = 0.3
SPARSE_FEATURES = 32
# Above this many columns, panels of mostly unused ones cost more than renumbering.
WIDE = 1 << 15
# Bits of the keys by which equal rows are found.
KEY_BITS = 64


def as_rows(X: Any, dtype: Any = None) -> Rows:
    """View a dense array or CSR matrix as rows of the native core.

    No copy is made when the data already have the wanted precision and are C-contiguous.
    """
    dtype = np.dtype(dtype or (X.dtype if X.dtype == np.float32 else np.float64))
    kind = _native.Rows32 if dtype == np.float32 else _native.Rows64
    if not sp.issparse(X):
        return kind(np.ascontiguousarray(X, dtype=dtype))
    X = canonical(X)
    indices = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    return kind(
        np.ascontiguousarray(X.data, dtype=dtype),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        X.shape[1],
    )


def canonical(X: Any) -> Any:
    """Return CSR rows with every entry stored once; anything else as it is."""
    if not sp.issparse(X) or (X.format == "csr" and X.has_canonical_format):
        return X
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    return X


def sparse_if_faster(X: Any) -> Any:
    """Return dense rows of mostly zeros as a CSR matrix; anything else as it is.

    For rows that kernel values are wanted of, one-hot features and images above all. Values change
    by rounding only. The copy has at most 0.6 times the size of the rows.
    """
    if sp.issparse(X) or X.shape[1] < SPARSE_FEATURES:
        return X
    features = X.shape[1]
    step = max(1, (1 << 18) // features)  # blocks that stay in cache
    blocks = [X[i : i + step] for i in range(0, X.shape[0], step)]
    total, last = 0, 0
    for block in blocks:
        total += int(np.count_nonzero(block != 0))
        if total > SPARSE_SHARE * X.size:
            return X
    data, indices = np.empty(total, dtype=X.dtype), np.empty(total, dtype=np.int32)
    indptr = np.zeros(X.shape[0] + 1, dtype=np.int64)
    for number, block in enumerate(blocks):
        stored = np.flatnonzero(block != 0)
        first, last = last, last + stored.size
        row_begin = np.arange(0, block.size, features)
        row_end = np.searchsorted(stored, row_begin + features)
        indptr[number * step + 1 :][: len(block)] = first + row_end
        data[first:last] = block.ravel()[stored]
        indices[first:last] = stored - np.repeat(row_begin, np.diff(row_end, prepend=0))
    return sp.csr_matrix((data, indices, indptr), X.shape)


def drop_unused_columns(*matrices: Any) -> tuple[Any, ...]:
    """Renumber the columns of wide CSR matrices so that those none of them uses disappear.

    Products, distances and norms stay the same, up to the order in which a kernel's tile adds them;
    a hashed text no longer spreads its few thousand columns over a million.
    """
    if not all(sp.issparse(m) for m in matrices) or matrices[0].shape[1] <= WIDE:
        return matrices
    used = np.unique(np.concatenate([np.unique(m.indices) for m in matrices]))
    return tuple(
        sp.csr_matrix(
            (m.data, np.searchsorted(used, m.indices), m.indptr), (m.shape[0], max(used.size, 1))
        )
        for m in matrices
    )


def row_sums(X: Any) -> Array:
    """Sum each row in float64."""
    if sp.issparse(X):
        return _sums_of_stored(X, X.data)
    return np.asarray(X.sum(axis=1, dtype=np.float64))


def _sums_of_stored(X: Any, values: NDArray[Any]) -> Array:
    """Sum one value per stored entry over each CSR row, in float64."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.bincount(row, values, minlength=X.shape[0]), dtype=np.float64)


def squared_deviations(X: Any, mean: float) -> Array:
    """Sum (entry − mean)² over each row, in float64."""
    if sp.issparse(X):
        stored = (X.data.astype(np.float64) - mean) ** 2
        absent = X.shape[1] - np.diff(X.indptr)
        return np.asarray(_sums_of_stored(X, stored) + absent * mean**2)
    out = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 4096):  # blocks: no second array of the data's size
        block = X[start : start + 4096].astype(np.float64) - mean
        out[start : start + 4096] = np.einsum("ij,ij->i", block, block)
    return out


def largest_square(X: Any) -> float:
    """Return the largest squared norm of some rows, rounded as they are."""
    squares = _sums_of_stored(X, X.data**2) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return float(squares.max())


def take_rows(X: Any, rows: NDArray[np.int64] | None, pairwise: bool) -> Any:
    """Take rows (and, of a kernel matrix, the same columns); None takes all."""
    if rows is None:
        return X
    return X[np.ix_(rows, rows)] if pairwise else X[rows]


def copies(
    X: Any, label: NDArray[Any], threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find equal rows with equal labels: return the set of each row, and the first row of each set.

    Rows are found by a 64-bit key and compared entry by entry where keys are equal: O(stored
    values). Labels are integers, or numbers that stand for them. A stored zero counts like none.
    """
    return _native.copies(as_rows(X), _codes(label), KEY_BITS, threads)


def copies_in_own_order(X: Any, label: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what :func:`copies` does, the sets in an order that depends on their contents alone.

    Rows in another order, or given once with a larger weight, make the same sets.
    """
    group, first = copies(X, label)
    keys = row_keys(X[first], label[first])
    order = np.argsort(keys, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place[group], first[order]


def row_keys(X: Any, label: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a 64-bit key of every row, which depends on its entries and its label alone."""
    return _native.row_keys(as_rows(X), _codes(label))


def _codes(label: NDArray[Any]) -> NDArray[np.int64]:
    return np.ascontiguousarray(label, dtype=np.int64)
