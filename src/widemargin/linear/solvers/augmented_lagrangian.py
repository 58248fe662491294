r"""Newton's method for the hinge loss, by the augmented Lagrangian.

The hinge has a kink where its dual may be anything in [0, C]. With multipliers :math:`\alpha` and a
width :math:`\delta`, each row's loss is replaced by

.. math:: \min_s\; C s_+ + \alpha (1 - m - s) + \tfrac{C}{2\delta} (1 - m - s)^2,

a quadratic of width :math:`\delta` that is moved by :math:`\alpha\delta/C` and linear beyond:
smooth, so that Newton's method of :mod:`.newton` applies. The duals its margins imply,
:math:`\operatorname{clip}(\alpha + \tfrac{C}{\delta}(1 - m), 0, C)`, are the next multipliers;
they are feasible for the hinge, so every pass has a certificate of the hinge itself.

Each round ends when the smoothed problem's own gap is a fraction of the hinge's; then the
multipliers are taken over and :math:`\delta` shrinks. Rows on the kink are few and the only ones
with curvature, so late steps are cheap. Memory: two numbers per row.

Reference: Yan and Li (2020), for the semi-smooth Newton method on this Lagrangian. Departures: the
Hessian is kept as a matrix and updated by the rows that changed; rounds end on certificates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ...core.arrays import Array
from ...core.outcome import Outcome
from ..monitor import LinearMonitor
from ..problem import Evaluation, LinearProblem, LossConstants
from ..solution import LinearSolution
from .newton import FIRST_DAMPING, Hessian, descend
from .sample_start import sample_monitor, sampled, untouched

FIRST_WIDTH = 2.0
# Where rows of a sample's solution are, most rows' place is known.
WIDTH_AFTER_SAMPLE = 0.3
NARROWING = 0.5
# Margins are not known more exactly.
LEAST_WIDTH = 1e-9
# A round ends when this share of the hinge's gap is left to its smoothed problem.
INNER_SHARE = 0.5


def solve(
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    dual: Array | None = None,
    width: float = FIRST_WIDTH,
) -> LinearSolution:
    """Minimise the objective with the hinge loss, from ``w`` and multipliers in ``dual``.

    A ``w`` of zeros means to start from a sample's solution.
    """
    sample = sampled(problem) if untouched(w) else None
    if sample is not None:
        w = solve(sample, w, sample_monitor(monitor)).w
        problem.evaluations += sample.evaluations
        del sample  # as large as a few columns of numbers for every row
        width = WIDTH_AFTER_SAMPLE
    rounds = RowMultipliers(problem.first_multipliers() if dual is None else dual.copy())
    found = descend_rounds(problem, w, monitor, rounds, Hessian(problem), width)
    if dual is not None:
        dual[:] = rounds.multiplier
    return found


class Multipliers(Protocol):
    """The multipliers of all rows, wherever these are."""

    @property
    def room(self) -> Array | None:
        """Where a descent puts the duals that its last margins imply, if it is told to."""
        ...

    def smoothed(self, problem: Any, constants: LossConstants) -> Any:
        """Return the problem of the next round."""
        ...

    def advance(self, w: Array, constants: LossConstants) -> None:
        """Take over the duals implied at the end of a round."""
        ...


class RowMultipliers:
    """Multipliers as an array."""

    def __init__(self, multiplier: Array) -> None:
        self.multiplier = multiplier
        self.room: Array = np.empty_like(multiplier)

    def smoothed(self, problem: LinearProblem, constants: LossConstants) -> LinearProblem:
        """Return the problem of the next round."""
        return problem.with_loss(constants, self.multiplier)

    def advance(self, w: Array, constants: LossConstants) -> None:
        """Take over what was put into ``room``."""
        self.multiplier, self.room = self.room, self.multiplier


def descend_rounds(
    problem: Any,
    w: Array,
    monitor: LinearMonitor,
    rounds: Multipliers,
    hessian: Hessian,
    width: float,
) -> LinearSolution:
    """Go through the rounds from ``w``."""
    hessian.damping = FIRST_DAMPING  # few rows have curvature at the beginning

    def done(at: Evaluation) -> bool:
        own_gap = 0.5 * float(at.gradient @ at.gradient)
        return within(at) or own_gap <= INNER_SHARE * at.certificate.gap

    def within(at: Evaluation) -> bool:
        return at.certificate.relative_gap <= monitor.tol

    outcome = None
    while outcome is None:
        constants = replace(problem.constants, below=width / problem.constants.bound)
        smoothed = rounds.smoothed(problem, constants)
        smoothed.evaluations = problem.evaluations
        found = descend(smoothed, w, monitor, done, rounds.room, hessian)
        problem.evaluations = smoothed.evaluations
        w = found.w
        rounds.advance(w, constants)
        width *= NARROWING
        if found.certificate.relative_gap <= monitor.tol:
            outcome = Outcome.CONVERGED
        elif found.outcome is not Outcome.CONVERGED:
            outcome = found.outcome
        elif width < LEAST_WIDTH:
            outcome = Outcome.STALLED
    monitor.record(found.certificate, problem.evaluations, found.w, iterations=0)
    return replace(found, outcome=outcome)
