r"""Learning from rows that are seen once.

After some batches of rows, their part of the objective is remembered by its second-order expansion
at the weights found so far,

.. math:: \tfrac12 (w - c)^\top M (w - c), \qquad
          M = I + \sum_{\text{past}} \kappa_i x_i x_i^\top .

The weights of the next batch minimise this plus the batch's own loss, by Newton's method; then
:math:`c` moves there and :math:`M` grows by the batch's curvature. The losses are piecewise
quadratic, so the expansion is exact for all rows that have stayed on their piece since. ``M`` is a
matrix, or its diagonal where a matrix would be too large: then features are taken as if they were
independent, as in adaptive regularisation of weights, but for whole batches.

The hinge has no curvature; it is smoothed over margins of ``HINGE_WIDTH`` around 1, absolute losses
over residuals of ``ABSOLUTE_WIDTH``.

No certificate bounds the distance of the result from the optimum over all rows.

Reference: Crammer, Kulesza and Dredze (2009), for the diagonal form with single rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ..core.arrays import Array
from ..core.blocks import GATHERED_BYTES, RowBlock, joined
from ..core.budget import Budget
from ..core.resources import DIRECT_SIZE, single_threaded_blas
from ..engines import LocalEngine
from .block_problem import AnyProblem, BlockProblem
from .problem import Curvature
from .problems import LinearProblems

# Narrower is nearer to the hinge, but leaves fewer rows with curvature.
HINGE_WIDTH = 1.0
# The same for the absolute losses of regression, in the unit of the targets.
ABSOLUTE_WIDTH = 0.2
# A batch is done when a Newton step promises less than this share of the objective.
ACCURACY = 1e-6
MOST_STEPS = 50
STEPS: Array = np.exp2(-np.arange(25.0))


def absorb(problem: AnyProblem, w: Array, past: Array) -> tuple[Array, Array]:
    """Return the weights after the rows of a problem, and the curvature of all rows so far.

    Parameters
    ----------
    problem : LinearProblem or BlockProblem
        The new rows.
    w : array of shape (size,)
        Weights before.
    past : array of shape (size, size) or (size,)
        M, or its diagonal; the identity before the first rows.
    """
    problem = _smooth(problem)
    center = w
    curvature = problem.no_curvature(0)
    curvature.gram = np.zeros_like(past) if past.ndim == 2 else None
    for step in range(MOST_STEPS + 1):
        at = problem.track(w, curvature)
        away = _times(past, w - center)
        objective = at.objective - 0.5 * float(w @ w) + 0.5 * float(away @ (w - center))
        gradient = at.gradient - w + away
        direction = -_solve(problem, past, curvature, gradient)
        slope = float(gradient @ direction)
        if step == MOST_STEPS or -0.5 * slope <= ACCURACY * objective:
            break
        losses = problem.objectives_along(w, direction, STEPS)
        norms = float(w @ w) + 2 * STEPS * float(w @ direction)
        norms += STEPS**2 * float(direction @ direction)
        bend = float(direction @ _times(past, direction))
        along = losses - 0.5 * norms + 0.5 * float(away @ (w - center))
        along += STEPS * float(away @ direction) + 0.5 * STEPS**2 * bend
        best = int(np.argmin(along))
        if not along[best] < objective:
            break
        w = w + STEPS[best] * direction
    if curvature.gram is None:
        return w, past + problem.curvature_diagonal(curvature.where) - 1.0
    return w, past + _whole(curvature.gram) / problem.constants.below


def first_state(problems: LinearProblems, memory: int) -> tuple[Array, Array]:
    """Return weights and curvatures of all problems before the first rows, as (problems, …)."""
    shape = n_problems, size = problems.n_problems, problems.size
    past = np.ones(shape)
    if size <= DIRECT_SIZE and 8 * n_problems * size**2 <= memory:
        past = np.asarray(past[:, :, None] * np.eye(size))
    return np.zeros(shape), past


def absorb_all(
    problems: LinearProblems, budget: Budget, w: Array, past: Array
) -> tuple[Array, Array]:
    """Learn from new rows in all problems, where the rows are."""
    if problems.whole is None and not problems.engine.in_process:
        if problems.stored_bytes <= min(GATHERED_BYTES, budget.memory):
            posed = replace(problems, engine=LocalEngine(budget.threads), blocks=None)
            return problems.engine.together(problems.blocks, AbsorbTogether(posed, budget, w, past))
        at_once = threads = 1  # jobs of one problem keep the cluster busy
    else:
        at_once = problems.at_once(budget)
        threads = budget.threads // at_once

    def learn(k: int) -> tuple[Array, Array]:
        return absorb(problems.posed(k, threads), w[k], past[k])

    with single_threaded_blas():
        learnt = LocalEngine(at_once).map(list(range(problems.n_problems)), learn)
    return np.stack([each[0] for each in learnt]), np.stack([each[1] for each in learnt])


@dataclass(frozen=True)
class AbsorbTogether:
    """Learns from all blocks together, in one task."""

    problems: LinearProblems
    budget: Budget
    w: Array
    past: Array

    def __call__(self, blocks: list[RowBlock]) -> tuple[Array, Array]:
        """Return weights and curvatures after the rows."""
        problems = replace(self.problems, whole=joined(blocks))
        return absorb_all(problems, self.budget, self.w, self.past)


def _smooth(problem: AnyProblem) -> AnyProblem:
    c = problem.constants
    if c.smooth:
        return problem
    # The multipliers of a first round centre the curve where the loss has its kink.
    rounded = c.rounded(HINGE_WIDTH if c.floor == 0 else ABSOLUTE_WIDTH)
    if isinstance(problem, BlockProblem):
        return replace(problem, pose=replace(problem.pose, constants=rounded))
    return problem.with_loss(rounded, problem.first_multipliers())


def _whole(gram: Array) -> Array:
    """Return a symmetric matrix of which the upper triangle is given."""
    upper = np.triu(gram)
    return np.asarray(upper + np.triu(upper, 1).T)


def _times(past: Array, vector: Array) -> Array:
    return past @ vector if past.ndim == 2 else past * vector


def _solve(problem: AnyProblem, past: Array, curvature: Curvature, target: Array) -> Array:
    """Solve (M + curvature of the new rows) p = target."""
    if curvature.gram is not None:
        matrix = past + curvature.gram / problem.constants.below
        factor = scipy.linalg.cho_factor(matrix, lower=False, overwrite_a=True)
        return np.asarray(scipy.linalg.cho_solve(factor, target))
    scale = 1.0 / (past + problem.curvature_diagonal(curvature.where) - 1.0)
    shape = (problem.size, problem.size)

    def image(p: Array) -> Array:
        return past * p + problem.curvature_product(curvature.where, p) - p

    operator = scipy.sparse.linalg.LinearOperator(shape, matvec=image, dtype=np.float64)
    preconditioner = scipy.sparse.linalg.LinearOperator(
        shape, matvec=lambda p: scale * p, dtype=np.float64
    )
    p, _ = scipy.sparse.linalg.cg(operator, target, rtol=1e-4, maxiter=200, M=preconditioner)
    return np.asarray(p)
