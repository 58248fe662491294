r"""Newton's method for formulations that add up hinges (``llw``, ``ww``): augmented Lagrangian.

Ascent in the dual takes longer the larger ``C`` is; for ``llw`` Newton's method takes only 1.4
times (satimage) to 3.3 times (iris) as many steps for C = 10⁴ as for C = 1. As in
:mod:`widemargin.linear.solvers.augmented_lagrangian`, the hinges' kinks are rounded with
multipliers and a width (:mod:`.newton_losses`), and Newton's method minimises the smooth problem
(:mod:`.newton_directions`) by sums over blocks of rows (:mod:`.newton_blocks`). A round ends when
its own gap is a fraction of the problem's; the next round begins with the multipliers that the
weights imply, and is half as wide.

1. From zero weights and multipliers, all losses are curved: the first step is a ridge regression.
2. A step goes to where the slope along its direction has all but vanished, found by false position:
   a slope costs a look at every loss, and no product. With such steps, damping short ones as
   :mod:`widemargin.linear.solvers.newton` does costs more steps than it saves.

Weights are made to sum to zero after every step (those of ``ww`` always do) and certified after
that. Cost of a step: three products of all rows with the weights; for ``llw`` O(curved rows ×
size²) and O(size³) for every class, for ``ww`` O(curved losses × size²) and O((classes × size)³).

Reference: Yan and Li (2020), for the semi-smooth Newton method on this Lagrangian of a binary
problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.certificates import Certificate
from ...core.history import History
from ...core.losses import FIRST_WIDTH, INNER_SHARE, LEAST_WIDTH, NARROWING
from ...core.outcome import Outcome, Solution
from ...core.resources import single_threaded_blas
from ..problem import ClassWeights, MulticlassProblem, StoredWeights
from .newton_blocks import RoundedLosses
from .newton_cost import require_fit
from .newton_directions import centred
from .newton_losses import RoundedEvaluation

# Steps without a better objective, primal or dual, after which there is none to be found.
MOST_QUIET_STEPS = 100
# Share of the first slope that may be left at the end of a step.
SLOPE_LEFT = 0.1
# Newton's steps are rarely too short by more than this, in powers of two.
MOST_DOUBLINGS = 10
# Rounding is all that is left of an interval that was cut so often.
MOST_CUTS = 60


def solve(
    problem: MulticlassProblem,
    budget: Budget,
    history: History,
    start: ClassWeights | None = None,
) -> Solution[ClassWeights]:
    """Minimise the objective, from multipliers in ``start`` and their weights, or from zero."""
    require_fit(problem, budget.memory)
    with single_threaded_blas():
        return descend(NewtonState(problem, start), budget, history)


def descend(state: NewtonState, budget: Budget, history: History) -> Solution[ClassWeights]:
    """Take steps until the gap is small enough."""
    steps, last_better, best, outcome = 0, 0, state.certificate, None
    while outcome is None:
        at = state.evaluate()
        if state.certificate != best:
            last_better, best = steps, state.certificate
        history.iterations = steps
        history.record(
            state,
            iteration=steps,
            primal=best.primal,
            dual=best.dual,
            relative_gap=best.relative_gap,
        )
        if best.relative_gap <= budget.tol:
            outcome = Outcome.CONVERGED
        elif steps >= budget.max_iter:
            outcome = Outcome.ITERATIONS
        elif budget.out_of_time:
            outcome = Outcome.TIME
        else:
            while at.own_gap <= INNER_SHARE * at.certificate.gap and state.narrow(at):
                at = state.evaluate()
            moving = steps - last_better < MOST_QUIET_STEPS and state.width >= LEAST_WIDTH
            if moving and state.step(at):
                steps += 1
            else:
                outcome = Outcome.STALLED
    found = StoredWeights(state.weights, state.duals)
    return Solution(found, state.certificate, outcome, steps)


class NewtonState:
    """Where the solver is, and the best it has seen.

    Attributes
    ----------
    w : array of shape (n_classes, size)
        Weights, which sum to zero.
    width : float
        Width of the current round.
    certificate : Certificate
        The best objectives so far, primal and dual.
    """

    def __init__(self, problem: MulticlassProblem, start: ClassWeights | None = None) -> None:
        self.losses = RoundedLosses(problem, start)
        self.width = FIRST_WIDTH  # also from multipliers: narrower rounds cost more steps
        self.w = self._best = self.losses.w
        # Dual objectives of the multipliers and of those implied last.
        self._known, self._implied = self.losses.dual, -np.inf
        self.certificate = Certificate(np.inf, self._known)
        given = None if start is None else start.weights
        if isinstance(given, np.ndarray) and given.shape == self.w.shape:
            self.w = centred(given)  # multipliers within `tol` may imply worse ones

    def evaluate(self) -> RoundedEvaluation:
        """Evaluate the weights, and remember them if they are the best."""
        at = self.losses.evaluate(self.w, self.width)
        if at.certificate.primal < self.certificate.primal:
            self._best = self.w
        self._implied = at.certificate.dual
        self.certificate = Certificate(
            min(self.certificate.primal, at.certificate.primal),
            max(self.certificate.dual, at.certificate.dual),
        )
        return at

    def narrow(self, at: RoundedEvaluation) -> bool:
        """Begin the next round; return False if it would be too narrow."""
        self.losses.end_round()
        self._known, self._implied = at.certificate.dual, -np.inf
        self.width *= NARROWING
        return self.width >= LEAST_WIDTH

    def step(self, at: RoundedEvaluation) -> bool:
        """Take a step; return False if rounding leaves none that leads down."""
        direction = self.losses.direction(at.gradient, self.width)
        if direction is None:
            return False
        length = best_step(self.losses, self.w, at.gradient, direction, self.width)
        self.w = centred(self.w + length * direction)
        return length > 0.0

    @property
    def weights(self) -> Array:
        """The weights with the lowest objective."""
        return self._best

    @property
    def duals(self) -> Any:
        """The multipliers: the round's or those implied, whichever are better."""
        return self.losses.duals(implied=self._known <= self._implied)


def best_step(
    losses: RoundedLosses, w: Array, gradient: Array, direction: Array, width: float
) -> float:
    """Return a step with hardly a slope at its end; 0 if the direction does not lead down."""
    first = float(np.vdot(gradient, direction))
    if not first < 0.0:
        return 0.0
    losses.look_along(direction)
    along, squared = float(np.vdot(w, direction)), float(np.vdot(direction, direction))

    def slope(step: float) -> float:
        return along + step * squared + losses.slope(step, width)

    enough = SLOPE_LEFT * -first
    near, slope_near, far, slope_far = 0.0, first, 1.0, slope(1.0)
    for _ in range(MOST_DOUBLINGS):
        if slope_far >= -enough:
            break
        near, slope_near, far = far, slope_far, 2 * far
        slope_far = slope(far)
    if slope_far <= enough:
        return far
    return _false_position(slope, (near, slope_near), (far, slope_far), enough)


def _false_position(
    slope: Callable[[float], float],
    near: tuple[float, float],
    far: tuple[float, float],
    enough: float,
) -> float:
    """Cut an interval at whose ends the slope has different signs; ends are (step, slope).

    An end that stays twice has its slope halved (Illinois rule), or it would stay for good.
    """
    step, stayed = near[0], 0
    for _ in range(MOST_CUTS):
        step = (near[0] * far[1] - far[0] * near[1]) / (far[1] - near[1])
        found = slope(step)
        if abs(found) <= enough or not near[0] < step < far[0]:
            break
        if found < 0:
            near = step, found
            far = far[0], far[1] / 2 if stayed > 0 else far[1]
            stayed = 1
        else:
            far = step, found
            near = near[0], near[1] / 2 if stayed < 0 else near[1]
            stayed = -1
    return step
