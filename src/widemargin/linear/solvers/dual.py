r"""Coordinate descent in the dual, for every loss.

One unknown per row, :math:`w(\gamma)` kept: a visit costs O(stored values of the row). Rows that
lie well inside a flat piece are set aside and looked at again when the others are done. Epochs
estimate the gap on the way; the true one is computed, by a pass over all rows, when the estimate is
near.

For more weights than a Hessian is kept for, ``solve_then_newton`` lets Newton's method take over
where descent is slow. Small ``C``: descent is done in twenty epochs, an order of magnitude sooner
than conjugate gradients. Large ``C`` on many rows: descent takes hundreds, and Newton's few steps,
from where descent has come to, are sooner; not where there are more weights than rows, as in text
(20 Newsgroups, C = 100: 400 epochs take a fifth of Newton's time).

Reference: Hsieh et al. (2008); departures in native/linear/dual.hpp.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.outcome import Certificate, Outcome, Solution
from ..history import LinearHistory
from ..problem import LinearProblem
from . import newton

# 200,000 x 50,000 sparse rows, ODM, C = 100: Newton takes as long as so many epochs from scratch.
EPOCHS_BEFORE_NEWTON = 60


def solve(
    problem: LinearProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
    most_evaluations: float = np.inf,
) -> Solution[Array]:
    """Minimise the dual from ``dual`` (zero if None), which is updated; ``w`` is ignored.

    After ``most_evaluations`` gradients of single rows it gives up, as after ``max_iter`` epochs.
    """
    net_dual = np.zeros(problem.n_rows) if dual is None else dual
    w = problem.weights_of(net_dual) if np.any(net_dual) else np.zeros(problem.size)
    squares = problem.squared_norms
    order = np.arange(problem.n_rows)
    active, slack, epochs = problem.n_rows, np.inf, 0
    certificate, next_check = _certificate(problem, w, net_dual), 2.0 * problem.n_rows
    outcome = Outcome.CONVERGED if certificate.relative_gap <= budget.tol else None
    history.note(w, certificate, problem.evaluations)
    while outcome is None:
        epochs += 1
        problem.evaluations += active
        active, slack, gap = problem.native.dual_epoch(
            squares, slack, budget.seed + epochs, order, active, net_dual, w
        )
        used_up = epochs >= budget.max_iter or problem.evaluations >= most_evaluations
        near = gap <= budget.tol * certificate.primal or active == 0
        late = budget.out_of_time
        if not (near or used_up or late or problem.evaluations >= next_check):
            continue
        next_check = 2 * problem.evaluations
        w = problem.weights_of(net_dual)  # without the rounding of many small steps
        certificate = _certificate(problem, w, net_dual)
        history.note(w, certificate, problem.evaluations, epochs + 1 - history.iterations)
        if near:  # rows that were set aside are visited again
            active, slack = problem.n_rows, np.inf
        if certificate.relative_gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif used_up or late:
            outcome = Outcome.ITERATIONS if used_up else Outcome.TIME
    return Solution(w, certificate, outcome, epochs)


def _certificate(problem: LinearProblem, w: Array, net_dual: Array) -> Certificate:
    primal = problem.evaluate(w).certificate.primal
    return Certificate(primal, -0.5 * float(w @ w) - problem.phi(net_dual))


def solve_then_newton(
    problem: LinearProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
) -> Solution[Array]:
    """Descend in the dual from ``dual``, then take Newton steps if the loss is smooth."""
    newton_may_help = problem.constants.smooth and problem.n_rows > problem.size
    allowed = EPOCHS_BEFORE_NEWTON * problem.n_rows if newton_may_help else np.inf
    found = solve(problem, w, budget, history, dual, most_evaluations=allowed)
    slow = found.outcome is Outcome.ITERATIONS and found.iterations < budget.max_iter
    return newton.solve(problem, found.iterate, budget, history, dual) if slow else found
