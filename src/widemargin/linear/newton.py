r"""Newton's method for smooth losses, in the primal.

The objective is piecewise quadratic with a continuous gradient. Its generalised Hessian

.. math:: H = I + \sum_i \kappa_i x_i x_i^\top

has curvature :math:`\kappa_i` from the rows whose margin is on a curved piece of the loss.

1. One pass over the rows gives objective, gradient and certificate, and tells which rows changed
   their piece.
2. Up to ``DIRECT_SIZE`` features, H is kept as a matrix to which the changed rows are added, and
   factorised. Above, H p = −∇ is solved by preconditioned conjugate gradients to a tolerance that
   tightens with the gradient.
3. The full step is taken if the objective falls enough (Armijo); otherwise the best of a ladder of
   shorter steps, all tried in one more pass.

The duality gap of ``w`` and of the duals that its margins imply is ½‖∇‖², so every pass carries
its certificate. Cost: a pass a step, plus O(changed rows × features²) or two passes over the
curved rows for each product with H.

References: Keerthi and DeCoste (2005); Galli and Lin (2021).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..losses import Array
from ..resources import single_threaded_blas
from ..solvers.outcome import Outcome
from .monitor import LinearMonitor
from .problem import Evaluation, LinearProblem
from .solution import LinearSolution

# Up to this many weights the Hessian is kept: 8 MB, factorised in 30 ms.
DIRECT_SIZE = 1000
SUFFICIENT = 1e-4
SHORTER_STEPS: Array = np.exp2(-np.arange(1.0, 25.0))


def solve(
    problem: LinearProblem, w: Array, monitor: LinearMonitor, dual: Array | None = None
) -> LinearSolution:
    """Minimise the objective, starting from ``w``; the duals implied at the end go to ``dual``."""
    return descend(problem, w, monitor, lambda at: at.certificate.relative_gap <= monitor.tol, dual)


def descend(
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    done: Callable[[Evaluation], bool],
    dual: Array | None = None,
    hessian: Hessian | None = None,
) -> LinearSolution:
    """Take Newton steps until ``done`` says so; ``hessian`` is one of these rows to go on with."""
    hessian = hessian or Hessian(problem)
    hessian.problem = problem
    at = hessian.evaluate(w, dual)
    outcome = Outcome.CONVERGED
    while not done(at):
        if monitor.record(at.certificate, problem.evaluations, w):
            outcome = Outcome.TIME
            break
        if monitor.iterations >= monitor.max_iter:
            outcome = Outcome.ITERATIONS
            break
        direction = hessian.solve(-at.gradient)
        moved = _step(problem, hessian, w, direction, at, dual)
        if moved is None:
            outcome = Outcome.STALLED
            break
        w, at = moved
    monitor.record(at.certificate, problem.evaluations, w)
    return LinearSolution(w, at.certificate, outcome, monitor.iterations)


def _step(
    problem: LinearProblem,
    hessian: Hessian,
    w: Array,
    direction: Array,
    at: Evaluation,
    dual: Array | None,
) -> tuple[Array, Evaluation] | None:
    """Take the full step or the best shorter one; None if none makes the objective fall."""
    slope = float(at.gradient @ direction)
    if not slope < 0:
        return None
    # What rounding makes of an objective; differences below it say nothing.
    noise = 1e-14 * abs(at.objective)
    new = w + direction
    there = hessian.evaluate(new, dual)
    if there.objective <= at.objective + SUFFICIENT * slope + noise:
        better = there.objective < at.objective
        return (new, there) if better or _smaller(there.gradient, at.gradient) else None
    objectives = problem.objectives_along(w, direction, SHORTER_STEPS)
    best = int(np.argmin(objectives))
    if not objectives[best] < at.objective - noise:
        return None
    new = w + SHORTER_STEPS[best] * direction
    return new, hessian.evaluate(new, dual)


def _smaller(a: Array, b: Array) -> bool:
    return float(a @ a) < float(b @ b)


class Hessian:
    """The second derivative where the problem was evaluated last."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.piece: NDArray[np.int8] = np.zeros(problem.n_rows, dtype=np.int8)
        direct = problem.size <= DIRECT_SIZE
        self.gram = np.zeros((problem.size, problem.size)) if direct else None
        self._first_gradient: float | None = None

    def evaluate(self, w: Array, dual: Array | None) -> Evaluation:
        """Evaluate the problem, and be up to date there."""
        return self.problem.evaluate(w, dual=dual, piece=self.piece, gram=self.gram)

    def solve(self, target: Array) -> Array:
        """Solve H p = target."""
        if self.gram is None:
            return self._conjugate_gradients(target)
        matrix = self.gram / self.problem.constants.below
        matrix[np.diag_indices_from(matrix)] += 1.0
        with single_threaded_blas():
            factor = scipy.linalg.cho_factor(matrix, lower=False, overwrite_a=True)
            return np.asarray(scipy.linalg.cho_solve(factor, target))

    def _conjugate_gradients(self, target: Array) -> Array:
        """Solve approximately, preconditioned by the diagonal."""
        norm = float(np.linalg.norm(target))
        if self._first_gradient is None:
            self._first_gradient = norm
        accuracy = min(0.1, np.sqrt(norm / self._first_gradient)) * norm
        scale = 1.0 / self.problem.curvature_diagonal(self.piece)
        p, residual = np.zeros_like(target), target.copy()
        scaled = scale * residual
        direction, rho = scaled.copy(), float(residual @ scaled)
        for _ in range(max(50, target.size)):
            if float(np.linalg.norm(residual)) <= accuracy:
                break
            image = self.problem.curvature_product(self.piece, direction)
            step = rho / float(direction @ image)
            p += step * direction
            residual -= step * image
            scaled = scale * residual
            rho, before = float(residual @ scaled), rho
            direction = scaled + (rho / before) * direction
        return p
