r"""Where a merged part starts from, given the duals that its parts carried up.

A start may be worse than nothing. Along the ray :math:`t\gamma` the dual objective is one
parabola, so zero, the start and its best multiple are compared by one kernel product,

.. math:: \min_{t \ge 0}\; \tfrac12 t^2 \bigl(\gamma^\top m + \textstyle\sum_i c_i\gamma_i^2\bigr)
          - t \sum_i s_i \gamma_i, \qquad m = Q\gamma,

with the curvature :math:`c` and the margin :math:`s` of each dual's side. A start returns a net
dual with its margins, or None where they are not known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .certificates import certify
from .losses import Array, LossTerms
from .problem import KernelProblem

Start = Callable[[KernelProblem, Array], tuple[Array, Array | None]]


def from_zero(problem: KernelProblem, carried: Array) -> tuple[Array, Array | None]:
    """Forget what was carried."""
    return np.zeros_like(carried), np.zeros_like(carried)


def as_carried(problem: KernelProblem, carried: Array) -> tuple[Array, Array | None]:
    """Take what was carried, for better or worse (the papers' way)."""
    return problem.terms.nearest(carried), None


def best_multiple(problem: KernelProblem, carried: Array) -> tuple[Array, Array | None]:
    """Take zero, the start or its best multiple, whichever has the best dual."""
    carried = problem.terms.nearest(carried)
    if not np.any(carried):
        return from_zero(problem, carried)
    margin = problem.margins(carried)
    t = _best_factor(problem.terms, carried, margin)
    return t * carried, t * margin


def from_margins(problem: KernelProblem, carried: Array) -> tuple[Array, Array | None]:
    """Map the averaged margins to duals by the loss itself, γᵢ = −ℓ′(mᵢ); one more product.

    What was carried, divided by the number merged, has the averaged margins of the local models.
    Kept only if its dual is better than that of :func:`best_multiple`.
    """
    start, margin = best_multiple(problem, carried)
    if margin is None or not np.any(start):
        return start, margin
    implied = problem.terms.nearest(problem.terms.implied_dual(problem.margins(carried)))
    implied_margin = problem.margins(implied)
    t = _best_factor(problem.terms, implied, implied_margin)
    implied, implied_margin = t * implied, t * implied_margin
    terms = problem.terms
    better = certify(terms, implied, implied_margin).dual > certify(terms, start, margin).dual
    return (implied, implied_margin) if better else (start, margin)


def _best_factor(terms: LossTerms, net_dual: Array, margin: Array) -> float:
    """Minimise the dual along a ray from zero, inside the bounds."""
    low = net_dual > 0
    curvature = np.where(low, terms.below, terms.above)
    wanted = np.where(low, terms.lower_margin, terms.upper_margin if np.any(~low) else 0.0)
    wanted = np.where(net_dual != 0, wanted, 0.0)
    along = float(wanted @ net_dual)
    bend = float(net_dual @ margin + curvature @ net_dual**2)
    if along <= 0:
        return 0.0
    bounded = low & np.isfinite(terms.bound)
    room = float(np.min(terms.bound[bounded] / net_dual[bounded], initial=np.inf))
    return min(along / bend if bend > 0 else room, room) if np.isfinite(room) or bend > 0 else 0.0
