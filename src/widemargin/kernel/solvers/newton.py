r"""Dense semi-smooth Newton for losses with curvature (ODM, squared hinge), on small problems.

On the rows the loss penalises, :math:`A = \{i : m_i < a \text{ or } m_i > b\}`, the optimality
conditions are linear, :math:`(Q_{AA} + \operatorname{diag} c_A)\,\gamma_A = s_A`, with the
curvature :math:`c` and the margin :math:`s` (``a`` or ``b``) of each row's side; off them
:math:`\gamma = 0`. Each step solves that system for the current :math:`A` and searches the line to
its solution exactly; once :math:`A` repeats, the solution is exact to rounding.

Stops when :math:`A` repeats, or rounding leaves no smaller primal. A step costs
:math:`O(|A|^3/3)`, memory is :math:`O(M^2)`; five to ten steps are usual.

References
----------
Chapelle (2007), "Training a support vector machine in the primal", for the Newton step.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.losses import LossTerms
from ...core.outcome import Outcome, Solution, certify
from ...core.resources import single_threaded_blas
from ..cholesky import damped_cholesky
from ..problem import Duals, KernelProblem, record_iteration

# Where a direction descends but for rounding, the line search would return zero; it returns this.
SHORTEST_STEP = 1e-8


def solve(
    problem: KernelProblem, start: Duals, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve from ``start``; the result is exact to rounding unless stopped before.

    Known margins save nothing here: the dense matrix gives them for free.
    """
    with single_threaded_blas():  # the number of BLAS threads must not change the result
        return _solve(problem, problem.dense_q(), start.net_dual, budget, history)


def _solve(
    problem: KernelProblem, q: Array, start: Array, budget: Budget, history: History
) -> Solution[Duals]:
    terms = problem.terms
    net_dual = np.array(start, dtype=np.float64)
    margin = q @ net_dual
    outcome, previous = Outcome.ITERATIONS, np.inf
    step = 0
    for step in range(budget.max_iter):
        wanted, penalised = newton_point(q, terms, margin)
        wanted_margin = q @ wanted
        if np.array_equal(penalised, penalised_side(terms, wanted_margin)):
            net_dual, outcome = wanted, Outcome.CONVERGED
            break
        t = exact_line_search(terms, net_dual, margin, wanted - net_dual, wanted_margin - margin)
        net_dual = net_dual + t * (wanted - net_dual)
        margin = margin + t * (wanted_margin - margin)
        history.latest = Duals(net_dual)
        primal = 0.5 * float(net_dual @ margin) + float(np.sum(terms.primal(margin)))
        # Rounding decides: no smaller primal is to be had, or the direction does not descend.
        if primal >= previous * (1 - 1e-15) or t <= SHORTEST_STEP:
            outcome = Outcome.STALLED
            break
        previous = primal
        dual_point = terms.implied_dual(margin)
        dual = certify(terms, dual_point, q @ dual_point).dual
        record_iteration(history, problem, step, primal, dual)
        if budget.out_of_time:
            outcome = Outcome.TIME
            break
    return finish(problem, q, net_dual, outcome, step + 1, budget, history)


def newton_point(q: Array, terms: LossTerms, margin: Array) -> tuple[Array, Array]:
    """Solve the optimality conditions for the rows penalised at ``margin``."""
    side = penalised_side(terms, margin)
    rows = np.flatnonzero(side)
    net_dual = np.zeros_like(margin)
    if rows.size:
        low = side[rows] > 0
        curvature = np.where(low, terms.below[rows], terms.above[rows])
        target = terms.at(rows).wanted(low)
        net_dual[rows] = damped_cholesky(q[np.ix_(rows, rows)], curvature).solve(target)
    return net_dual, side


def penalised_side(terms: LossTerms, margin: Array) -> Array:
    """Return +1 for rows below the wanted margins, −1 above, 0 between."""
    return np.where(margin < terms.lower, 1.0, np.where(margin > terms.upper, -1.0, 0.0))


def exact_line_search(
    terms: LossTerms, net_dual: Array, margin: Array, direction: Array, margin_direction: Array
) -> float:
    """Minimise the primal over t ∈ (0, 1] along a direction.

    The derivative is increasing and piecewise linear, with a kink wherever a row's margin meets one
    of the wanted ones: the slope at each kink, in order, brackets the root.
    """

    def slope(t: float) -> float:
        dual = terms.implied_dual(margin + t * margin_direction)
        return float((net_dual + t * direction - dual) @ margin_direction)

    if slope(1.0) <= 0:
        return 1.0
    kink, change, bend = [np.zeros(1)], [np.zeros(1)], float(direction @ margin_direction)
    sides = [(1.0, terms.lower, terms.below)]
    if terms.two_sided:
        sides.append((-1.0, terms.upper, terms.above))
    for sign, wanted, curvature in sides:
        short, rate = sign * (wanted - margin), sign * margin_direction
        weight = rate * rate / curvature
        bend += float(weight[(short > 0) | ((short == 0) & (rate < 0))].sum())
        meets = np.flatnonzero((short > 0) & (short < rate) | (short < 0) & (short > rate))
        kink.append(short[meets] / rate[meets])
        change.append(np.where(rate[meets] > 0, -weight[meets], weight[meets]))
    at, jump = np.concatenate(kink), np.concatenate(change)
    order = np.argsort(at, kind="stable")
    at, bends = at[order], bend + np.cumsum(jump[order])
    slopes = slope(0.0) + np.concatenate([[0.0], np.cumsum(bends[:-1] * np.diff(at))])
    piece = max(int(np.searchsorted(slopes >= 0, True)) - 1, 0)
    if not bends[piece] > 0:  # rounding
        return max(float(at[piece]), SHORTEST_STEP)
    return float(np.clip(at[piece] - slopes[piece] / bends[piece], SHORTEST_STEP, 1.0))


def finish(
    problem: KernelProblem,
    q: Array,
    net_dual: Array,
    outcome: Outcome,
    steps: int,
    budget: Budget,
    history: History,
) -> Solution[Duals]:
    """Certify a net dual, after moving it into the loss's domain."""
    net_dual = problem.terms.nearest(net_dual)
    margin = q @ net_dual
    certificate = problem.certificate(net_dual, margin)
    if certificate.relative_gap <= budget.tol:
        outcome = Outcome.CONVERGED
    elif outcome is Outcome.CONVERGED:  # on paper; rounding or overflow says otherwise
        outcome = Outcome.STALLED
    record_iteration(history, problem, steps, certificate.primal, certificate.dual)
    return Solution(Duals(net_dual, margin), certificate, outcome, steps)
