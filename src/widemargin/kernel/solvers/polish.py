r"""The last digits of a small problem: an active-set method started next to the solution.

Where coordinate descent gave up on the hinge, an interior-point method comes first; on a two-sided
loss without curvature, Newton's method in proximal rounds.

The net dual of a row lies on its positive side, from 0 to the bound, or on its negative one, from
the floor to 0; one-sided losses have no negative one. Rows strictly inside their side are *free*;
on them optimality is linear, :math:`Q_{FF}\,\delta = -g_F` with the gradient
:math:`g = m + \varphi'(\gamma)`. Each step solves that system, moves as far as the sides allow, and
exchanges the rows that hit an end or want to leave it. At the end the solution is exact to
rounding, so that equal problems written differently (a weight of two, or the row twice) give equal
models.

Departure from the textbook: a ridge of 1e-13 of the largest diagonal keeps singular systems
solvable; along a null direction it makes the step long, and an end of a side ends it, as it
should.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.losses import LossTerms
from ...core.outcome import Outcome, Solution
from ...core.resources import single_threaded_blas
from ..cholesky import damped_cholesky
from ..problem import Duals, KernelProblem
from . import newton, proximal_newton
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
    net_dual = solution.iterate.net_dual.copy()
    if not solution.outcome.converged:
        if terms.two_sided:
            start = Duals(np.zeros_like(net_dual))
            found = proximal_newton.solve(problem, start, budget, history, solution.iterations)
            net_dual = found.iterate.net_dual.copy()
        else:
            net_dual = solve_box(problem, q)
    sides = _Sides(terms, q @ net_dual, net_dual)
    edge = EDGE * (sides.top - sides.bottom)
    at_bottom, at_top = net_dual < sides.bottom + edge, net_dual > sides.top - edge
    net_dual[at_bottom] = sides.bottom[at_bottom]
    net_dual[at_top] = sides.top[at_top]
    free = ~at_bottom & ~at_top
    ridge = 1e-13 * float(q.diagonal().max(initial=1e-300))
    rounding = 1e-12 * (1.0 + float(np.abs(q @ net_dual).max(initial=0.0)))
    for _ in range(EXCHANGES):
        if budget.out_of_time:
            break
        margin = q @ net_dual
        sides.turn(margin, net_dual, free)
        gradient = margin + sides.curvature * net_dual - sides.wanted
        if np.abs(gradient[free]).max(initial=0.0) > rounding:
            free = _move(q, sides, gradient, net_dual, free, ridge)
            continue
        wants_up = ~free & (net_dual < sides.top) & (gradient < -rounding)
        wants_down = ~free & (net_dual > sides.bottom) & (gradient > rounding)
        violation = np.where(wants_up | wants_down, np.abs(gradient), 0.0)
        worst = int(violation.argmax())
        if violation[worst] == 0.0:
            break
        free[worst] = True
    steps = solution.iterations
    return newton.finish(problem, q, net_dual, Outcome.STALLED, steps, budget, history)


class _Sides:
    """The side that every row's net dual is on: its ends, its curvature and the margin it wants."""

    def __init__(self, terms: LossTerms, margin: Array, net_dual: Array) -> None:
        self.terms = terms
        self.positive = np.ones(len(net_dual), dtype=np.bool_)
        self.turn(margin, net_dual, np.zeros(len(net_dual), dtype=np.bool_))

    def turn(self, margin: Array, net_dual: Array, free: NDArray[np.bool_]) -> None:
        """Put rows at 0 on the side that their margins ask for; a free row stays on its own."""
        terms = self.terms
        positive = np.ones(len(net_dual), dtype=np.bool_)
        if terms.two_sided:
            positive = np.where(net_dual == 0, margin <= terms.upper, net_dual > 0)
            if free.any():
                positive = np.where(free, self.positive, positive)
        self.positive = positive
        self.bottom = np.where(positive, 0.0, terms.floor)
        self.top = np.where(positive, terms.bound, 0.0)
        self.curvature = np.where(positive, terms.below, terms.above)
        self.wanted = terms.wanted(positive)


def _move(
    q: Array,
    sides: _Sides,
    gradient: Array,
    net_dual: Array,
    free: NDArray[np.bool_],
    ridge: float,
) -> NDArray[np.bool_]:
    """Step towards the free rows' solution within their sides; return the rows still free."""
    rows = np.flatnonzero(free)
    bottom, top = sides.bottom[rows], sides.top[rows]
    factor = damped_cholesky(q[np.ix_(rows, rows)], sides.curvature[rows] + ridge)
    step = factor.solve(-gradient[rows])
    room = np.where(step > 0, top - net_dual[rows], net_dual[rows] - bottom)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step != 0, room / np.abs(step), np.inf)
    t = min(1.0, float(reach.min()))
    net_dual[rows] = np.clip(net_dual[rows] + t * step, bottom, top)
    blocked = rows[:0]
    if t < 1.0:
        met = reach <= t
        blocked = rows[met]
        net_dual[blocked] = np.where(step[met] > 0, top[met], bottom[met])
    still = free.copy()
    still[blocked] = False
    return still
