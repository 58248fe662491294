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

import numpy as np

from .. import _native
from ..losses import Array
from ..problem import KernelProblem
from .monitor import Monitor
from .outcome import Outcome, Solution

# Rows per working set: 256 to 512 were fastest on 8,000 to 50,000 rows.
WORKING_SET = 384
# The native loop stops a little below `tol`, so that the certificate seldom asks for more.
SAFETY = 0.9


def solve(problem: KernelProblem, start: Array, monitor: Monitor) -> Solution:
    """Solve from ``start``, a net dual inside the loss's domain."""
    net_dual = np.array(start, dtype=np.float64)
    margin = problem.margins(net_dual) if np.any(net_dual) else np.zeros_like(net_dual)
    monitor.latest = net_dual
    target, iterations, best_gap = SAFETY * monitor.tol, 0, np.inf
    while True:
        ended, iterations = _descend(problem, net_dual, margin, target, iterations, monitor)
        margin = problem.margins(net_dual)
        certificate = problem.certificate(net_dual, margin)
        gap = certificate.relative_gap
        if gap <= monitor.tol:
            outcome = Outcome.CONVERGED
        elif ended == "stopped":
            outcome = Outcome.TIME
        elif iterations >= monitor.max_iter:
            outcome = Outcome.ITERATIONS
        elif gap > 0.9 * best_gap:  # a whole unshrunk round won nothing
            outcome = Outcome.STALLED
        else:
            target, best_gap = 0.5 * target, gap
            continue
        return Solution(net_dual, margin, certificate, outcome, iterations)


def _descend(
    problem: KernelProblem,
    net_dual: Array,
    margin: Array,
    target: float,
    done: int,
    monitor: Monitor,
) -> tuple[str, int]:
    """Run the native loop in place; return how it ended and the iterations so far."""
    n = problem.n_rows
    iterations = done

    def report(iteration: int, primal: float, dual: float, active: int, entries: int) -> bool:
        nonlocal iterations
        iterations = done + iteration
        return monitor.record(iterations, primal, dual, active, n, entries / n**2)

    options = _native.DescentOptions(
        relative_gap=target,
        max_iterations=monitor.max_iter - done,
        working_set=WORKING_SET,
        cache_bytes=monitor.memory,
        shrinking=True,
        threads=problem.threads,
        seed=monitor.seed,
    )
    terms = problem.terms
    ended = _native.descend(
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
    return ended, monitor.max_iter if ended == "iterations" else iterations
