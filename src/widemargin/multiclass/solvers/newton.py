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

The functions before :func:`solve` say when the method fits the memory, and when it pays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.losses import FIRST_WIDTH, INNER_SHARE, LEAST_WIDTH, NARROWING
from ...core.outcome import Certificate, Outcome, Solution
from ...core.resources import DIRECT_SIZE, single_threaded_blas
from ..problem import ClassWeights, MulticlassObjective, MulticlassProblem, StoredWeights
from .newton_blocks import RoundedLosses
from .newton_directions import PRODUCTS_BYTES, centred, keeps_products
from .newton_losses import BYTES_PER_LOSS, RoundedEvaluation

FORMULATIONS = ("llw", "ww")
# Largest Hessian, in weights. `llw` has one per class; `ww` couples all classes in a single one.
MOST_WEIGHTS = {"llw": DIRECT_SIZE, "ww": 3 * DIRECT_SIZE}
# The number of epochs of ascent grows with the mean of C‖x‖², that of Newton steps hardly; but a
# step costs more, as a Hessian has more numbers than a row stores. Means of equal time for llw:
# satimage .4 and 4, letter 2 and 17, usps 2 and 21, dna 5 and 47, iris 20 and 200; 800 generated
# features 100 and more, or about 2000 where one in 50 is stored. For ww, where they grow faster
# with the cost of a step: letter .4 and 4, usps 200, dna 50 and 500, iris 6; splice, glass and
# satimage below 6.
LEAST_MEAN, LEAST_MEAN_PER_COST = 10.0, 0.1
LEAST_MEAN_COUPLED, LEAST_MEAN_PER_SQUARED_COST = 3.0, 0.02
# With fewer rows per weight, classes are mostly separable and ascent ends soon for any C: digits (3
# rows per weight, C = 10) takes .7 s by ascent and 3.0 s by Newton's method.
ROWS_PER_WEIGHT = 5
# Up to this many weights the ratio is ignored, as both are fast.
FEW_WEIGHTS = 100
# Typical number of losses of a row that are curved, over the steps of a solve.
CURVED = 3
# The solve ends after this many steps that improved neither the primal nor the dual objective.
MOST_QUIET_STEPS = 100
# A step ends where the slope is this share of its first value.
SLOPE_LEFT = 0.1
# Newton's steps are rarely too short by more than this, in powers of two.
MOST_DOUBLINGS = 10
# An interval that was cut this often is as small as rounding errors.
MOST_CUTS = 60


def weights_together(objective: MulticlassObjective) -> int:
    """Return the number of weights that share one Hessian."""
    return objective.size * (objective.n_classes if objective.formulation == "ww" else 1)


def hessian_bytes(objective: MulticlassObjective) -> int:
    """Return the memory for the Hessians: of every class, or sums, laid out and factorised."""
    if objective.formulation == "ww":
        return 32 * weights_together(objective) ** 2
    return 8 * objective.n_classes * objective.size**2


def small_enough(objective: MulticlassObjective, memory: int) -> bool:
    """Return whether Hessians can be factorised and kept, wherever the rows are."""
    small = weights_together(objective) <= MOST_WEIGHTS[objective.formulation]
    return small and hessian_bytes(objective) <= memory


def bytes_needed(problem: MulticlassProblem) -> int:
    """Return the memory for the multipliers and scores of all rows and the Hessians."""
    objective = problem.objective
    products = objective.formulation == "ww" and keeps_products(objective, problem.n_rows)
    losses = objective.n_classes * BYTES_PER_LOSS * problem.n_rows
    return losses + (PRODUCTS_BYTES if products else 0) + hessian_bytes(objective)


def fits(problem: MulticlassProblem, memory: int) -> bool:
    """Return whether Hessians are small enough, and there is room for them and all losses."""
    return small_enough(problem.objective, memory) and bytes_needed(problem) <= memory


def pays(problem: MulticlassProblem, memory: int) -> bool:
    """Return whether this is likely to be faster than ascent in the dual, on rows in memory."""
    rows, objective = problem.in_memory, problem.objective
    mean = float(rows.bound @ rows.squared_norms) / problem.n_rows
    if objective.formulation == "ww":
        least = max(LEAST_MEAN_COUPLED, LEAST_MEAN_PER_SQUARED_COST * _cost_coupled(problem) ** 2)
        weights = weights_together(objective)
        if weights > FEW_WEIGHTS and problem.n_rows < ROWS_PER_WEIGHT * weights:
            return False
    else:
        cost = objective.size**2 * problem.n_rows / max(problem.stored, 1)
        least = max(LEAST_MEAN, LEAST_MEAN_PER_COST * cost)
    return mean >= least and fits(problem, memory)


def _cost_coupled(problem: MulticlassProblem) -> float:
    """Return the operations of a step, divided by those of an epoch."""
    size, n_classes = problem.objective.size, problem.objective.n_classes
    products = 8 * problem.n_rows * n_classes * size
    grams = 2 * CURVED * problem.n_rows * size**2
    factor = weights_together(problem.objective) ** 3 / 3
    return (products + grams + factor) / (4 * max(problem.stored, 1) * n_classes)


def require_fit(problem: MulticlassProblem, memory: int) -> None:
    """Raise if Hessians are too large, or a problem in this process does not fit the memory."""
    objective = problem.objective
    most = MOST_WEIGHTS[objective.formulation]
    if weights_together(objective) > most:
        times = f" times {objective.n_classes} classes" if objective.formulation == "ww" else ""
        raise ValueError(
            f"`solver='newton'` takes at most {most} weights at a time: features, the intercept "
            f"included, for 'ww' times classes; got {objective.size}{times}. Use solver='dual'."
        )
    if problem.engine.in_process and not fits(problem, memory):
        raise ValueError(
            f"`solver='newton'` needs {bytes_needed(problem) / 2**20:.0f} MiB for "
            f"{problem.n_rows} rows, {objective.size} features and {objective.n_classes} classes; "
            f"`memory_limit` is {memory / 2**20:.0f} MiB. Raise it, or use solver='dual'."
        )


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
            elif state.certificate == best:  # else a narrower round has proved more: look again
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
