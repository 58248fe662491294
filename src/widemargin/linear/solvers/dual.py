r"""Coordinate descent in the dual, for every loss.

One unknown per row, :math:`w(\gamma)` kept: a visit costs O(stored values of the row). Rows that
lie well inside a flat piece are set aside and looked at again when the others are done. Epochs
estimate the gap on the way; the true one is computed, by a pass over all rows, when the estimate is
near.

Reference: Hsieh et al. (2008); departures in native/linear_dual.hpp.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.certificates import Certificate
from ...core.outcome import Outcome
from ..monitor import LinearMonitor
from ..problem import LinearProblem
from ..solution import LinearSolution


def solve(
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    dual: Array | None = None,
    most_evaluations: float = np.inf,
) -> LinearSolution:
    """Minimise the dual from ``dual`` (zero if None), which is updated; ``w`` is not looked at.

    After ``most_evaluations`` gradients of single rows it gives up, as after ``max_iter`` epochs.
    """
    net_dual = np.zeros(problem.n_rows) if dual is None else dual
    w = problem.weights_of(net_dual) if np.any(net_dual) else np.zeros(problem.size)
    squares = problem.squared_norms
    order = np.arange(problem.n_rows)
    active, slack, epochs = problem.n_rows, np.inf, 0
    certificate, next_check = _certificate(problem, w, net_dual), 2.0 * problem.n_rows
    outcome = Outcome.CONVERGED if certificate.relative_gap <= monitor.tol else None
    monitor.record(certificate, problem.evaluations, w)
    while outcome is None:
        epochs += 1
        problem.evaluations += active
        active, slack, gap = problem.native.dual_epoch(
            squares, slack, monitor.seed + epochs, order, active, net_dual, w
        )
        tired = epochs >= monitor.max_iter or problem.evaluations >= most_evaluations
        near = gap <= monitor.tol * certificate.primal or active == 0
        late = monitor.out_of_time
        if not (near or tired or late or problem.evaluations >= next_check):
            continue
        next_check = 2 * problem.evaluations
        w = problem.weights_of(net_dual)  # without the rounding of many small steps
        certificate = _certificate(problem, w, net_dual)
        monitor.record(certificate, problem.evaluations, w, epochs + 1 - monitor.iterations)
        if near:  # rows that were set aside are looked at again
            active, slack = problem.n_rows, np.inf
        if certificate.relative_gap <= monitor.tol:
            outcome = Outcome.CONVERGED
        elif tired or late:
            outcome = Outcome.ITERATIONS if tired else Outcome.TIME
    return LinearSolution(w, certificate, outcome, epochs)


def _certificate(problem: LinearProblem, w: Array, net_dual: Array) -> Certificate:
    primal = problem.evaluate(w).certificate.primal
    return Certificate(primal, -0.5 * float(w @ w) - problem.phi(net_dual))
