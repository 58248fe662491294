r"""Find equal rows with equal labels.

Rows are compared by a 64-bit sum of their words, each times a random odd number of its column, and
those with equal sums entry by entry: :math:`O(\text{rows} \times \text{features})`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Rows hashed or compared at a time.
BLOCK = 4096
# An odd number, as those of the columns, so that rows of several classes differ in their sums.
LABEL_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def copies(X: Any, label: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the set of copies that each row belongs to, and the first row of each set.

    Labels are integers, or numbers that stand for them.
    """
    key = _keys(X, label)
    order = np.argsort(key)  # which of equal keys comes first does not matter here
    begins = np.flatnonzero(np.diff(key[order], prepend=~key[order[0]]))
    first = np.minimum.reduceat(order, begins)
    origin = np.empty_like(order)
    origin[order] = np.repeat(first, np.diff(begins, append=order.size))
    later = np.flatnonzero(origin != np.arange(origin.size))
    for start in range(0, later.size, BLOCK):
        rows = later[start : start + BLOCK]
        unlike = label[rows] != label[origin[rows]]
        different = rows[unlike | _different(X, rows, origin[rows])]
        origin[different] = different  # a collision: the row stays on its own
    alone = origin == np.arange(origin.size)
    return (np.cumsum(alone) - 1)[origin], np.flatnonzero(alone)


def copies_in_own_order(X: Any, label: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what :func:`copies` does, the sets in an order that depends on their contents alone.

    Rows in another order, or given once with a larger weight, make the same sets.
    """
    group, first = copies(X, label)
    order = np.argsort(_keys(X[first], label[first]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place[group], first[order]


def _keys(X: Any, label: NDArray[Any]) -> NDArray[np.uint64]:
    """Hash rows with their labels."""
    return np.asarray(_hashes(X) + label.astype(np.int64).view(np.uint64) * LABEL_FACTOR)


def _hashes(X: Any) -> NDArray[np.uint64]:
    """Hash rows; a stored zero counts like none, a negative one like a positive one."""
    words_per_entry = X.dtype.itemsize // 4
    random = np.random.default_rng(0)
    factors = random.integers(2**63, size=(X.shape[1], words_per_entry), dtype=np.uint64) * 2 + 1
    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    for start in range(0, X.shape[0], BLOCK):
        here = slice(start, start + BLOCK)
        if sp.issparse(X):
            hashes[here] = _sparse_hashes(X[here], factors)
        else:
            hashes[here] = _words(X[here]) @ factors.ravel()
    return hashes


def _sparse_hashes(X: Any, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    terms = (_words(X.data).reshape(-1, factors.shape[1]) * factors[X.indices]).sum(axis=1)
    summed = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return np.asarray(summed[X.indptr[1:]] - summed[X.indptr[:-1]])


def _words(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the 32-bit words of numbers: as one, those of 64 bits often end in zeros."""
    return (np.ascontiguousarray(values) + 0.0).view(np.uint32).astype(np.uint64)


def _different(X: Any, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Compare rows with others entry by entry."""
    if sp.issparse(X):
        return np.asarray(np.diff((X[rows] != X[others]).indptr) > 0)
    return np.asarray(np.any(X[rows] != X[others], axis=1))
