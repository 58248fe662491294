r"""Dual block descent on several problems that share their rows and their kernel.

The folds of a cross-validation differ in which rows they leave out, and in little else: their
violating rows are mostly the same. So they share blocks. A block takes the rows that violate most
in any of the problems; its kernel matrix is computed once, every problem is solved on it alone, in
parallel, and one kernel product updates the margins of all rows in all problems. Kernel values are
what they share; the arithmetic of the descent is each problem's own.

A problem that leaves a row out gives it no weight (:func:`leave_out`): its dual stays zero and it
adds nothing to either objective, but its margin is kept up to date like any other. That margin is
the decision on a row that was not trained on, which is what a cross-validation needs.

Stops when :math:`(P - D) / P \le` ``tol`` for every problem, certified from margins recomputed
in float64, as :mod:`.block_descent` does. A block of :math:`B` rows costs
:math:`B^2 + B M` kernel values for all problems together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.losses import LossTerms
from ...core.outcome import Certificate, certify
from ...core.resources import single_threaded_blas
from ...core.rows import as_rows
from ..kernels import Kernel

# Rows of a block.
BLOCK = 4096
# Rows of a working set within a block.
WORKING_SET = 384
# Blocks of fewer rows would undo each other's work.
FEWEST_BLOCK_ROWS = 256
# A block's matrix may take the memory divided by this.
SHARE_OF_MEMORY = 4
# A problem is solved on a block until its gap there has fallen to this fraction,
REDUCTION = 0.1
# or far enough to leave this fraction of the target gap,
ENOUGH = 0.3
# or for this many working sets.
SETS_PER_BLOCK = 400
# Share of a block's rows that stay in the next block, which damps oscillation between blocks.
KEPT = 0.5
# A problem has stalled if, over this many blocks,
PATIENCE = 50
# its dual rises by less than this multiple of its gap.
LEAST_PROGRESS = 1e-3
# Curvature of a row that is left out, so large that the row's step is zero in any precision.
LEFT_OUT = 1e300
# The descent stops a little below `tol`, so that the certificate seldom fails.
SAFETY = 0.9
# Rows by columns of a piece of the kernel matrix that stays in the processor's cache.
PIECE = (512, 1024)


def leave_out(terms: LossTerms, rows: NDArray[np.bool_]) -> LossTerms:
    """Give some rows no weight."""

    def stiff(curvature: Array) -> Array:
        return np.where(rows & (curvature > 0), LEFT_OUT, curvature)

    bound = np.where(rows & np.isfinite(terms.bound), 0.0, terms.bound)
    return replace(terms, below=stiff(terms.below), above=stiff(terms.above), bound=bound)


def rows_of_block(memory: int, itemsize: int) -> int:
    """Return how many rows a block may have."""
    return min(BLOCK, isqrt(memory // (SHARE_OF_MEMORY * itemsize)))


class SharedBlocks:
    """Solves problems on the same rows together.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows.
    kernel : Kernel
        A positive semi-definite one.
    label : array of shape (n_rows,)
        +1.0 or −1.0.
    threads : int
        Threads; results do not depend on it.
    memory : int
        Bytes for kernel matrices of blocks.
    seed : int
        Breaks ties between rows that violate alike.
    """

    def __init__(
        self, X: Any, kernel: Kernel, label: Array, threads: int, memory: int, seed: int
    ) -> None:
        self.X, self.kernel, self.label, self.threads = X, kernel, label, threads
        self.rows = as_rows(X)
        self.diagonal = kernel.diagonal(self.rows)
        self.block = min(rows_of_block(memory, X.dtype.itemsize), len(label))
        random = np.random.default_rng(seed)
        self.jitter = 1.0 + 1e-6 * random.random(len(label))
        self.seed = seed
        # The matrix of the last block, in memory that is taken once: new pages cost more than the
        # kernel values that are written to them.
        self._values = np.empty(self.block**2, dtype=X.dtype)
        self._held = np.zeros(0, dtype=np.int64)

    def solve(
        self,
        terms: list[LossTerms],
        net_dual: Array,
        margin: Array,
        target: Array,
        *,
        max_sets: int,
        stop: Callable[[float], bool],
    ) -> NDArray[np.int64]:
        """Improve the net duals of all problems in place, until their gaps are at their targets.

        Parameters
        ----------
        terms : list of LossTerms
            One per problem.
        net_dual, margin : array of shape (n_problems, n_rows)
            The start, and Q ``net_dual``; both are kept up to date.
        target : array of shape (n_problems,)
            Relative gap of each problem.
        max_sets : int
            Working sets allowed to each problem.
        stop : callable
            Called with the largest gap after every block; true means stop.

        Returns
        -------
        array of int of shape (n_problems,)
            Working sets taken.
        """
        n_problems = len(terms)
        sets = np.zeros(n_problems, dtype=np.int64)
        stalled = np.zeros(n_problems, dtype=np.bool_)
        looked_at = np.full(n_problems, -np.inf)  # duals, PATIENCE blocks ago
        block = np.zeros(0, dtype=np.int64)
        number = 0
        while True:
            shares = [gap_shares(*state) for state in zip(terms, net_dual, margin, strict=True)]
            primal = np.array([objective for _, objective in shares])
            gap = np.array([float(share.sum()) for share, _ in shares])
            relative = gap / np.maximum(primal, 1e-300)
            if number % PATIENCE == 0:
                stalled |= primal - gap - looked_at <= LEAST_PROGRESS * gap
                looked_at = primal - gap
            open_ = (relative > target) & (sets < max_sets) & ~stalled
            if not open_.any() or stop(float(relative[open_].max())):
                return sets
            problems = np.flatnonzero(open_)
            block = self._choose(block, terms, net_dual, margin, problems)
            taken = self._solve_block(
                np.sort(block),
                terms,
                net_dual,
                margin,
                problems,
                [share for share, _ in shares],
                np.maximum(REDUCTION, ENOUGH * target / np.maximum(relative, 1e-300)),
                max_sets - sets,
            )
            if not taken.any():  # rounding leaves nothing to gain
                return sets
            sets += taken
            number += 1

    def _choose(
        self,
        last: NDArray[np.int64],
        terms: list[LossTerms],
        net_dual: Array,
        margin: Array,
        problems: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Keep half of the last block and fill it with the rows that violate most anywhere.

        Every problem ranks the rows that push its decision up and those that push it down; a row
        counts by its best rank.
        """
        n = len(self.label)
        if self.block >= n:
            return np.arange(n)
        kept = last[len(last) - min(len(last), int(KEPT * self.block)) :]
        room = self.block - len(kept)
        rank = np.full(n, n)
        for p in problems:
            wanted = terms[p].coordinate_minimiser(
                margin[p] - self.diagonal * net_dual[p], self.diagonal
            )
            step = wanted - net_dual[p]
            curvature = self.diagonal + np.where(wanted < 0, terms[p].above, terms[p].below)
            # A row of zeros has no curvature, and yet a dual to find.
            violation = step * step * np.maximum(curvature, 1e-12) * self.jitter
            violation[kept] = 0.0
            for upward in (True, False):
                side = np.flatnonzero((violation > 0) & ((step * self.label > 0) == upward))
                ranked = most_violating(violation, side, room)
                rank[ranked] = np.minimum(rank[ranked], np.arange(len(ranked)))
        chosen = np.flatnonzero(rank < n)
        if len(chosen) > room:
            chosen = chosen[np.argsort(rank[chosen], kind="stable")[:room]]
        return np.concatenate([kept, chosen])

    def _solve_block(
        self,
        block: NDArray[np.int64],
        terms: list[LossTerms],
        net_dual: Array,
        margin: Array,
        problems: NDArray[np.int64],
        shares: list[Array],
        fraction: Array,
        allowed_sets: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Solve every problem on one block, then bring all margins up to date."""
        whole = len(block) == len(self.label)
        matrix = self._kernel_matrix(block)
        label, diagonal = self.label[block], self.diagonal[block]
        change = np.zeros((len(terms), len(block)))
        taken = np.zeros(len(terms), dtype=np.int64)
        threads = max(1, self.threads // len(problems))

        def solve(p: int) -> None:
            here = terms[p].at(block)
            dual, at = net_dual[p, block], margin[p, block]
            taken[p] = _native.solve_block(
                matrix,
                label,
                diagonal,
                here.lower_margin,
                here.upper_margin,
                here.below,
                here.above,
                here.bound,
                dual,
                at,
                gap=float(fraction[p] * shares[p][block].sum()),
                sets=min(SETS_PER_BLOCK, int(allowed_sets[p])),
                working_set=WORKING_SET,
                threads=threads,
                seed=self.seed,
            )
            change[p] = dual - net_dual[p, block]
            net_dual[p, block] = dual
            if whole:
                margin[p] = at

        in_parallel(solve, problems, self.threads)
        if whole:
            return taken
        moved = np.flatnonzero(change.any(axis=0))
        coef = change[np.ix_(problems, moved)] * self.label[block[moved]]
        sums = self.kernel.product(self.rows, self.rows, coef, block[moved], self.threads)
        margin[problems] += sums * self.label
        return taken

    def _kernel_matrix(self, block: NDArray[np.int64]) -> NDArray[Any]:
        size = len(block)
        matrix = self._values[: size * size].reshape(size, size)
        if np.array_equal(block, self._held):
            return matrix

        def fill(first: int) -> None:
            rows = slice(first, first + PIECE[0] // 2)
            matrix[rows] = self.kernel.block(self.rows, self.rows, block[rows], block)

        in_parallel(fill, range(0, size, PIECE[0] // 2), self.threads)
        self._held = block
        return matrix

    def exact_margins(self, net_dual: Array) -> Array:
        """Compute Q ``net_dual`` in float64 for several net duals, kernel values shared."""
        n = len(self.label)
        support = np.flatnonzero(net_dual.any(axis=0))
        coef = np.ascontiguousarray((net_dual[:, support] * self.label[support]).T)
        exact = self.rows if self.X.dtype == np.float64 else as_rows(self.X, np.float64)
        margin = np.zeros(net_dual.shape)
        height, width = PIECE

        def fill(first: int) -> None:
            rows = np.arange(first, min(first + height, n))
            sums = np.zeros((len(rows), len(net_dual)))
            for k in range(0, len(support), width):
                values = self.kernel.block(exact, exact, rows, support[k : k + width])
                sums += values @ coef[k : k + width]
            margin[:, rows] = sums.T * self.label[rows]

        with single_threaded_blas():
            in_parallel(fill, range(0, n, height), self.threads)
        return margin


def certified(
    shared: SharedBlocks,
    terms: list[LossTerms],
    net_dual: Array,
    margin: Array,
    tol: float,
    *,
    max_sets: int,
    stop: Callable[[float], bool],
) -> list[Certificate]:
    """Certify solutions from exact margins, and go on with those that are not within ``tol``.

    ``net_dual`` and ``margin`` are improved in place; the margins returned in it are exact.
    """
    target = np.full(len(terms), SAFETY * tol)
    best = np.full(len(terms), np.inf)
    while True:
        margin[:] = shared.exact_margins(net_dual)
        states = zip(terms, net_dual, margin, strict=True)
        certificates = [certify(*state) for state in states]
        gap = np.array([each.relative_gap for each in certificates])
        again = (gap > tol) & (gap <= 0.9 * best)
        if not again.any() or stop(float(gap.max())):
            return certificates
        best, chosen = gap, np.flatnonzero(again)
        target[chosen] *= 0.5
        duals, margins = net_dual[chosen], margin[chosen]
        some = [terms[p] for p in chosen]
        shared.solve(some, duals, margins, target[chosen], max_sets=max_sets, stop=stop)
        net_dual[chosen] = duals


def gap_shares(terms: LossTerms, net_dual: Array, margin: Array) -> tuple[Array, float]:
    """Return what each row adds to the duality gap, and the primal objective."""
    losses, along = terms.primal(margin), net_dual * margin
    return along + losses + terms.phi(net_dual), 0.5 * float(along.sum()) + float(losses.sum())


def most_violating(violation: Array, rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the rows that violate most, the worst first."""
    if len(rows) > count:
        rows = rows[np.argpartition(-violation[rows], count - 1)[:count]]
    return rows[np.argsort(-violation[rows], kind="stable")]


def in_parallel(work: Callable[[int], None], items: Iterable[int], threads: int) -> None:
    """Do work on every item, in the calling thread if there is one thread or one item."""
    items = [int(item) for item in items]
    if threads == 1 or len(items) == 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, items))
