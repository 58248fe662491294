r"""Coordinate descent in the dual, for every loss.

One unknown per row, :math:`w(\gamma)` kept: a visit costs O(stored values of the row). Rows that
lie well inside a flat piece are set aside and looked at again when the others are done. Epochs
estimate the gap on the way; the true one is computed, by a pass over all rows, when the estimate is
near.

Reference: Hsieh et al. (2008); departures in native/linear_dual.hpp.
"""

from __future__ import annotations

import numpy as np

from ..certificates import Certificate
from ..losses import Array
from ..solvers.outcome import Outcome
from .monitor import LinearMonitor
from .problem import LinearProblem
from .solution import LinearSolution


def solve(
    problem: LinearProblem, w: Array, monitor: LinearMonitor, dual: Array | None = None
) -> LinearSolution:
    """Minimise the dual from ``dual`` (zero if None), which is updated; ``w`` is not looked at."""
    net_dual = np.zeros(problem.n_rows) if dual is None else dual
    w = problem.weights_of(net_dual) if np.any(net_dual) else np.zeros(problem.size)
    squares = problem.squared_norms
    order = np.arange(problem.n_rows)
    active, slack = problem.n_rows, np.inf
    certificate = _certificate(problem, w, net_dual)
    outcome = Outcome.CONVERGED
    while certificate.relative_gap > monitor.tol:
        if monitor.record(certificate, problem.evaluations, w):
            outcome = Outcome.TIME
            break
        if monitor.iterations > monitor.max_iter:
            outcome = Outcome.ITERATIONS
            break
        seed = monitor.seed + monitor.iterations
        active, slack, gap = problem.native.dual_epoch(
            squares, slack, seed, order, active, net_dual, w
        )
        problem.evaluations += active
        target = monitor.tol * max(certificate.primal, 1e-300)
        if gap <= target or active == 0:
            w = problem.weights_of(net_dual)  # without the rounding of many small steps
            certificate = _certificate(problem, w, net_dual)
            active, slack = problem.n_rows, np.inf
    monitor.record(certificate, problem.evaluations, w)
    return LinearSolution(w, certificate, outcome, monitor.iterations)


def _certificate(problem: LinearProblem, w: Array, net_dual: Array) -> Certificate:
    primal = problem.evaluate(w).certificate.primal
    return Certificate(primal, -0.5 * float(w @ w) - problem.phi(net_dual))
