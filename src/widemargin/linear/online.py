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

The hinge has no curvature; it is smoothed over margins of ``HINGE_WIDTH`` around 1.

No certificate bounds the distance of the result from the optimum over all rows.

Reference: Crammer, Kulesza and Dredze (2009), for the diagonal form with single rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from ..core.arrays import Array
from .problem import LinearProblem

# Narrower is nearer to the hinge, but leaves fewer rows with curvature.
HINGE_WIDTH = 1.0
# A batch is done when a Newton step promises less than this share of the objective.
ACCURACY = 1e-6
MOST_STEPS = 50
STEPS: Array = np.exp2(-np.arange(25.0))


def absorb(problem: LinearProblem, w: Array, past: Array) -> tuple[Array, Array]:
    """Return the weights after the rows of a problem, and the curvature of all rows so far.

    Parameters
    ----------
    problem : LinearProblem
        The new rows.
    w : array of shape (size,)
        Weights before.
    past : array of shape (size, size) or (size,)
        M, or its diagonal; the identity before the first rows.
    """
    problem = _smooth(problem)
    center = w
    piece: NDArray[np.int8] = np.zeros(problem.n_rows, dtype=np.int8)
    gram = np.zeros_like(past) if past.ndim == 2 else None
    for step in range(MOST_STEPS + 1):
        at = problem.evaluate(w, piece=piece, gram=gram)
        away = _times(past, w - center)
        objective = at.objective - 0.5 * float(w @ w) + 0.5 * float(away @ (w - center))
        gradient = at.gradient - w + away
        direction = -_solve(problem, past, piece, gram, gradient)
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
    if gram is None:
        return w, past + problem.curvature_diagonal(piece) - 1.0
    return w, past + _whole(gram) / problem.constants.below


def _smooth(problem: LinearProblem) -> LinearProblem:
    c = problem.constants
    if c.smooth:
        return problem
    rounded = replace(
        c, lower_margin=c.lower_margin + 0.5 * HINGE_WIDTH, below=HINGE_WIDTH / c.bound
    )
    return problem.with_loss(rounded)


def _whole(gram: Array) -> Array:
    """Return a symmetric matrix of which the upper triangle is given."""
    upper = np.triu(gram)
    return np.asarray(upper + np.triu(upper, 1).T)


def _times(past: Array, vector: Array) -> Array:
    return past @ vector if past.ndim == 2 else past * vector


def _solve(
    problem: LinearProblem,
    past: Array,
    piece: NDArray[np.int8],
    gram: Array | None,
    target: Array,
) -> Array:
    """Solve (M + curvature of the new rows) p = target."""
    if gram is not None:
        matrix = past + gram / problem.constants.below
        factor = scipy.linalg.cho_factor(matrix, lower=False, overwrite_a=True)
        return np.asarray(scipy.linalg.cho_solve(factor, target))
    scale = 1.0 / (past + problem.curvature_diagonal(piece) - 1.0)
    shape = (problem.size, problem.size)

    def image(p: Array) -> Array:
        return past * p + problem.curvature_product(piece, p) - p

    operator = scipy.sparse.linalg.LinearOperator(shape, matvec=image, dtype=np.float64)
    preconditioner = scipy.sparse.linalg.LinearOperator(
        shape, matvec=lambda p: scale * p, dtype=np.float64
    )
    p, _ = scipy.sparse.linalg.cg(operator, target, rtol=1e-4, maxiter=200, M=preconditioner)
    return np.asarray(p)
