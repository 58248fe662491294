r"""Starts of a merged part, from the duals that its parts carried.

A start may be worse than zero. Along the ray :math:`t\gamma` the dual objective is one
parabola, so zero, the start and its best multiple are compared by one kernel product,

.. math:: \min_{t \ge 0}\; \tfrac12 t^2 \bigl(\gamma^\top m + \sum_i c_i\gamma_i^2\bigr)
          - t \sum_i s_i \gamma_i, \qquad m = Q\gamma,

with the curvature :math:`c` and the margin :math:`s` of each dual's side. A start returns a net
dual with its margins, or None where they are not known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from ...core.arrays import Array
from ...core.losses import LossTerms
from ...core.outcome import certify
from ..problem import Duals, KernelProblem, KernelProducts
from ..solvers.block_descent import BLOCK

# Rows whose margins tell whether a start is close,
SAMPLED_ROWS = 512
# which is one with a relative gap of at most this. Root of 16,000 rows in 16 parts, processor time
# from such a start against that from zero: cod-rna 0.37 and 0.50 s (ODM, gap .08), 0.12 and 0.19 s
# (hinge, .26), susy_30k 0.63 and 0.94 s (.06), 0.47 and 0.73 s (.24); a9a 0.44 and 0.42 s (hinge,
# .70); ijcnn1 0.96 and 0.82 s (.96), 0.51 and 0.36 s (.96); phishing 0.42 and 0.34 s (hinge, .93).
CLOSE = 0.5

Start = Callable[[KernelProblem, Array], Duals]


def from_zero(problem: KernelProblem, carried: Array) -> Duals:
    """Start from zero, whatever was carried."""
    return Duals(np.zeros_like(carried), np.zeros_like(carried))


def as_carried(problem: KernelProblem, carried: Array) -> Duals:
    """Take what was carried, however good it is, as the papers do."""
    return Duals(problem.terms.nearest(carried))


def best_multiple(problem: KernelProblem, carried: Array, margin: Array | None = None) -> Duals:
    """Take zero, the start or its best multiple, whichever has the best dual.

    A known ``margin`` of what was carried saves the kernel product, unless a dual has to move into
    the loss's domain.
    """
    nearest = problem.terms.nearest(carried)
    if not np.any(nearest):
        return from_zero(problem, nearest)
    if margin is None or not np.array_equal(nearest, carried):
        margin = problem.margins(nearest)
    return best_on_ray(problem.terms, nearest, margin)


def mean_if_close(problem: KernelProblem, carried: Array) -> Duals:
    """Take the best multiple where a sample of rows says that it is close, else zero.

    A start far from the solution has the wrong dual in every row, and descent takes longer from it
    than from zero, which also lets the solver find a start of its own. Its margins, where it is
    taken, are computed in the precision of the data: a solver checks its result anyway.
    """
    nearest = problem.terms.nearest(carried)
    if problem.n_rows <= BLOCK:  # solved in one block, whose margins cost little from any start
        return best_multiple(problem, carried)
    if not np.any(nearest) or _sampled_gap(problem, nearest) > CLOSE:
        return from_zero(problem, nearest)
    support = np.flatnonzero(nearest)
    margin = KernelProducts(problem).all_rows(support, nearest[support])
    return best_on_ray(problem.terms, nearest, margin)


def from_margins(problem: KernelProblem, carried: Array) -> Duals:
    """Map the averaged margins to duals by the loss itself, γᵢ = −ℓ′(mᵢ); one more product.

    What was carried, divided by the number merged, has the averaged margins of the local models.
    The start is the best point between :func:`best_multiple` and the best multiple of those duals.
    """
    terms = problem.terms
    carried = terms.nearest(carried)
    if not np.any(carried):
        return from_zero(problem, carried)
    averaged = problem.margins(carried)
    start = best_on_ray(terms, carried, averaged)
    if not np.any(start.net_dual):  # duals worse than zero have no margins worth using
        return start
    implied = terms.nearest(terms.implied_dual(averaged))
    return best_between(terms, start, best_on_ray(terms, implied, problem.margins(implied)))


def best_between(terms: LossTerms, a: Duals, b: Duals) -> Duals:
    """Take the point of a segment with the best dual, its ends among them."""
    begin, end = a.margin, b.margin
    assert begin is not None
    assert end is not None

    def at(t: float) -> Duals:
        return Duals((1 - t) * a.net_dual + t * b.net_dual, (1 - t) * begin + t * end)

    t = minimize_scalar(lambda t: -_dual(terms, at(t)), bounds=(0.0, 1.0), method="bounded").x
    return max(a, at(float(t)), b, key=lambda each: _dual(terms, each))


def best_on_ray(terms: LossTerms, net_dual: Array, margin: Array) -> Duals:
    """Take the multiple with the best dual, zero and one among them."""
    t = _best_factor(terms, net_dual, margin)
    return Duals(t * net_dual, t * margin)


def _sampled_gap(problem: KernelProblem, net_dual: Array) -> float:
    """Estimate the relative gap of the best multiple from the margins of some rows."""
    n, support = problem.n_rows, np.flatnonzero(net_dual)
    rows = np.arange(SAMPLED_ROWS) * n // SAMPLED_ROWS  # in turn: rows are in no order that matters
    margin = KernelProducts(problem).some_rows(rows, support, net_dual[support])
    terms, some = problem.terms, problem.terms.at(rows)
    # Margins of which the sum over all rows is the estimate, for the factor along the ray.
    scaled = np.zeros(n)
    scaled[rows] = margin * (n / rows.size)
    t = _best_factor(terms, net_dual, scaled)
    if t == 0.0:
        return 1.0
    quadratic = t * t * float(net_dual @ scaled)
    losses = float(np.sum(some.primal(t * margin))) * (n / rows.size)
    primal, dual = 0.5 * quadratic + losses, -0.5 * quadratic - float(terms.phi(t * net_dual).sum())
    return (primal - dual) / primal if primal > 0 else 0.0


def _dual(terms: LossTerms, duals: Duals) -> float:
    assert duals.margin is not None
    return certify(terms, duals.net_dual, duals.margin).dual


def _best_factor(terms: LossTerms, net_dual: Array, margin: Array) -> float:
    """Minimise the dual along a ray from zero, inside the bounds."""
    low = net_dual > 0
    curvature = np.where(low, terms.below, terms.above)
    wanted = np.where(net_dual != 0, terms.wanted(low), 0.0)
    along = float(wanted @ net_dual)
    bend = float(net_dual @ margin + curvature @ net_dual**2)
    if along <= 0:
        return 0.0
    bound = np.where(low, terms.bound, terms.floor)
    bounded = (net_dual != 0) & np.isfinite(bound)
    room = float(np.min(bound[bounded] / net_dual[bounded], initial=np.inf))
    return min(along / bend if bend > 0 else room, room) if np.isfinite(room) or bend > 0 else 0.0
