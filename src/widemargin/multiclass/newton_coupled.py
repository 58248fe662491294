r"""Newton directions where a row's losses compare other classes with its own.

A curved loss of a row of class y for class c has curvature along :math:`w_c - w_y` only. So all
classes are coupled, and with

.. math:: G_{yc} = \frac{1}{\delta} \sum_{i \in y\ \mathrm{curved\ for}\ c} C_i x_i x_i^\top

the Hessian has the blocks :math:`H_{cc} = I + \sum_y (G_{yc} + G_{cy})` and
:math:`H_{yc} = -(G_{yc} + G_{cy})`. Memory: two matrices of the size of all weights squared.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..losses import Array
from .newton_smoothed import BLOCK_NUMBERS, SmoothedLosses

# Up to this size, products of features are multiplied by which losses are curved, all classes at
# once; rows are too short to be worth choosing one class at a time.
SMALL_SIZE = 24


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

    def find(self, gradient: Array, width: float) -> Array | None:
        """Return the direction; None where rounding leaves a matrix without a factor."""
        classes = list(range(len(gradient)))
        gram = np.array(self.losses.engine.map(classes, self._gram_of)) / width
        try:
            factor = scipy.linalg.cho_factor(_hessian(gram), lower=True, overwrite_a=True)
            step = scipy.linalg.cho_solve(factor, gradient.ravel())
        except (np.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
            return None
        return np.asarray(-step.reshape(gradient.shape))

    def _gram_of(self, y: int) -> Array:
        """Return the sums of a class's rows, by the class that they are curved for."""
        losses, members = self.losses, self._members[y]
        n_classes, size = losses.problem.n_classes, losses.problem.size
        small = size <= SMALL_SIZE
        step = max(1, BLOCK_NUMBERS // (self._upper[0].size if small else size))
        gram = np.zeros((n_classes, size, size))
        for first in range(0, members.size, step):
            rows = members[first : first + step]
            rows = rows[losses.curved[rows].any(axis=1)]
            curved = losses.curved[rows]
            weighted = losses.rows(rows) * self._root[rows, None]
            if small:
                i, j = self._upper
                gram[:, i, j] += curved.T.astype(np.float64) @ (weighted[:, i] * weighted[:, j])
                continue
            for c in np.flatnonzero(curved.any(axis=0)):
                chosen = weighted[curved[:, c]]
                gram[c] += chosen.T @ chosen
        if small:
            gram[:, self._upper[1], self._upper[0]] = gram[:, self._upper[0], self._upper[1]]
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
