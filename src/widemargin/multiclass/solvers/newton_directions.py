r"""Newton directions of rounded losses, from sums over the curved rows of all blocks.

In ``llw`` the rounded losses do not couple classes; each has its own Hessian

.. math:: H_c = I + \frac{1}{\delta} \sum_{i\ \mathrm{curved\ for}\ c} C_i x_i x_i^\top .

The constraint couples them by one vector: :math:`p_c = -H_c^{-1}(g_c - \mu)` with
:math:`\sum_c H_c^{-1} \mu = \sum_c H_c^{-1} g_c`. Memory: a matrix of size × size for every class.

In ``ww`` a curved loss of a row of class y for class c has curvature along :math:`w_c - w_y` only.
So all classes are coupled, and with

.. math:: G_{yc} = \frac{1}{\delta} \sum_{i \in y\ \mathrm{curved\ for}\ c} C_i x_i x_i^\top

the Hessian has the blocks :math:`H_{cc} = I + \sum_y (G_{yc} + G_{cy})` and
:math:`H_{yc} = -(G_{yc} + G_{cy})`. Memory: four matrices of the size of all weights squared
while they are made into one, and for short rows the products of their features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...core.arrays import Array
from ...engines import LocalEngine
from ..problem import MulticlassObjective
from . import newton_losses
from .newton_losses import SmoothedLosses

# Products of all pairs of features are kept if they take at most this many bytes. One matrix
# product with the indicators of curved losses then gives the Hessians of all classes.
PRODUCTS_BYTES = 64 * 2**20
# Products are kept only up to this many weights per class.
SMALL_SIZE = 32
# With fewer multiplications, distributing classes over threads takes longer than the work itself.
THREADED_WORK = 2**20


def centred(w: Array) -> Array:
    """Return weights, or a direction, minus their mean, so that they sum to zero."""
    return np.asarray(w - w.mean(axis=0))


def keeps_products(objective: MulticlassObjective, n_rows: int) -> bool:
    """Return whether products of features are few enough to be kept."""
    pairs = objective.size * (objective.size + 1) // 2
    return objective.size <= SMALL_SIZE and 8 * n_rows * pairs <= PRODUCTS_BYTES


def _of_classes(
    n_classes: int, fn: Callable[[int], Any], engine: LocalEngine, work: int
) -> list[Any]:
    """Apply a function to every class, with threads if there is enough work for them."""
    classes = list(range(n_classes))
    return engine.map(classes, fn) if work > THREADED_WORK else list(map(fn, classes))


def direction_of(
    formulation: str, grams: Array, gradient: Array, width: float, engine: LocalEngine
) -> Array | None:
    """Return the direction, given sums over curved rows, which are overwritten.

    None where rounding leaves a matrix without a factor.
    """
    try:
        if formulation == "ww":
            return _coupled_direction(grams, gradient, width)
        return _centred_direction(grams, gradient, width, engine)
    except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
        return None


def _centred_direction(
    grams: Array, gradient: Array, width: float, engine: LocalEngine
) -> Array | None:
    def invert(c: int) -> tuple[Array, Array]:
        """Return a class's inverse Hessian (its upper half) and the product with the gradient."""
        matrix = grams[c]
        matrix /= width
        matrix[np.diag_indices_from(matrix)] += 1.0
        # Symmetric; in LAPACK's order it is overwritten and not copied.
        factor = scipy.linalg.cholesky(matrix.T, overwrite_a=True)
        newton = scipy.linalg.cho_solve((factor, False), gradient[c])
        inverse, _ = scipy.linalg.lapack.dpotri(factor, overwrite_c=True)
        return inverse, newton

    solved = _of_classes(len(gradient), invert, engine, work=gradient.size * gradient.shape[1] ** 2)
    total = sum(inverse for inverse, _ in solved)  # one by one: they are large
    own = np.array([newton for _, newton in solved])
    common = scipy.linalg.solve(total, own.sum(axis=0), assume_a="pos")
    shared = [scipy.linalg.blas.dsymv(1.0, inverse, common) for inverse, _ in solved]
    return centred(np.array(shared) - own)


def _coupled_direction(grams: Array, gradient: Array, width: float) -> Array:
    factor = scipy.linalg.cho_factor(_hessian(grams / width), lower=True, overwrite_a=True)
    step = scipy.linalg.cho_solve(factor, gradient.ravel())
    return np.asarray(-step.reshape(gradient.shape))


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


class ClassSums:
    """Sums over the rows of a block that are curved for a class; for ``llw``."""

    def __init__(self, losses: SmoothedLosses) -> None:
        self.losses = losses
        self._root = np.sqrt(losses.problem.bound)
        # If most rows are curved, the sum over the others is subtracted from the sum over all rows.
        (self._all,) = losses.total(lambda part: (self._gram_of(part),))

    def grams(self) -> Array:
        """Return the sums as (classes, size, size)."""
        grams = np.empty((self.losses.problem.objective.n_classes, *self._all.shape))

        def fill(c: int) -> None:
            grams[c] = self._gram(c)

        work = self.losses.problem.n_rows * grams.size
        _of_classes(len(grams), fill, self.losses.engine, work)
        return grams

    def _gram(self, c: int) -> Array:
        curved = self.losses.curved[:, c]
        few = 2 * int(np.count_nonzero(curved)) <= curved.size
        rows = np.flatnonzero(curved if few else ~curved)
        gram = np.zeros_like(self._all)
        step = max(1, newton_losses.SLICE_NUMBERS // len(gram))
        for first in range(0, rows.size, step):
            gram += self._gram_of(rows[first : first + step])
        return gram if few else np.asarray(self._all - gram)

    def _gram_of(self, rows: slice | NDArray[np.int64]) -> Array:
        weighted = self.losses.rows(rows) * self._root[rows, None]
        return np.asarray(weighted.T @ weighted)


class PairSums:
    """Sums over a block's rows by their class and the class that they are curved for: ``ww``."""

    def __init__(self, losses: SmoothedLosses) -> None:
        self.losses, problem = losses, losses.problem
        n_classes = problem.objective.n_classes
        by_class = np.argsort(problem.codes, kind="stable")
        self._members = np.split(
            by_class, np.searchsorted(problem.codes[by_class], np.arange(1, n_classes))
        )
        self._root = np.sqrt(problem.bound)
        self._upper = np.triu_indices(problem.objective.size)
        self._products: list[Array] | None = None
        if keeps_products(problem.objective, problem.n_rows):
            self._products = losses.engine.map(list(range(n_classes)), self._products_of)

    def grams(self) -> Array:
        """Return the sums as (classes, classes, size, size)."""
        gram_of = self._chosen_gram if self._products is None else self._gram_of_products
        problem = self.losses.problem
        work = problem.n_rows * problem.objective.n_classes * problem.objective.size**2
        return np.array(_of_classes(len(self._members), gram_of, self.losses.engine, work))

    def _weighted(self, rows: NDArray[np.int64]) -> Array:
        return self.losses.rows(rows) * self._root[rows, None]

    def _products_of(self, y: int) -> Array:
        i, j = self._upper
        weighted = self._weighted(self._members[y])
        return np.asarray(weighted[:, i] * weighted[:, j])

    def _gram_of_products(self, y: int) -> Array:
        """Return the sums of a class's rows, by the class that they are curved for."""
        assert self._products is not None
        objective, (i, j) = self.losses.problem.objective, self._upper
        curved = self.losses.curved[self._members[y]].astype(np.float64)
        gram = np.empty((objective.n_classes, objective.size, objective.size))
        gram[:, i, j] = gram[:, j, i] = curved.T @ self._products[y]
        return gram

    def _chosen_gram(self, y: int) -> Array:
        """Return the same, choosing the rows of one class after another."""
        objective, members = self.losses.problem.objective, self._members[y]
        step = max(1, newton_losses.SLICE_NUMBERS // objective.size)
        gram = np.zeros((objective.n_classes, objective.size, objective.size))
        for first in range(0, members.size, step):
            rows = members[first : first + step]
            rows = rows[self.losses.curved[rows].any(axis=1)]
            weighted, curved = self._weighted(rows), self.losses.curved[rows]
            for c in np.flatnonzero(curved.any(axis=0)):
                chosen = weighted[curved[:, c]]
                gram[c] += chosen.T @ chosen
        return gram
