r"""Newton's method for losses with kinks, by the augmented Lagrangian.

The hinge has a kink where its dual may be anything in [0, C]. With multipliers :math:`\alpha` and a
width :math:`\delta`, each row's loss is replaced by

.. math:: \min_s\; C s_+ + \alpha (1 - m - s) + \tfrac{C}{2\delta} (1 - m - s)^2,

a quadratic of width :math:`\delta` that is moved by :math:`\alpha\delta/C` and linear beyond:
smooth, so that Newton's method of :mod:`.newton` applies. The duals its margins imply,
:math:`\operatorname{clip}(\alpha + \tfrac{C}{\delta}(1 - m), 0, C)`, are the next multipliers;
they are feasible for the hinge, so every pass has a certificate of the hinge itself.

The absolute losses of regression have two kinks, or one whose duals may have either sign. The same
holds for them, written as a proximal step: the dual that a residual implies minimises
:math:`\varphi(\gamma) + m\gamma + \tfrac{\delta}{2C} (\gamma - \alpha)^2`, which moves the margin
by :math:`-\alpha\delta/C` and curves both sides of the loss.

Each round ends when the smoothed problem's own gap is a fraction of the true one; then the
multipliers are taken over and :math:`\delta` shrinks. Rows on the kink are few and the only ones
with curvature, so late steps are cheap. Memory: two numbers per row.

Reference: Yan and Li (2020), for the semi-smooth Newton method on this Lagrangian. Departures: the
Hessian is kept as a matrix and updated by the rows that changed; rounds end on certificates.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.losses import FIRST_WIDTH, INNER_SHARE, LEAST_WIDTH, NARROWING
from ...core.outcome import Outcome, Solution
from ..block_problem import AnyProblem
from ..history import LinearHistory
from ..problem import Evaluation, RowMultipliers
from .newton import FIRST_DAMPING, Hessian, descend
from .starts import from_sample, untouched

# First width when starting from weights of a sample or a neighbouring C, near which most rows
# already are on their final side of a kink.
KNOWN_WIDTH = 0.3


def solve(
    problem: AnyProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
) -> Solution[Array]:
    """Minimise the objective of a loss with kinks, from ``w`` and multipliers in ``dual``.

    A ``w`` of zeros means to start from a sample's solution. The last multipliers go to ``dual``,
    where the rows are in one place.
    """
    if untouched(w):
        started = from_sample(problem, solve, budget)
        w = w if started is None else started
    width = FIRST_WIDTH if untouched(w) else KNOWN_WIDTH
    multipliers = problem.multipliers(dual)
    hessian = Hessian(problem)
    hessian.damping = FIRST_DAMPING  # few rows have curvature at the beginning

    def done(at: Evaluation) -> bool:
        own_gap = 0.5 * float(at.gradient @ at.gradient)
        near = at.certificate.relative_gap <= budget.tol
        return near or own_gap <= INNER_SHARE * at.certificate.gap

    outcome = None
    while outcome is None:
        constants = problem.constants.rounded(width)
        hessian.problem = multipliers.smoothed(constants)
        hessian.problem.evaluations = problem.evaluations
        found = descend(hessian, w, budget, history, done, multipliers.implied)
        problem.evaluations = hessian.problem.evaluations
        w = found.iterate
        multipliers.advance(w, constants)
        width *= NARROWING
        if found.certificate.relative_gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif found.outcome is not Outcome.CONVERGED:
            outcome = found.outcome
        elif width < LEAST_WIDTH:
            outcome = Outcome.STALLED
    history.note(w, found.certificate, problem.evaluations, iterations=0)
    if dual is not None and isinstance(multipliers, RowMultipliers):
        dual[:] = multipliers.current
    return replace(found, outcome=outcome)
