r"""Equal rows with equal labels, merged into one row that weighs as much as all of them.

Copies have equal margins, so a problem and its merged form have the same optimum: with the sum of
the copies' weights, the primal is the same function of the decision; and a merged dual, shared out
in proportion to the weights, gives the same dual objective. The terms of a loss follow: bounds
add up, and so do the inverses of the curvatures.

Rows are compared by a 64-bit sum of their words, each times a random odd number of its column, and
those with equal sums entry by entry: :math:`O(\text{rows} \times \text{features})`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.rows import canonical
from .problem import KernelProblem
from .samples import Samples

# Share of the rows that merging must save: it shortens a solve by about twice that, and costs a
# thousandth of one.
WORTHWHILE = 0.05
# Rows hashed or compared at a time.
BLOCK = 4096
# An odd number, as those of the columns, so that rows of several classes differ in their sums.
LABEL_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Copies:
    """Copies among the rows, and the way back from merged rows.

    Attributes
    ----------
    group : array of shape (n_rows,)
        The merged row of every row.
    first : array of shape (n_merged,)
        The first copy of every merged row.
    share : array of shape (n_rows,)
        Part of the merged row's weight that is a row's own.
    """

    group: NDArray[np.int64]
    first: NDArray[np.int64]
    share: Array

    def merge(self, net_dual: Array) -> Array:
        """Add up the duals of copies."""
        return _summed(net_dual, self.group)

    def spread(self, net_dual: Array) -> Array:
        """Share out the duals of merged rows in proportion to the weights."""
        return np.asarray(net_dual[self.group] * self.share)


@dataclass(frozen=True)
class MergedRows(Copies):
    """A problem without copies.

    Attributes
    ----------
    problem : KernelProblem
        One row for each set of copies, where the first of them stood.
    """

    problem: KernelProblem


@dataclass(frozen=True)
class MergedSamples(Copies):
    """A training set without copies.

    Attributes
    ----------
    samples : Samples
        One row for each set of copies, where the first of them stood.
    """

    samples: Samples


def merge_samples(samples: Samples) -> MergedSamples | None:
    """Merge copies in a training set; None where that saves too little, or does not apply."""
    if not samples.kernel.positive_semidefinite:
        return None
    X = canonical(samples.X)
    group, first = copies(X, samples.label)
    if first.size > (1 - WORTHWHILE) * group.size:
        return None
    total = _summed(samples.weight, group)
    smaller = replace(samples, X=X[first], label=samples.label[first], weight=total)
    return MergedSamples(group, first, samples.weight / total[group], smaller)


def merge_duplicates(problem: KernelProblem) -> MergedRows | None:
    """Merge copies if that saves enough rows; None where it does not, or does not apply.

    It does not apply to kernel matrices, whose rows have no entries to compare, nor to kernels that
    may be indefinite: what makes their problem convex is added row by row.
    """
    if not problem.kernel.positive_semidefinite or problem.shift:
        return None
    X = canonical(problem.X)
    group, first = copies(X, problem.label)
    if first.size > (1 - WORTHWHILE) * group.size:
        return None
    terms = problem.terms
    weight = 1.0 / terms.below if terms.smooth else terms.bound
    total = _summed(weight, group)

    def merged(curvature: Array) -> Array:
        return np.asarray(curvature[first] * weight[first] / total)

    smaller = replace(
        problem,
        X=X[first],
        label=problem.label[first],
        terms=replace(
            terms,
            below=merged(terms.below),
            above=merged(terms.above),
            bound=_summed(terms.bound, group),
        ),
    )
    return MergedRows(group, first, weight / total[group], smaller)


def _summed(values: Array, group: NDArray[np.int64]) -> Array:
    return np.asarray(np.bincount(group, values), dtype=np.float64)


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
