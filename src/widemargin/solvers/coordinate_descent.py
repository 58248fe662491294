r"""Dual coordinate descent with cached kernel rows and shrinking, for every loss.

The native loop (``native/coordinate_descent.hpp``) works on the rows that still move, with kernel
rows in the precision of the data. This module starts it, and checks its result without shrinking:
margins of *all* rows are computed anew in float64 and certified. If the certificate is not within
``tol``, the loop goes on from there with every row active again.

Stops when :math:`(P - D) / P \le` ``tol``, certified. A working set of :math:`w` rows costs
:math:`O(w\,M)` kernel values for the rows not in the cache, the same in multiply-adds, and
:math:`O(w^2)` per sweep of its inner problem; memory is that of the cache plus :math:`O(M)`.

References
----------
Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), "A dual coordinate descent method for
large-scale linear SVM"; Zhang and Zhou (2019), "Optimal margin distribution machine"; Joachims
(1999), "Making large-scale SVM learning practical", for working sets and shrinking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import _native
from ..losses import Array
from ..problem import KernelProblem
from .monitor import Monitor
from .outcome import Outcome, Solution

# Rows per working set: 256 to 512 were fastest on 8,000 to 50,000 rows. Problems up to the second
# number are one working set.
WORKING_SET, WHOLE_SET = 384, 1024
# Kernel rows the cache must hold at the least: fewer would undo each other's work.
FEWEST_CACHED_ROWS = 16
# The native loop stops a little below `tol`, so that the certificate seldom asks for more.
SAFETY = 0.9


@dataclass
class _Progress:
    """Working sets and kernel values so far, over all rounds of the native loop."""

    iterations: int = 0
    entries: int = 0


def solve(
    problem: KernelProblem, start: Array, monitor: Monitor, margin: Array | None = None
) -> Solution:
    """Solve from ``start``, a net dual inside the loss's domain, with its ``margin`` if known."""
    check_memory(problem, monitor)
    net_dual = np.array(start, dtype=np.float64)
    if margin is not None:
        margin = np.array(margin, dtype=np.float64)
    else:
        margin = problem.margins(net_dual) if np.any(net_dual) else np.zeros_like(net_dual)
    monitor.latest = net_dual
    progress = _Progress()
    target, best_gap = SAFETY * monitor.tol, np.inf
    while True:
        ended = _descend(problem, net_dual, margin, target, progress, monitor)
        margin = problem.margins(net_dual)
        certificate = problem.certificate(net_dual, margin)
        gap = certificate.relative_gap
        passes = progress.entries / problem.n_rows**2
        monitor.record(
            progress.iterations,
            certificate.primal,
            certificate.dual,
            problem.n_rows,
            problem.n_rows,
            passes,
        )
        if gap <= monitor.tol:
            outcome = Outcome.CONVERGED
        elif ended == "stopped":
            outcome = Outcome.TIME
        elif ended == "iterations":
            progress.iterations = monitor.max_iter
            outcome = Outcome.ITERATIONS
        elif not gap <= 0.9 * best_gap:  # a whole unshrunk round won nothing, or overflow
            outcome = Outcome.STALLED
        else:
            target, best_gap = 0.5 * target, gap
            continue
        return Solution(net_dual, margin, certificate, outcome, progress.iterations)


def check_memory(problem: KernelProblem, monitor: Monitor) -> None:
    """Refuse a memory limit that holds hardly any kernel rows."""
    needed = FEWEST_CACHED_ROWS * problem.n_rows * int(problem.X.dtype.itemsize)
    if monitor.memory < needed:
        raise ValueError(
            f"`memory_limit` must hold at least {FEWEST_CACHED_ROWS} kernel rows, {needed} bytes "
            f"for {problem.n_rows} training rows; got {monitor.memory} bytes."
        )


def _descend(
    problem: KernelProblem,
    net_dual: Array,
    margin: Array,
    target: float,
    progress: _Progress,
    monitor: Monitor,
) -> str:
    """Run the native loop in place; return how it ended."""
    n, before = problem.n_rows, replace(progress)

    def report(iteration: int, primal: float, dual: float, active: int, entries: int) -> bool:
        progress.iterations = before.iterations + iteration
        progress.entries = before.entries + entries
        passes = progress.entries / n**2
        return monitor.record(progress.iterations, primal, dual, active, n, passes)

    options = _native.DescentOptions(
        relative_gap=target,
        max_iterations=monitor.max_iter - before.iterations,
        working_set=n if n <= WHOLE_SET else WORKING_SET,
        cache_bytes=monitor.memory,
        shrinking=True,
        threads=problem.threads,
        seed=monitor.seed,
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
        net_dual,
        margin,
        options,
        report,
    )
