r"""Equal rows with equal labels and targets, merged into one that weighs as much as all of them.

Copies have equal margins, so a problem and its merged form have the same optimum: with the sum of
the copies' weights, the primal is the same function of the decision; and a merged dual, shared out
in proportion to the weights, gives the same dual objective. The terms of a loss follow: bounds
add up, and so do the inverses of the curvatures.

:mod:`widemargin.core.rows` finds the copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.rows import canonical, copies
from .problem import KernelProblem
from .samples import Samples

# Share of the rows that merging must save: it shortens a solve by about twice that, and costs a
# thousandth of one.
WORTHWHILE = 0.05


@dataclass(frozen=True)
class Copies:
    """Copies among the rows, and the way back from merged rows."""

    group: NDArray[np.int64]  # (n_rows,): the merged row of every row
    first: NDArray[np.int64]  # (n_merged,): the first copy of every merged row
    share: Array  # (n_rows,): part of the merged row's weight that is a row's own

    def merge(self, net_dual: Array) -> Array:
        """Add up the duals of copies."""
        return _summed(net_dual, self.group)

    def spread(self, net_dual: Array) -> Array:
        """Share out the duals of merged rows in proportion to the weights."""
        return np.asarray(net_dual[self.group] * self.share)


@dataclass(frozen=True)
class MergedRows(Copies):
    """A problem without copies."""

    problem: KernelProblem  # one row for each set of copies, where the first of them stood


@dataclass(frozen=True)
class MergedSamples(Copies):
    """A training set without copies."""

    samples: Samples  # one row for each set of copies, where the first of them stood


def merge_samples(samples: Samples) -> MergedSamples | None:
    """Merge copies in a training set; None where that saves too little, or does not apply."""
    if not samples.kernel.positive_semidefinite:
        return None
    X = canonical(samples.X)
    group, first = copies(X, _kinds(samples.label, samples.target))
    if first.size > (1 - WORTHWHILE) * group.size:
        return None
    total = _summed(samples.weight, group)
    smaller = replace(
        samples,
        X=X[first],
        label=samples.label[first],
        weight=total,
        target=None if samples.target is None else samples.target[first],
    )
    return MergedSamples(group, first, samples.weight / total[group], smaller)


def merge_duplicates(problem: KernelProblem) -> MergedRows | None:
    """Merge copies if that saves enough rows; None where it does not, or does not apply.

    It does not apply to kernel matrices, whose rows have no entries to compare, nor to kernels that
    may be indefinite: what makes their problem convex is added row by row.
    """
    if not problem.kernel.positive_semidefinite or problem.shift:
        return None
    X = canonical(problem.X)
    group, first = copies(X, _kinds(problem.label, problem.terms.offset))
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
            floor=_summed(terms.floor, group),
            offset=None if terms.offset is None else terms.offset[first],
        ),
    )
    return MergedRows(group, first, weight / total[group], smaller)


def _kinds(label: Array, target: Array | None) -> Array:
    """Return what copies have in common besides their entries: labels, or numbers of targets."""
    if target is None:
        return label
    return np.asarray(np.unique(target, return_inverse=True)[1], dtype=np.float64)


def _summed(values: Array, group: NDArray[np.int64]) -> Array:
    return np.asarray(np.bincount(group, values), dtype=np.float64)
