r"""Newton directions where a row's losses compare other classes with its own.

A curved loss of a row of class y for class c has curvature along :math:`w_c - w_y` only. So all
classes are coupled, and with

.. math:: G_{yc} = \frac{1}{\delta} \sum_{i \in y\ \mathrm{curved\ for}\ c} C_i x_i x_i^\top

the Hessian has the blocks :math:`H_{cc} = I + \sum_y (G_{yc} + G_{cy})` and
:math:`H_{yc} = -(G_{yc} + G_{cy})`. Memory: four matrices of the size of all weights squared
while they are made into one, and for short rows the products of their features.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...core.arrays import Array
from ..problem import MulticlassProblem
from .newton_smoothed import BLOCK_NUMBERS, SmoothedLosses

# Up to so many bytes, all products of two features are kept and multiplied by which losses are
# curved, for all classes at once; rows of few features are not worth choosing one class at a time.
PRODUCTS_BYTES = 64 * 2**20
SMALL_SIZE = 32


def keeps_products(problem: MulticlassProblem) -> bool:
    """Whether products of features are few enough to be kept."""
    pairs = problem.size * (problem.size + 1) // 2
    return problem.size <= SMALL_SIZE and 8 * problem.n_rows * pairs <= PRODUCTS_BYTES


def coupled_direction(grams: Array, gradient: Array, width: float) -> Array | None:
    """Return the direction, given sums over rows by their class and that they are curved for.

    None where rounding leaves a matrix without a factor.
    """
    try:
        factor = scipy.linalg.cho_factor(_hessian(grams / width), lower=True, overwrite_a=True)
        step = scipy.linalg.cho_solve(factor, gradient.ravel())
    except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
        return None
    return np.asarray(-step.reshape(gradient.shape))


class CoupledDirections:
    """Newton directions of rounded losses that compare classes."""

    def __init__(self, losses: SmoothedLosses) -> None:
        self.losses = losses
        codes, n_classes = losses.problem.codes, losses.problem.n_classes
        by_class = np.argsort(codes, kind="stable")
        self._members = np.split(
            by_class, np.searchsorted(codes[by_class], np.arange(1, n_classes))
        )
        self._root = np.sqrt(losses.problem.bound)
        self._upper = np.triu_indices(losses.problem.size)
        self._products: list[Array] | None = None
        if keeps_products(losses.problem):
            self._products = losses.engine.map(list(range(n_classes)), self._products_of)

    def find(self, gradient: Array, width: float) -> Array | None:
        """Return the direction; None where rounding leaves a matrix without a factor."""
        return coupled_direction(self.grams(), gradient, width)

    def grams(self) -> Array:
        """Return sums over rows by their class and the class that they are curved for."""
        gram_of = self._chosen_gram if self._products is None else self._gram_of_products
        return np.array(self.losses.engine.map(list(range(len(self._members))), gram_of))

    def _weighted(self, rows: NDArray[np.int64]) -> Array:
        return self.losses.rows(rows) * self._root[rows, None]

    def _products_of(self, y: int) -> Array:
        i, j = self._upper
        weighted = self._weighted(self._members[y])
        return np.asarray(weighted[:, i] * weighted[:, j])

    def _gram_of_products(self, y: int) -> Array:
        """Return the sums of a class's rows, by the class that they are curved for."""
        assert self._products is not None
        problem, (i, j) = self.losses.problem, self._upper
        curved = self.losses.curved[self._members[y]].astype(np.float64)
        gram = np.empty((problem.n_classes, problem.size, problem.size))
        gram[:, i, j] = gram[:, j, i] = curved.T @ self._products[y]
        return gram

    def _chosen_gram(self, y: int) -> Array:
        """Return the same, choosing the rows of one class after another."""
        problem, members = self.losses.problem, self._members[y]
        step = max(1, BLOCK_NUMBERS // problem.size)
        gram = np.zeros((problem.n_classes, problem.size, problem.size))
        for first in range(0, members.size, step):
            rows = members[first : first + step]
            rows = rows[self.losses.curved[rows].any(axis=1)]
            weighted, curved = self._weighted(rows), self.losses.curved[rows]
            for c in np.flatnonzero(curved.any(axis=0)):
                chosen = weighted[curved[:, c]]
                gram[c] += chosen.T @ chosen
        return gram


def _hessian(gram: Array) -> Array:
    """Lay the blocks out as one matrix, in LAPACK's order."""
    n_classes, _, size, _ = gram.shape
    both = gram + gram.transpose(1, 0, 2, 3)
    diagonal = both.sum(axis=1)
    np.negative(both, out=both)
    for c in range(n_classes):
        both[c, c] = diagonal[c]
    matrix = both.transpose(0, 2, 1, 3).reshape(n_classes * size, -1).T  # symmetric
    matrix[np.diag_indices_from(matrix)] += 1.0
    return np.asarray(matrix)
