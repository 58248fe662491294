r"""Newton directions for weights that sum to zero.

The rounded losses do not couple classes; each has its own Hessian

.. math:: H_c = I + \frac{1}{\delta} \sum_{i\ \mathrm{curved}} C_i x_i x_i^\top .

The constraint couples them by one vector: :math:`p_c = -H_c^{-1}(g_c - \mu)` with
:math:`\sum_c H_c^{-1} \mu = \sum_c H_c^{-1} g_c`. Memory: a matrix of size × size for every class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...core.arrays import Array
from ...engines import Engine
from .newton_smoothed import BLOCK_NUMBERS, SmoothedLosses


def centred(w: Array) -> Array:
    """Return weights, or a direction, with what makes them sum to zero taken off."""
    return np.asarray(w - w.mean(axis=0))


def direction_of(
    gram_of: Callable[[int], Array], gradient: Array, width: float, engine: Engine
) -> Array | None:
    """Return the direction, given sums over the curved rows of each class.

    None where rounding leaves a matrix without a factor.
    """

    def invert(c: int) -> tuple[Array, Array]:
        """Return a class's inverse Hessian (its upper half) and the product with the gradient."""
        matrix = gram_of(c) / width
        matrix[np.diag_indices_from(matrix)] += 1.0
        factor = scipy.linalg.cholesky(matrix, overwrite_a=True)
        newton = scipy.linalg.cho_solve((factor, False), gradient[c])
        inverse, _ = scipy.linalg.lapack.dpotri(factor, overwrite_c=True)
        return inverse, newton

    try:
        solved = engine.map(list(range(len(gradient))), invert)
        total = sum(inverse for inverse, _ in solved)  # one by one: they are large
        own = np.array([newton for _, newton in solved])
        common = scipy.linalg.solve(total, own.sum(axis=0), assume_a="pos")
    except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
        return None
    shared = [scipy.linalg.blas.dsymv(1.0, inverse, common) for inverse, _ in solved]
    return centred(np.array(shared) - own)


class Directions:
    """Newton directions of rounded losses."""

    def __init__(self, losses: SmoothedLosses) -> None:
        self.losses = losses
        self._root = np.sqrt(losses.problem.bound)
        # Where most rows are curved, those that are not are taken off all.
        (self._all,) = losses.total(lambda block: (self._block_gram(block),))

    def find(self, gradient: Array, width: float) -> Array | None:
        """Return the direction; None where rounding leaves a matrix without a factor."""
        return direction_of(self._gram, gradient, width, self.losses.engine)

    def grams(self) -> Array:
        """Return sums over rows by the class that they are curved for."""
        return np.array([self._gram(c) for c in range(self.losses.problem.n_classes)])

    def _gram(self, c: int) -> Array:
        curved = self.losses.curved[:, c]
        few = 2 * int(np.count_nonzero(curved)) <= curved.size
        rows = np.flatnonzero(curved if few else ~curved)
        gram = np.zeros_like(self._all)
        step = max(1, BLOCK_NUMBERS // len(gram))
        for first in range(0, rows.size, step):
            gram += self._block_gram(rows[first : first + step])
        return gram if few else np.asarray(self._all - gram)

    def _block_gram(self, rows: slice | NDArray[np.int64]) -> Array:
        weighted = self.losses.rows(rows) * self._root[rows, None]
        return np.asarray(weighted.T @ weighted)
