r"""The last digits of a small problem: an active-set method started next to the solution.

Where coordinate descent gave up on the hinge, an interior-point method comes first.

Rows strictly inside the box are *free*; on them optimality is linear,
:math:`Q_{FF}\,\delta = -g_F` with the gradient :math:`g = m + \varphi'(\gamma)`. Each step solves
that system, moves as far as the box allows, and exchanges the rows that hit it or want to leave
it. At the end the solution is exact to rounding, so that equal problems written differently (a
weight of two, or the row twice) give equal models.

Departure from the textbook: a ridge of 1e-13 of the largest diagonal keeps singular systems
solvable; along a null direction it makes the step long, and the box ends it, as it should.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Outcome, Solution
from ...core.resources import single_threaded_blas
from ..cholesky import damped_cholesky
from ..problem import Duals, KernelProblem
from . import newton
from .interior_point import solve_box

# A dual this close to its bounds, relative to them, is taken to be at the bound.
EDGE = 1e-9
# Above this many rows a polish costs more than it is worth.
POLISH_ROWS = 1000
# Started next to the solution, a few exchanges do; more means that rounding leaves nothing to gain.
EXCHANGES = 200


def polish(
    problem: KernelProblem, solution: Solution[Duals], budget: Budget, history: History
) -> Solution[Duals]:
    """Refine a solution to rounding level; return it or the better of the two."""
    if problem.terms.smooth:
        refined = newton.solve(problem, solution.iterate, budget, history)
    else:
        with single_threaded_blas():
            refined = _active_set(problem, solution, budget, history)
    better = refined.certificate.relative_gap <= solution.certificate.relative_gap
    return refined if better else solution


def _active_set(
    problem: KernelProblem, solution: Solution[Duals], budget: Budget, history: History
) -> Solution[Duals]:
    q, terms = problem.dense_q(), problem.terms
    bound, net_dual = terms.bound, solution.iterate.net_dual.copy()
    if not solution.outcome.converged:
        net_dual = solve_box(problem, q)
    edge = EDGE * bound
    net_dual[net_dual < edge] = 0.0
    at_top = net_dual > bound - edge
    net_dual[at_top] = bound[at_top]
    free = (net_dual > 0) & ~at_top
    ridge = 1e-13 * float(q.diagonal().max(initial=1e-300))
    rounding = 1e-12 * (1.0 + float(np.abs(q @ net_dual).max(initial=0.0)))
    for _ in range(EXCHANGES):
        if budget.out_of_time:
            break
        gradient = q @ net_dual + terms.below * net_dual - terms.lower_margin
        if np.abs(gradient[free]).max(initial=0.0) > rounding:
            free = _move(q, terms.below, bound, gradient, net_dual, free, ridge)
            continue
        wants_up = ~free & (net_dual < bound) & (gradient < -rounding)
        wants_down = ~free & (net_dual > 0) & (gradient > rounding)
        violation = np.where(wants_up | wants_down, np.abs(gradient), 0.0)
        worst = int(violation.argmax())
        if violation[worst] == 0.0:
            break
        free[worst] = True
    steps = solution.iterations
    return newton.finish(problem, q, net_dual, Outcome.STALLED, steps, budget, history)


def _move(
    q: Array,
    curvature: Array,
    bound: Array,
    gradient: Array,
    net_dual: Array,
    free: NDArray[np.bool_],
    ridge: float,
) -> NDArray[np.bool_]:
    """Step towards the free rows' solution within the box; return the rows that are still free."""
    rows = np.flatnonzero(free)
    factor = damped_cholesky(q[np.ix_(rows, rows)], curvature[rows] + ridge)
    step = factor.solve(-gradient[rows])
    room = np.where(step > 0, bound[rows] - net_dual[rows], net_dual[rows])
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step != 0, room / np.abs(step), np.inf)
    t = min(1.0, float(reach.min()))
    net_dual[rows] = np.clip(net_dual[rows] + t * step, 0.0, bound[rows])
    blocked = rows[reach <= t] if t < 1.0 else rows[:0]
    net_dual[blocked] = np.where(step[reach <= t] > 0, bound[blocked], 0.0) if t < 1.0 else 0.0
    still = free.copy()
    still[blocked] = False
    return still
