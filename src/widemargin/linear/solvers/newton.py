r"""Newton's method for smooth losses, in the primal.

The objective is piecewise quadratic with a continuous gradient. Its generalised Hessian

.. math:: H = I + \sum_i \kappa_i x_i x_i^\top

has curvature :math:`\kappa_i` from the rows whose margin is on a curved piece of the loss.

1. One pass over the rows gives objective, gradient and certificate, and shows which rows
   changed their piece.
2. Up to ``DIRECT_SIZE`` weights, H is kept as a matrix to which the changed rows are added, and
   factorised. Above, the step is found by preconditioned conjugate gradients, to a tolerance that
   tightens with the gradient.
3. Where the full step does not make the objective fall enough, the best shorter one is taken,
   found by two passes that try ten steps each. Where that is very short or none, the next
   direction is damped: H gets a multiple of the diagonal that it would have if every row had
   curvature (Levenberg and Marquardt). That keeps weights in reach whose rows are all on a straight
   piece, and which H says nothing about.

The duality gap of ``w`` and of the duals that its margins imply is ½‖∇‖², so every pass carries
its certificate. Cost: a pass a step, plus O(changed rows × features²) or two passes over the
curved rows for each product with H.

References: Keerthi and DeCoste (2005) for steps 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.outcome import Outcome, Solution
from ...core.resources import DIRECT_SIZE, single_threaded_blas
from ..block_problem import AnyProblem
from ..history import LinearHistory
from ..problem import Curvature, Evaluation
from .starts import from_sample, untouched

# A step must achieve this share of the decrease that the quadratic model predicts.
SUFFICIENT = 1e-2
# Damping after the first step that failed.
FIRST_DAMPING = 1e-2
# Less damping is dropped.
LEAST_DAMPING = 1e-4
# With more damping the solver gives up.
MOST_DAMPING = 1e4
QUARTERS: Array = np.exp2(-np.arange(1.0, 21.0, 2.0))
BETWEEN: Array = np.exp2(np.linspace(-1.0, 1.0, 9))
# A shorter step than this means that the direction is poor.
SHORT_STEP = 0.01
# Differences of objectives below this share of them say nothing.
ROUNDING = 1e-13


def solve(
    problem: AnyProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
) -> Solution[Array]:
    """Minimise the objective from ``w`` (from a sample's solution, if it is zero).

    The duals implied at the end go to ``dual``, where the rows are in one place.
    """
    if untouched(w):
        started = from_sample(problem, solve, budget)
        w = w if started is None else started

    def done(at: Evaluation) -> bool:
        return at.certificate.relative_gap <= budget.tol

    found = descend(Hessian(problem), w, budget, history, done, dual)
    history.note(found.iterate, found.certificate, problem.evaluations, iterations=0)
    return found


def descend(
    hessian: Hessian,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    done: Callable[[Evaluation], bool],
    dual: Array | None = None,
) -> Solution[Array]:
    """Take Newton steps on the Hessian's problem until ``done`` says so."""
    at = hessian.evaluate(w, dual)
    outcome = None
    while outcome is None:
        if done(at):
            outcome = Outcome.CONVERGED
        elif history.iterations >= budget.max_iter:
            outcome = Outcome.ITERATIONS
        else:
            history.note(w, at.certificate, hessian.problem.evaluations)
            if budget.out_of_time:
                outcome = Outcome.TIME
                break
            moved = _step(hessian, w, at, dual)
            if moved is not None:
                w, at = moved
            elif not hessian.damp_more():
                outcome = Outcome.STALLED
    if hessian.went_back and dual is not None:
        hessian.evaluate(w, dual)
    return Solution(w, at.certificate, outcome, history.iterations)


def _step(
    hessian: Hessian, w: Array, at: Evaluation, dual: Array | None
) -> tuple[Array, Evaluation] | None:
    """Take the full step, or the best shorter one; None if none makes the objective fall."""
    before = hessian.curvature.copy()
    direction = hessian.solve(-at.gradient)
    if direction is None:
        return None
    new = w + direction
    there = hessian.evaluate(new, dual)
    if _fell_enough(at, there, direction):
        hessian.damp_less()
        return new, there
    step, lowest = _best_step(hessian.problem, w, direction)
    if lowest < at.objective - ROUNDING * abs(at.objective):
        if step < SHORT_STEP:
            hessian.damp_more()
        new = w + step * direction
        return new, hessian.evaluate(new, dual)
    hessian.restore(before)
    return None


def _fell_enough(at: Evaluation, there: Evaluation, direction: Array) -> bool:
    """Whether a step keeps what the quadratic model promised, up to rounding."""
    promised = -0.5 * float(at.gradient @ direction)
    fall = at.objective - there.objective
    if fall >= SUFFICIENT * promised:
        return True
    smaller = float(there.gradient @ there.gradient) < float(at.gradient @ at.gradient)
    return abs(fall) <= ROUNDING * abs(at.objective) and smaller


def _best_step(problem: AnyProblem, w: Array, direction: Array) -> tuple[float, float]:
    """Search along a direction: first by quarters, then between the neighbours of the best."""
    best = float(QUARTERS[np.argmin(problem.objectives_along(w, direction, QUARTERS))])
    steps = best * BETWEEN
    objectives = problem.objectives_along(w, direction, steps)
    return float(steps[np.argmin(objectives)]), float(np.min(objectives))


class Hessian:
    """The second derivative where a problem was evaluated last.

    Attributes
    ----------
    problem : LinearProblem or BlockProblem
        The problem; another one on the same rows may take its place.
    curvature : Curvature
        What the problem keeps of the last evaluation.
    damping : float
        Multiple of the full diagonal that is added.
    went_back : bool
        Whether the last evaluation was elsewhere.
    """

    def __init__(self, problem: AnyProblem) -> None:
        self.problem = problem
        self.curvature = problem.no_curvature(DIRECT_SIZE)
        self.damping = 0.0
        self.went_back = False
        self._full_diagonal: Array | None = None
        self._first_gradient: float | None = None

    def evaluate(self, w: Array, dual: Array | None) -> Evaluation:
        """Evaluate the problem, and be up to date there."""
        self.went_back = False
        return self.problem.track(w, self.curvature, dual)

    def restore(self, curvature: Curvature) -> None:
        """Go back to an earlier point."""
        self.curvature = curvature
        self.went_back = True

    def damp_more(self) -> bool:
        """Ask for shorter steps; false if they are as short as they get."""
        self.damping = max(FIRST_DAMPING, 10 * self.damping)
        return self.damping <= MOST_DAMPING

    def damp_less(self) -> None:
        """Let steps grow again, after one that went well."""
        self.damping = self.damping / 10 if self.damping > LEAST_DAMPING else 0.0

    def solve(self, target: Array) -> Array | None:
        """Solve (H + damping) p = target; None where rounding leaves H without a factor."""
        if self.curvature.gram is None:
            return self._conjugate_gradients(target)
        matrix = self.curvature.gram / self.problem.constants.below
        matrix[np.diag_indices_from(matrix)] += 1.0 + self._damping_diagonal()
        try:
            with single_threaded_blas():
                factor = scipy.linalg.cho_factor(matrix, lower=False, overwrite_a=True)
                return np.asarray(scipy.linalg.cho_solve(factor, target))
        except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
            return None

    def _damping_diagonal(self) -> Array | float:
        if self.damping == 0:
            return 0.0
        if self._full_diagonal is None:
            diagonal = self.problem.full_diagonal() - 1.0
            self._full_diagonal = diagonal * self.problem.constants.below
        return self.damping / self.problem.constants.below * self._full_diagonal

    def _conjugate_gradients(self, target: Array) -> Array:
        """Solve approximately, preconditioned by the diagonal."""
        norm = float(np.linalg.norm(target))
        if self._first_gradient is None:
            self._first_gradient = norm
        accuracy = min(0.1, np.sqrt(norm / self._first_gradient)) * norm
        damping = self._damping_diagonal()
        where = self.curvature.where
        scale = 1.0 / (self.problem.curvature_diagonal(where) + damping)
        p, residual = np.zeros_like(target), target.copy()
        scaled = scale * residual
        direction, rho = scaled.copy(), float(residual @ scaled)
        for _ in range(max(50, target.size)):
            if float(np.linalg.norm(residual)) <= accuracy:
                break
            image = self.problem.curvature_product(where, direction) + damping * direction
            step = rho / float(direction @ image)
            p += step * direction
            residual -= step * image
            scaled = scale * residual
            rho, before = float(residual @ scaled), rho
            direction = scaled + (rho / before) * direction
        return p
