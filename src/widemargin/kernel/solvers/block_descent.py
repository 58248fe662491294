r"""Dual block descent: working sets within working sets, for every loss.

The native loop (``native/block_descent.hpp``) takes a block of the most violating rows, solves it
by coordinate descent on working sets of its rows, and only then updates the margins of all rows
that still move, with kernel values in the precision of the data. This module starts it, and checks
its result without shrinking: margins of *all* rows are recomputed and certified, in float64 where
float32 does not prove enough (:mod:`widemargin.kernel.certificates`). If the certificate is not
within ``tol``, the loop goes on from there with every row active again.

Stops when :math:`(P - D) / P \le` ``tol``, certified. A block of :math:`B` rows costs at most
:math:`B^2 + B\,M` kernel values, a working set of :math:`w` of them :math:`O(w\,B)` multiply-adds
and :math:`O(w)` per step of its inner problem. Memory is :math:`O(M)` plus the block's matrix, and
kernel rows up to the limit where evaluating them costs more than keeping them.

Why blocks: updating all rows after every working set took most of the time, and is bound by
memory. On two cores, hinge and then ODM at :math:`C = 32`, gap 1e-3, blocks against working sets
alone: ijcnn1 0.9 against 2.8 s and 7.0 against 21 s, cod-rna 1.4 against 4.6 s and 6.8 against
29 s.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), "A dual coordinate descent method for
large-scale linear SVM"; Zhang and Zhou (2019), "Optimal margin distribution machine"; Joachims
(1999), "Making large-scale SVM learning practical", for working sets and shrinking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Outcome, Solution
from ..certificates import certified_margins
from ..problem import COLUMNS, Duals, KernelProblem, record_iteration

# Rows per block; the fastest on 20,000 to 50,000 rows.
BLOCK = 4096
# Rows per working set; 256 to 512 were fastest on the same problems.
WORKING_SET = 384
# Of a regression. On friedman1 (20,000 rows) and casp (36,000), all losses took .74 to 1.04 of the
# time of sets twice as large, the ε-insensitive one with C = 10 the least.
WORKING_SET_OF_TARGETS = 192
# Problems with at most this many rows are one working set.
WHOLE_SET = 256
# Rows per working set of problems that fit into one block: on parts of 700 to 2,100 rows of ijcnn1,
# cod-rna and skin_nonskin, 0.5 to 1 times the time of sets twice as large.
WORKING_SET_OF_FEW_ROWS = 160
# Rows per block of such problems with the hinge. Few rows then have a dual, and one block of all
# rows would compute kernel values that are never used: 0.1 to 0.9 times its time.
HINGE_BLOCK_OF_FEW_ROWS = 256
# Rows per block where whole kernel rows are kept; each is costly, so only the worst rows are taken.
BLOCK_OF_KEPT_ROWS = 1024
# Blocks of fewer rows would undo each other's work.
FEWEST_BLOCK_ROWS = 32
# From this many stored values per row, reading a kernel value is cheaper than computing it.
EXPENSIVE_ROW = 64
# A cache is used if it can hold this many kernel rows.
FEWEST_CACHED_ROWS = 1024
# Where kernel rows must be kept, the cache holds at least this many.
FEWEST_COPIED_ROWS = 16
# The native loop stops a little below `tol`, so that the certificate seldom fails.
SAFETY = 0.9
# A round is followed by another if the dual rose by this share of the gap that is left.
LEAST_RISE = 1e-2


# Asked after every block, with working sets so far, rows of each, kernel values and relative gap:
# whether to give up.
TooSlow = Callable[[int, int, int, float], bool]


@dataclass(frozen=True)
class Sizes:
    """Rows of a block and of a working set, and bytes for kernel rows that are kept."""

    block: int
    working_set: int
    cache_bytes: int


@dataclass
class Work:
    """Working sets and kernel values so far, over all rounds of the native loop."""

    iterations: int = 0
    entries: int = 0
    given_up: bool = False


def solve(
    problem: KernelProblem,
    start: Duals,
    budget: Budget,
    history: History,
    spent: Work | None = None,
    too_slow: TooSlow | None = None,
) -> Solution[Duals]:
    """Solve from ``start``, whose net dual lies inside the loss's domain.

    ``spent`` is what finding the start took. ``too_slow`` may end the
    descent early; the outcome is then that the iterations (it was worth) are used up.
    """
    sizes = sizes_for(problem, budget.memory)
    return _solve(problem, start, budget, history, sizes, spent or Work(), too_slow)


def solve_without_blocks(
    problem: KernelProblem, start: Duals, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve by working sets of all rows, with their kernel rows kept."""
    sizes = sizes_for(problem, budget.memory, keep_rows=True)
    sizes = replace(sizes, block=sizes.working_set)
    return _solve(problem, start, budget, history, sizes, Work())


def descend_some(
    problem: KernelProblem,
    rows: NDArray[np.int64],
    at: Duals,
    target: float,
    budget: Budget,
) -> tuple[Array, Work]:
    """Descend some of the rows while the others stay, to a relative gap of ``target`` among them.

    ``at`` has margins, to which all rows contribute. Returns the duals of the rows, and what
    finding them took.
    """
    assert at.margin is not None
    alone = replace(problem.only(rows), threads=budget.threads)
    net_dual, margin = at.net_dual[rows], at.margin[rows]
    progress, sizes = Work(), sizes_for(alone, budget.memory)
    history = History(COLUMNS)
    descend(alone, net_dual, margin, target, progress, budget, history, sizes, None)
    return net_dual, progress


def _solve(
    problem: KernelProblem,
    start: Duals,
    budget: Budget,
    history: History,
    sizes: Sizes,
    progress: Work,
    too_slow: TooSlow | None = None,
) -> Solution[Duals]:
    net_dual = np.array(start.net_dual, dtype=np.float64)
    if start.margin is not None:
        margin = np.array(start.margin, dtype=np.float64)
    else:
        margin = problem.margins(net_dual) if np.any(net_dual) else np.zeros_like(net_dual)
    history.latest = Duals(net_dual)  # the native loop updates it in place
    target, best = SAFETY * budget.tol, None
    single = problem.X.dtype == np.float32 and problem.kernel.name != "precomputed"
    while True:
        ended = descend(
            problem, net_dual, margin, target, progress, budget, history, sizes, too_slow
        )
        margin, certificate = certified_margins(problem, net_dual, budget.tol)
        gap = certificate.relative_gap
        passes = progress.entries / problem.n_rows**2
        primal, dual = certificate.primal, certificate.dual
        record_iteration(history, problem, progress.iterations, primal, dual, passes=passes)
        if gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif progress.given_up:
            outcome = Outcome.ITERATIONS
        elif ended == "stopped":
            outcome = Outcome.TIME
        elif ended == "iterations":
            progress.iterations = budget.max_iter
            outcome = Outcome.ITERATIONS
        elif _better(certificate, best):
            target, best = 0.5 * target, certificate
            continue
        elif single and np.isfinite(gap):  # what is left to gain is below the rounding of float32
            problem, single = replace(problem, X=problem.X.astype(np.float64)), False
            sizes = replace(sizes, block=min(sizes.block, _largest_block(budget.memory, 8)))
            continue
        else:
            outcome = Outcome.STALLED
        return Solution(Duals(net_dual, margin), certificate, outcome, progress.iterations)


def _better(certificate: Certificate, best: Certificate | None) -> bool:
    """Return whether a round without shrinking was worth its while: another one may be, too."""
    if best is None:
        return not np.isnan(certificate.relative_gap)
    risen = certificate.dual - best.dual
    return (
        certificate.relative_gap <= 0.9 * best.relative_gap or risen > LEAST_RISE * certificate.gap
    )


def least_memory(rows: int, item: int, keep_rows: bool) -> int:
    """Return the bytes below which a problem is refused.

    A block may take a quarter of the memory; kernel rows, where they are kept, the rest.
    """
    for_block = 4 * item * min(rows, FEWEST_BLOCK_ROWS) ** 2
    for_rows = item * rows * min(rows, FEWEST_COPIED_ROWS) * 4 // 3 + 1 if keep_rows else 0
    return max(for_block, for_rows)


def sizes_for(problem: KernelProblem, memory: int, keep_rows: bool = False) -> Sizes:
    """Fit blocks and kept kernel rows into ``memory``."""
    n, item = problem.n_rows, int(problem.X.dtype.itemsize)
    keep_rows = keep_rows or problem.kernel.name == "precomputed"
    needed = least_memory(n, item, keep_rows)
    if memory < needed:
        raise ValueError(
            f"`memory_limit` must be at least {needed} bytes for {n} training rows; got {memory} "
            "bytes."
        )
    largest = _largest_block(memory, item)
    block = min(BLOCK_OF_KEPT_ROWS, largest, n)
    for_rows = memory - item * block**2
    worth_it = stored_per_row(problem.X) >= EXPENSIVE_ROW
    if keep_rows or (worth_it and for_rows >= item * n * min(n, FEWEST_CACHED_ROWS)):
        return Sizes(block, _working_set(problem, block), for_rows)
    few = n <= BLOCK and not problem.terms.smooth
    block = min(HINGE_BLOCK_OF_FEW_ROWS if few else BLOCK, largest, n)
    return Sizes(block, _working_set(problem, block), 0)


def _largest_block(memory: int, item: int) -> int:
    """Return the rows of a block that may take a quarter of the memory."""
    return isqrt(memory // (4 * item))


def _working_set(problem: KernelProblem, block: int) -> int:
    if problem.n_rows <= WHOLE_SET:
        return block
    if problem.n_rows <= BLOCK:
        return min(WORKING_SET_OF_FEW_ROWS, block)
    targets = problem.terms.offset is not None
    return min(WORKING_SET_OF_TARGETS if targets else WORKING_SET, block)


def stored_per_row(X: Any) -> float:
    """Count the values that a kernel evaluation reads of a row, on average."""
    return float(X.nnz / X.shape[0] if scipy.sparse.issparse(X) else X.shape[1])


def descend(
    problem: KernelProblem,
    net_dual: Array,
    margin: Array,
    target: float,
    progress: Work,
    budget: Budget,
    history: History,
    sizes: Sizes,
    too_slow: TooSlow | None,
    *,
    shrinking: bool = True,
) -> str:
    """Run the native loop in place; return how it ended.

    With ``shrinking``, margins of rows that were set aside on the way are not those of the result.
    """
    n, before = problem.n_rows, replace(progress)

    def report(iteration: int, primal: float, dual: float, active: int, entries: int) -> bool:
        progress.iterations = before.iterations + iteration
        progress.entries = before.entries + entries
        passes = progress.entries / n**2
        iteration = progress.iterations
        record_iteration(history, problem, iteration, primal, dual, active=active, passes=passes)
        if too_slow is not None:
            gap = Certificate(primal, dual).relative_gap
            slow = too_slow(iteration, sizes.working_set, progress.entries, gap)
            progress.given_up = slow and gap > target
        return progress.given_up or budget.out_of_time

    options = _native.DescentOptions(
        relative_gap=target,
        max_iterations=budget.max_iter - before.iterations,
        block=sizes.block,
        working_set=sizes.working_set,
        cache_bytes=sizes.cache_bytes,
        shrinking=shrinking,
        threads=problem.threads,
        seed=budget.seed,
    )
    terms = problem.terms
    return _native.descend(
        problem.rows,
        problem.kernel.spec,
        problem.label,
        problem.diagonal,
        terms.lower_margin,
        terms.upper_margin,
        terms.below,
        terms.above,
        terms.bound,
        terms.floor,
        net_dual,
        margin,
        options,
        report,
        problem.near if sizes.cache_bytes == 0 else None,
        terms.offset,
    )
