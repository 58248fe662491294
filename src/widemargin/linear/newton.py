r"""Newton's method for smooth losses, in the primal.

The objective is piecewise quadratic with a continuous gradient. Its generalised Hessian

.. math:: H = I + \sum_i \kappa_i x_i x_i^\top

has curvature :math:`\kappa_i` from the rows whose margin is on a curved piece of the loss.

1. One pass over the rows gives objective, gradient and certificate, and tells which rows changed
   their piece.
2. Up to ``DIRECT_SIZE`` weights, H is kept as a matrix to which the changed rows are added, and
   factorised. Above, the step is found by preconditioned conjugate gradients, to a tolerance that
   tightens with the gradient.
3. A step that does not make the objective fall enough is not taken, and the next one is damped: H
   gets a multiple of the diagonal that it would have if every row had curvature (Levenberg and
   Marquardt). That keeps weights in reach whose rows are all on a straight piece, and which H says
   nothing about.

The duality gap of ``w`` and of the duals that its margins imply is ½‖∇‖², so every pass carries
its certificate. Cost: a pass a step, plus O(changed rows × features²) or two passes over the
curved rows for each product with H.

References: Keerthi and DeCoste (2005) for steps 1 and 2.
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
from .sample_start import sample_monitor, sampled, untouched
from .solution import LinearSolution

# Up to this many weights the Hessian is kept: 8 MB, factorised in 30 ms.
DIRECT_SIZE = 1000
# Share of the decrease that the quadratic model promises which a step must bring.
SUFFICIENT = 1e-2
# The damping after a first step that failed, when to forget it, and when to give up.
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-4, 1e4


def solve(
    problem: LinearProblem, w: Array, monitor: LinearMonitor, dual: Array | None = None
) -> LinearSolution:
    """Minimise the objective from ``w`` (from a sample's solution, if it is zero).

    The duals implied at the end go to ``dual``.
    """
    sample = sampled(problem) if untouched(w) else None
    if sample is not None:
        w = solve(sample, w, sample_monitor(monitor)).w
        problem.evaluations += sample.evaluations
        del sample  # its memory
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
    outcome, went_back = Outcome.CONVERGED, False
    while not done(at):
        if monitor.record(at.certificate, problem.evaluations, w):
            outcome = Outcome.TIME
            break
        if monitor.iterations > monitor.max_iter:
            outcome = Outcome.ITERATIONS
            break
        before = hessian.state()
        direction = hessian.solve(-at.gradient)
        there = hessian.evaluate(w + direction, dual)
        if _fell_enough(at, there, direction):
            w, at, went_back = w + direction, there, False
            hessian.damp_less()
            continue
        hessian.restore(before)
        went_back = True
        if not hessian.damp_more():
            outcome = Outcome.STALLED
            break
    if went_back and dual is not None:
        hessian.evaluate(w, dual)
    monitor.record(at.certificate, problem.evaluations, w)
    return LinearSolution(w, at.certificate, outcome, monitor.iterations)


def _fell_enough(at: Evaluation, there: Evaluation, direction: Array) -> bool:
    """Whether a step keeps what the quadratic model promised, as far as rounding lets one see."""
    promised = -0.5 * float(at.gradient @ direction)
    fall = at.objective - there.objective
    if fall >= SUFFICIENT * promised:
        return True
    noise = 1e-13 * abs(at.objective)
    smaller = float(there.gradient @ there.gradient) < float(at.gradient @ at.gradient)
    return abs(fall) <= noise and smaller


class Hessian:
    """The second derivative where the problem was evaluated last."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.piece: NDArray[np.int8] = np.zeros(problem.n_rows, dtype=np.int8)
        direct = problem.size <= DIRECT_SIZE
        self.gram = np.zeros((problem.size, problem.size)) if direct else None
        self.damping = 0.0
        self._full_diagonal: Array | None = None
        self._first_gradient: float | None = None

    def evaluate(self, w: Array, dual: Array | None) -> Evaluation:
        """Evaluate the problem, and be up to date there."""
        return self.problem.evaluate(w, dual=dual, piece=self.piece, gram=self.gram)

    def state(self) -> tuple[NDArray[np.int8], Array | None]:
        """Copy what an evaluation elsewhere would change."""
        return self.piece.copy(), None if self.gram is None else self.gram.copy()

    def restore(self, state: tuple[NDArray[np.int8], Array | None]) -> None:
        """Go back to where ``state`` was taken."""
        self.piece, self.gram = state

    def damp_more(self) -> bool:
        """Ask for shorter steps; false if they are as short as they get."""
        self.damping = max(FIRST_DAMPING, 10 * self.damping)
        return self.damping <= MOST_DAMPING

    def damp_less(self) -> None:
        """Let steps grow again, after one that went well."""
        self.damping = self.damping / 10 if self.damping > LEAST_DAMPING else 0.0

    def solve(self, target: Array) -> Array:
        """Solve (H + damping) p = target."""
        if self.gram is None:
            return self._conjugate_gradients(target)
        matrix = self.gram / self.problem.constants.below
        matrix[np.diag_indices_from(matrix)] += 1.0 + self._damping_diagonal()
        with single_threaded_blas():
            factor = scipy.linalg.cho_factor(matrix, lower=False, overwrite_a=True)
            return np.asarray(scipy.linalg.cho_solve(factor, target))

    def _damping_diagonal(self) -> Array | float:
        if self.damping == 0:
            return 0.0
        if self._full_diagonal is None:
            everywhere = np.ones_like(self.piece)
            diagonal = self.problem.curvature_diagonal(everywhere) - 1.0
            self._full_diagonal = diagonal * self.problem.constants.below
        return self.damping / self.problem.constants.below * self._full_diagonal

    def _conjugate_gradients(self, target: Array) -> Array:
        """Solve approximately, preconditioned by the diagonal."""
        norm = float(np.linalg.norm(target))
        if self._first_gradient is None:
            self._first_gradient = norm
        accuracy = min(0.1, np.sqrt(norm / self._first_gradient)) * norm
        damping = self._damping_diagonal()
        scale = 1.0 / (self.problem.curvature_diagonal(self.piece) + damping)
        p, residual = np.zeros_like(target), target.copy()
        scaled = scale * residual
        direction, rho = scaled.copy(), float(residual @ scaled)
        for _ in range(max(50, target.size)):
            if float(np.linalg.norm(residual)) <= accuracy:
                break
            image = self.problem.curvature_product(self.piece, direction) + damping * direction
            step = rho / float(direction @ image)
            p += step * direction
            residual -= step * image
            scaled = scale * residual
            rho, before = float(residual @ scaled), rho
            direction = scaled + (rho / before) * direction
        return p
