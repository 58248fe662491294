r"""Block descent on pairs of rows, for the one-class machine: its duals have a given sum.

A block takes the rows that violate most, those whose duals should rise and those whose duals should
fall. On its kernel matrix, pairs of rows exchange weight (``native/kernel/pair_descent.hpp``), so
that the sum stays; only then are the margins of all rows updated, with kernel values in the
precision of the data. The offset is chosen anew for every block.

Sets of more than one block begin with a sample of their rows, solved in the same way. All weight on
the rows to which the sample's model gives the lowest scores is a start whose gap is a few percent;
from elsewhere, weight would have to find its rows block by block. A set of one block begins with
the lowest sums of kernel values, its matrix being at hand.

Stops when :math:`(P - D) / P \le` ``tol``, certified on margins of all rows that are computed anew
(:mod:`widemargin.kernel.certificates`). A block of :math:`B` rows costs at most :math:`B^2 + B M`
kernel values, a pair :math:`O(B)` multiply-adds, the margins of a start or a certificate
:math:`\nu M^2` kernel values. Two to seven blocks are usual: of 300,000 rows with 19 features,
three at :math:`\nu = 0.1` and a gap of 1e-5.

Departures from LIBSVM, which descends on pairs of all rows: (1) blocks, so that a kernel value
serves thousands of pairs; (2) the start; (3) the duality gap as the stopping rule.

References
----------
Schölkopf, Platt, Shawe-Taylor, Smola and Williamson (2001), "Estimating the support of a
high-dimensional distribution"; Fan, Chen and Lin (2005), "Working set selection using second order
information for training support vector machines".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Outcome, Solution
from ..certificates import certified_margins
from ..duplicates import merge_duplicates
from ..one_class import OneClassProblem
from ..problem import COLUMNS, Duals, KernelProducts, record_iteration
from .binary import made_convex
from .block_matrix import BlockMatrix
from .next_block import NextBlock
from .row_groups import SharedProblem
from .shared_blocks import gap_shares

# Most rows of a block,
BLOCK = 4096
# whose matrix may take this share of the memory. Blocks of fewer rows would undo each other's work.
SHARE_OF_MEMORY = 0.5
FEWEST_BLOCK_ROWS = 32
# A block is descended until its largest violation is this share of what it was,
REDUCTION = 0.1
# or this multiple of ``tol``, relative to the offset,
ENOUGH = 0.1
# or until it has taken this many pairs for each of its rows.
PAIRS_PER_ROW = 20
# The descent stops a little below ``tol``, so that the certificate seldom fails.
SAFETY = 0.9
# Share of the rows in the sample that larger sets begin with, its fewest rows, and its gap.
SAMPLED = 0.125
FEWEST_SAMPLED = 2048
SAMPLE_TOL = 1e-2
# The descent has stalled if, over this many blocks, the dual rises by less than this share of the
# gap.
PATIENCE = 50
LEAST_PROGRESS = 1e-3
# Up to this many rows the violation is brought down to rounding, relative to the offset: problems
# that are the same but for copies or the order of their rows have the same model then.
EXACT_ROWS = 1000
EXACT = 1e-13
# or to the largest margin that there could be, if the offset is nearly zero.
ROUNDING = 1e-15
EXACT_PAIRS_PER_ROW = 1000
# Goes on after a certificate that fails if its gap is at most this share of the last one.
PAYS = 0.9


@dataclass
class _Iterate:
    """Duals and the margins of all rows, changed in place."""

    net_dual: Array
    margin: Array


def solve(
    problem: OneClassProblem,
    budget: Budget,
    history: History,
    start: Array | None = None,
) -> Solution[Duals]:
    """Solve to the budget's tolerance, from ``start`` if one is given.

    Copies of rows are merged if there are many. An indefinite kernel has no convex problem: its
    diagonal is shifted as for classifiers, and there is no certificate.
    """
    merged = merge_duplicates(problem)
    if merged is not None:
        assert isinstance(merged.problem, OneClassProblem)
        begin = None if start is None else merged.merge(start)
        try:
            found = solve(merged.problem, budget, history, begin)
        finally:
            if history.latest is not None:
                history.latest = Duals(merged.spread(history.latest.net_dual))
        margin = None if found.iterate.margin is None else found.iterate.margin[merged.group]
        spread = merged.spread(found.iterate.net_dual)
        return replace(found, iterate=replace(found.iterate, net_dual=spread, margin=margin))
    if problem.n_rows <= EXACT_ROWS and problem.X.dtype == np.float32:
        problem = replace(problem, X=problem.X.astype(np.float64))
    problem, lowest = made_convex(problem, budget.memory)
    solution = _solve(problem, budget, history, start)
    net_dual, margin = solution.iterate.net_dual, solution.iterate.margin
    assert margin is not None
    margin = margin - problem.shift * net_dual  # scores of the kernel as given
    certificate = Certificate(np.nan, np.nan) if lowest < 0 else solution.certificate
    iterate = Duals(net_dual, margin, lowest)
    return replace(solution, iterate=iterate, certificate=certificate, solver="pairs")


def _solve(
    problem: OneClassProblem, budget: Budget, history: History, start: Array | None
) -> Solution[Duals]:
    blocks = PairBlocks(problem, budget, history)
    at = blocks.begin(start)
    target, best = SAFETY * budget.tol, np.inf
    single = problem.X.dtype == np.float32 and problem.kernel.name != "precomputed"
    while True:
        ended = blocks.descend(at, target)
        at.net_dual[:] = problem.feasible(at.net_dual)
        at.margin[:], certificate = certified_margins(problem, at.net_dual, budget.tol)
        blocks.record(certificate.primal, certificate.dual)
        gap = certificate.relative_gap
        if gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif ended in (Outcome.TIME, Outcome.ITERATIONS):
            outcome = ended
        elif gap <= PAYS * best:
            target, best = 0.5 * target, gap
            continue
        elif single and np.isfinite(gap):  # what is left to gain is below the rounding of float32
            problem, single = replace(problem, X=problem.X.astype(np.float64)), False
            blocks = blocks.continued(problem)
            continue
        else:
            outcome = Outcome.STALLED
        return Solution(Duals(at.net_dual, at.margin), certificate, outcome, blocks.taken)


class PairBlocks:
    """Descends block after block.

    Parameters
    ----------
    problem : OneClassProblem
        The problem, convex.
    budget : Budget
        Its limits.
    history : History
        Records every block.

    Attributes
    ----------
    taken : int
        Blocks so far.
    """

    def __init__(self, problem: OneClassProblem, budget: Budget, history: History) -> None:
        self.problem, self.budget, self.history = problem, budget, history
        self.products, self.taken, self._entries_before = KernelProducts(problem), 0, 0
        n, item = problem.n_rows, int(problem.X.dtype.itemsize)
        fitting = isqrt(int(SHARE_OF_MEMORY * budget.memory) // item)
        if fitting < min(n, FEWEST_BLOCK_ROWS):
            needed = int(item * min(n, FEWEST_BLOCK_ROWS) ** 2 / SHARE_OF_MEMORY)
            raise ValueError(
                f"`memory_limit` must be at least {needed} bytes for {n} training rows; got "
                f"{budget.memory} bytes."
            )
        largest = min(BLOCK, fitting, n)
        self.exact = n <= min(EXACT_ROWS, largest)
        self.diagonal = problem.diagonal
        self.next_block = NextBlock(self.diagonal, largest, budget.seed)
        self.block = np.zeros(0, dtype=np.int64)
        self._given = problem.kernel.name == "precomputed"
        self._matrix = None if self._given else _block_matrix(problem, largest)

    def continued(self, problem: OneClassProblem) -> PairBlocks:
        """Return the descent on the same rows in another precision."""
        other = PairBlocks(problem, self.budget, self.history)
        other.taken, other._entries_before = self.taken, self.entries
        return other

    @property
    def entries(self) -> int:
        """Kernel values evaluated so far."""
        of_blocks = 0 if self._matrix is None else self._matrix.entries
        return self._entries_before + self.products.entries + of_blocks

    def begin(self, start: Array | None) -> _Iterate:
        """Return feasible duals to begin with, and their margins."""
        problem = self.problem
        if start is not None:
            net_dual = problem.feasible(start)
        elif problem.n_rows <= self.next_block.largest:
            self._hold(np.arange(problem.n_rows))
            net_dual = problem.outlying(self._values @ problem.weights)
            return _Iterate(net_dual, np.asarray(self._values @ net_dual, dtype=np.float64))
        else:
            net_dual = problem.outlying(self._scores_of_sample())
        self.history.latest = Duals(net_dual)
        support = np.flatnonzero(net_dual)
        return _Iterate(net_dual, self.products.all_rows(support, net_dual[support]))

    def _scores_of_sample(self) -> Array:
        """Solve a sample of the rows; return the scores that it gives to all of them."""
        n = self.problem.n_rows
        count = min(max(FEWEST_SAMPLED, int(SAMPLED * n)), n // 2)
        drawn = np.random.default_rng([self.budget.seed, n]).choice(n, count, replace=False)
        rows = np.sort(drawn)
        budget = replace(self.budget, tol=max(SAMPLE_TOL, self.budget.tol))
        inner = PairBlocks(self.problem.only(rows), budget, History(COLUMNS))
        at = inner.begin(None)
        inner.descend(at, budget.tol)
        self._entries_before += inner.entries
        support = np.flatnonzero(at.net_dual)
        return self.products.all_rows(rows[support], at.net_dual[support])

    def descend(self, at: _Iterate, target: float) -> Outcome:
        """Descend to a relative gap of ``target``, in place; say why that ended."""
        looked_at = -np.inf
        while True:
            offset = self.problem.offset(at.margin)
            shares, primal = gap_shares(self.problem.terms_at(offset), at.net_dual, at.margin)
            gap = float(shares.sum())
            self.history.latest = Duals(at.net_dual)
            self.record(primal, primal - gap)
            if gap <= (0.0 if self.exact else max(target * primal, self.problem.negligible_gap)):
                return Outcome.CONVERGED
            if self.budget.out_of_time:
                return Outcome.TIME
            if self.taken >= self.budget.max_iter:
                return Outcome.ITERATIONS
            if self.taken % PATIENCE == 0:
                if primal - gap - looked_at <= LEAST_PROGRESS * gap:
                    return Outcome.STALLED
                looked_at = primal - gap
            if not self._descend_block(at, offset):
                return Outcome.STALLED

    def _descend_block(self, at: _Iterate, offset: float) -> bool:
        """Descend one block and update the margins of all rows; false if nothing moved."""
        problem = self.problem
        posed = SharedProblem(problem.label, problem.terms_at(offset))
        rows = self.next_block.choose(
            self.block, [posed], [at.net_dual], [at.margin], np.zeros(1, dtype=np.int64)
        )
        # Rows are chosen by their distance from the offset; the worst pair may lie on one side.
        worst = worst_pair(at.net_dual, at.margin, problem.weights)
        rows = np.concatenate([worst, rows[~np.isin(rows, worst)]])
        self._hold(rows[: self.next_block.largest])
        block = self.block
        net_dual, margin, upper = at.net_dual[block], at.margin[block], problem.weights[block]
        largest = largest_violation(net_dual, margin, upper)
        enough = ENOUGH * self.budget.tol * abs(offset)
        violation = max(REDUCTION * largest, min(enough, 0.5 * largest))
        steps = PAIRS_PER_ROW * len(block)
        if self.exact:
            violation = max(EXACT * abs(offset), ROUNDING * problem.largest_margin)
            steps = EXACT_PAIRS_PER_ROW * len(block)
        _native.descend_pairs(
            self._values,
            self.diagonal[block],
            upper,
            net_dual,
            margin,
            violation=violation,
            steps=steps,
        )
        change = net_dual - at.net_dual[block]
        moved = np.flatnonzero(change)
        if not len(moved):
            return False
        if len(block) < problem.n_rows:
            at.margin += self.products.all_rows(block[moved], change[moved])
        at.net_dual[block], at.margin[block] = net_dual, margin
        self.taken += 1
        return True

    def _hold(self, rows: NDArray[np.int64]) -> None:
        """Make these rows the block, with its matrix."""
        problem = self.problem
        if self._matrix is None:
            self.block = rows
            self._values: NDArray[Any] = problem.X[np.ix_(rows, rows)] + problem.X.dtype.type(
                problem.kernel.constant
            )
        else:
            self._matrix.hold(rows)
            self.block, self._values = self._matrix.block, self._matrix.values
        # The diagonal as it is, and not as the kernel's tile rounds it.
        np.fill_diagonal(self._values, self.diagonal[self.block])

    def record(self, primal: float, dual: float) -> None:
        """Record the state of the descent."""
        passes = self.entries / self.problem.n_rows**2
        record_iteration(self.history, self.problem, self.taken, primal, dual, passes=passes)


def _block_matrix(problem: OneClassProblem, largest: int) -> BlockMatrix:
    return BlockMatrix(problem.rows, problem.kernel, problem.X.dtype, largest, problem.threads)


def worst_pair(net_dual: Array, margin: Array, upper: Array) -> NDArray[np.int64]:
    """Return the row of the lowest margin that may rise and that of the highest that may fall."""
    rise = int(np.argmin(np.where(net_dual < upper, margin, np.inf)))
    fall = int(np.argmax(np.where(net_dual > 0, margin, -np.inf)))
    return np.unique([rise, fall])


def largest_violation(net_dual: Array, margin: Array, upper: Array) -> float:
    """Return the highest margin that may fall minus the lowest that may rise, if it is positive."""
    rise, fall = margin[net_dual < upper], margin[net_dual > 0]
    if not len(rise) or not len(fall):
        return 0.0
    return max(0.0, float(fall.max() - rise.min()))
