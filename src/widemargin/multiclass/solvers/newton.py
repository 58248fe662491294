r"""Newton's method for formulations that add up hinges (``llw``, ``ww``): augmented Lagrangian.

Ascent in the dual takes the longer, the larger ``C`` is; for ``llw`` this takes 1.4 times
(satimage) to 3.3 times (iris) the steps for C = 10⁴ that it takes for C = 1. As in
:mod:`widemargin.linear.solvers.augmented_lagrangian`, the hinges' kinks are rounded with
multipliers and a
width (:mod:`.newton_smoothed`), and Newton's method minimises what is smooth then
(:mod:`.newton_direction`, :mod:`.newton_coupled`). A round ends when its own gap is a fraction of
the problem's; the multipliers that its weights imply are the next round's, which is half as wide.

1. From zero weights and multipliers, all losses are curved: the first step is a ridge regression.
2. A step goes to where the slope along its direction has all but vanished, found by false position:
   a slope costs a look at every loss, and no product. With such steps, damping short ones as
   :mod:`widemargin.linear.solvers.newton` does costs more steps than it saves.

Weights are made to sum to zero after every step (those of ``ww`` do anyway) and certified after
that. Cost of a step: three products of all rows with the weights; for ``llw`` O(curved rows ×
size²) and O(size³) for every class, for ``ww`` O(curved losses × size²) and O((classes × size)³).

Reference: Yan and Li (2020), for the semi-smooth Newton method on this Lagrangian of a binary
problem.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.certificates import Certificate
from ...core.outcome import Outcome
from ...core.resources import single_threaded_blas
from ...engines import Engine, LocalEngine
from ...linear.solvers.augmented_lagrangian import FIRST_WIDTH, INNER_SHARE, LEAST_WIDTH, NARROWING
from ...linear.solvers.newton import DIRECT_SIZE
from ..monitor import MulticlassMonitor
from ..problem import MulticlassProblem
from ..solution import MulticlassSolution
from .class_bundles import feasible
from .newton_coupled import PRODUCTS_BYTES, CoupledDirections, keeps_products
from .newton_direction import Directions, centred
from .newton_smoothed import BYTES_PER_LOSS, Evaluation, SmoothedLosses
from .newton_step import best_step

FORMULATIONS = ("llw", "ww")
# Weights that one Hessian is of: `ww` couples all classes, and has just one.
MOST_WEIGHTS = {"llw": DIRECT_SIZE, "ww": 3 * DIRECT_SIZE}
# Ascent's epochs grow in number with the mean of C‖x‖², Newton's steps hardly; but a step costs
# more, as a Hessian has more numbers than a row stores. Means between which they were even for llw:
# satimage .4 and 4, letter 2 and 17, usps 2 and 21, dna 5 and 47, iris 20 and 200; 800 generated
# features 100 and more, or about 2000 where one in 50 is stored. For ww, where they grow faster
# with the cost of a step: letter .4 and 4, usps 200, dna 50 and 500, iris 6; splice, glass and
# satimage below 6.
LEAST_MEAN, LEAST_MEAN_PER_COST = 10.0, 0.1
LEAST_MEAN_COUPLED, LEAST_MEAN_PER_SQUARED_COST = 3.0, 0.02
# Where rows are few for the weights, classes are mostly separable and ascent ends soon whatever C
# is: digits (3 rows per weight) takes it .7 s with C = 10, Newton 3.0 s. Small ones cost little.
ROWS_PER_WEIGHT, FEW_WEIGHTS = 5, 100
# Steps without a better objective, primal or dual, after which there is none to be found.
MOST_QUIET_STEPS = 100
# Losses of a row that are curved, over the steps of a solve.
CURVED = 3


class Size(Protocol):
    """How large a problem is, whatever its rows."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        ...

    @property
    def size(self) -> int:
        """Length of a class's weights."""
        ...

    @property
    def formulation(self) -> str:
        """The loss."""
        ...


def weights_together(problem: Size) -> int:
    """Return the number of weights that a Hessian is of."""
    return problem.size * (problem.n_classes if problem.formulation == "ww" else 1)


def hessian_bytes(problem: Size) -> int:
    """Memory for the Hessians: of every class, or sums, both ways, laid out and factorised."""
    if problem.formulation == "ww":
        return 32 * weights_together(problem) ** 2
    return 8 * problem.n_classes * problem.size**2


def small_enough(problem: Size, memory: int) -> bool:
    """Whether Hessians can be factorised and kept, wherever the rows are."""
    small = weights_together(problem) <= MOST_WEIGHTS[problem.formulation]
    return small and hessian_bytes(problem) <= memory


def bytes_needed(problem: MulticlassProblem) -> int:
    """Memory for the multipliers and scores of all rows and the Hessians."""
    products = PRODUCTS_BYTES if problem.formulation == "ww" and keeps_products(problem) else 0
    losses = problem.n_classes * BYTES_PER_LOSS * problem.n_rows
    return losses + products + hessian_bytes(problem)


def fits(problem: MulticlassProblem, memory: int) -> bool:
    """Whether Hessians are small enough to be factorised and kept."""
    return small_enough(problem, memory) and bytes_needed(problem) <= memory


def pays(problem: MulticlassProblem, memory: int) -> bool:
    """Whether this is likely to be faster than ascent in the dual."""
    mean = float(problem.bound @ problem.squared_norms) / problem.n_rows
    if problem.formulation == "ww":
        least = max(LEAST_MEAN_COUPLED, LEAST_MEAN_PER_SQUARED_COST * _cost_coupled(problem) ** 2)
        weights = weights_together(problem)
        if weights > FEW_WEIGHTS and problem.n_rows < ROWS_PER_WEIGHT * weights:
            return False
    else:
        cost = problem.size**2 * problem.n_rows / max(problem.stored, 1)
        least = max(LEAST_MEAN, LEAST_MEAN_PER_COST * cost)
    return mean >= least and fits(problem, memory)


def directions_of(losses: SmoothedLosses) -> Directions | CoupledDirections:
    """Return the Newton directions of a formulation's losses."""
    coupled = losses.problem.formulation == "ww"
    return CoupledDirections(losses) if coupled else Directions(losses)


def _cost_coupled(problem: MulticlassProblem) -> float:
    """Operations of a step, divided by those of an epoch."""
    products = 8 * problem.n_rows * problem.n_classes * problem.size
    grams = 2 * CURVED * problem.n_rows * problem.size**2
    factor = weights_together(problem) ** 3 / 3
    return (products + grams + factor) / (4 * max(problem.stored, 1) * problem.n_classes)


def solve(
    problem: MulticlassProblem,
    monitor: MulticlassMonitor,
    start: sp.csr_array | None = None,
    weights: Any = None,
    *,
    memory: int = 1 << 30,
    engine: Engine | None = None,
) -> MulticlassSolution:
    """Minimise the objective, from multipliers in ``start`` and their weights, or from zero."""
    require_few_weights(problem)
    _require_fit(problem, memory)
    engine = LocalEngine(problem.threads) if engine is None else engine
    with single_threaded_blas():
        return descend(_State(problem, engine, start, weights), monitor)


def require_few_weights(problem: Size) -> None:
    """Raise if Hessians are too large."""
    most = MOST_WEIGHTS[problem.formulation]
    if weights_together(problem) > most:
        times = f" times {problem.n_classes} classes" if problem.formulation == "ww" else ""
        raise ValueError(
            f"`solver='newton'` takes at most {most} weights at a time: features, the intercept "
            f"included, for 'ww' times classes; got {problem.size}{times}. Use solver='dual'."
        )


def _require_fit(problem: MulticlassProblem, memory: int) -> None:
    if not fits(problem, memory):
        raise ValueError(
            f"`solver='newton'` needs {bytes_needed(problem) / 2**20:.0f} MiB for "
            f"{problem.n_rows} rows, {problem.size} features and {problem.n_classes} classes; "
            f"`memory_limit` is {memory / 2**20:.0f} MiB. Raise it, or use solver='dual'."
        )


def descend(state: NewtonState, monitor: MulticlassMonitor) -> MulticlassSolution:
    """Take steps until the gap is small enough."""
    steps, last_better, best, outcome = 0, 0, state.certificate, None
    while outcome is None:
        at = state.evaluate()
        if state.certificate != best:
            last_better, best = steps, state.certificate
        monitor.record(steps, state.certificate, state)
        if state.certificate.relative_gap <= monitor.tol:
            outcome = Outcome.CONVERGED
        elif steps >= monitor.max_iter:
            outcome = Outcome.ITERATIONS
        elif monitor.out_of_time:
            outcome = Outcome.TIME
        else:
            while at.own_gap <= INNER_SHARE * at.certificate.gap and state.narrow(at):
                at = state.evaluate()
            moving = steps - last_better < MOST_QUIET_STEPS and state.width >= LEAST_WIDTH
            if moving and state.step(at):
                steps += 1
            else:
                outcome = Outcome.STALLED
    return MulticlassSolution(state.weights(), state.duals(), state.certificate, outcome, steps)


class Losses(Protocol):
    """Rounded losses, wherever their rows are."""

    def evaluate(self, w: Array, width: float) -> Evaluation:
        """Evaluate at weights that sum to zero."""
        ...

    def look_along(self, direction: Array) -> None:
        """Prepare for slopes along a direction from the weights evaluated last."""
        ...

    def slope(self, step: float, width: float) -> float:
        """Return the derivative of the losses a step along the direction."""
        ...

    def take_over(self) -> None:
        """Make the implied multipliers the multipliers."""
        ...


class NewtonDirections(Protocol):
    """Newton directions of rounded losses, wherever their rows are."""

    def find(self, gradient: Array, width: float) -> Array | None:
        """Return the direction; None where rounding leaves a matrix without a factor."""
        ...


class NewtonState:
    """Where the solver is, and the best it has seen.

    Parameters
    ----------
    losses : Losses
        Rounded losses of all rows.
    directions : NewtonDirections
        Newton directions of these.
    w : array of shape (n_classes, size)
        Weights to start from.
    total : float
        Sum of the multipliers to start from.
    """

    def __init__(
        self, losses: Losses, directions: NewtonDirections, w: Array, total: float
    ) -> None:
        self.width = FIRST_WIDTH  # also from multipliers: narrower rounds cost more steps
        self.losses, self.directions = losses, directions
        self.w = self._best = w
        # Dual objectives of the multipliers and of those implied last.
        self._known, self._implied = total - 0.5 * float(np.vdot(w, w)), -np.inf
        self.certificate = Certificate(np.inf, self._known)

    def evaluate(self) -> Evaluation:
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

    def narrow(self, at: Evaluation) -> bool:
        """Begin the next round; false if it would be too narrow."""
        self.losses.take_over()
        self._known, self._implied = at.certificate.dual, -np.inf
        self.width *= NARROWING
        return self.width >= LEAST_WIDTH

    def step(self, at: Evaluation) -> bool:
        """Take a step; false if rounding leaves none that leads down."""
        direction = self.directions.find(at.gradient, self.width)
        if direction is None:
            return False
        length = best_step(self.losses, self.w, at.gradient, direction, self.width)
        self.w = centred(self.w + length * direction)
        return length > 0.0

    def weights(self) -> Array:
        """Return the weights with the lowest objective."""
        return self._best

    def duals(self) -> Any:
        """Return the multipliers; None where they stay with the rows."""
        return None


class _State(NewtonState):
    """The state of rows in this memory."""

    def __init__(
        self,
        problem: MulticlassProblem,
        engine: Engine,
        start: sp.csr_array | None,
        weights: Any,
    ) -> None:
        self.problem, self._rounded = problem, SmoothedLosses(problem, engine)
        w, total = np.zeros((problem.n_classes, problem.size)), problem.lost_anyway
        if start is not None:
            pull, total = self._rounded.start_from(feasible(start, problem))
            w = centred(-pull)
        super().__init__(self._rounded, directions_of(self._rounded), w, total)
        if start is not None and isinstance(weights, np.ndarray) and weights.shape == w.shape:
            self.w = centred(weights)  # multipliers within `tol` may imply worse ones

    def duals(self) -> sp.csr_array:
        """Return the multipliers: the round's or those implied, whichever are better."""
        losses, problem = self._rounded, self.problem
        share = losses.multiplier if self._known > self._implied else losses.implied
        # Rows of zeros have no part in the weights; no solver gives them multipliers.
        scale = np.where(problem.squared_norms > 0, problem.bound, 0.0)
        return sp.csr_array(share * scale[:, None])
