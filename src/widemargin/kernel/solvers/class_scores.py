"""Scores of all classes at the training rows: a kernel value serves every class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.rows import as_rows
from ..certificates import SAMPLE, rounding_of_sample
from ..exact_sums import exact_sums
from ..kernels import Kernel, weighted_sums

# Rows of a user's kernel matrix that are copied at a time.
PRODUCT_ROWS = 512


class ClassScores:
    """Multiplies the kernel matrix with a line of coefficients for every class.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows, or their kernel matrix.
    kernel : Kernel
        The kernel.
    threads : int
        Threads; results do not depend on it.
    shift : float
        Added to the diagonal of the kernel matrix.

    Attributes
    ----------
    rows : Rows
        The rows in the precision of the data.
    entries : int
        Kernel values evaluated so far.
    """

    def __init__(self, X: Any, kernel: Kernel, threads: int, shift: float = 0.0) -> None:
        self.X, self.kernel, self.threads, self.shift = X, kernel, threads, shift
        self.rows, self.n_rows, self.entries = as_rows(X), int(X.shape[0]), 0

    def of(
        self, coef: Array, rows: NDArray[np.int64] | None = None, *, single: bool = False
    ) -> Array:
        """Compute the scores of all rows, or of some, from coefficients of shape (classes, rows).

        Kernel values are float64; with ``single``, they have the precision of the rows.
        """
        support = np.flatnonzero(coef.any(axis=0))
        sums = self._sums(coef[:, support], support, rows, single)
        if self.shift:
            sums += self.shift * (coef if rows is None else coef[:, rows])
        return sums

    def add(
        self,
        score: Array,
        block: NDArray[np.int64],
        changes: Array,
        outside: NDArray[np.int64],
    ) -> None:
        """Add what changes of a block's coefficients do to the scores of rows outside of it."""
        moved, among = np.flatnonzero(changes.any(axis=0)), np.flatnonzero(changes.any(axis=1))
        if not len(moved) or not len(outside):
            return
        sums = self._sums(changes[np.ix_(among, moved)], block[moved], outside, single=True)
        everywhere = len(outside) == self.n_rows
        for c, total in zip(among, sums, strict=True):
            score[c, slice(None) if everywhere else outside] += total

    def rounding(self, coef: Array, score: Array, codes: NDArray[np.int64]) -> float:
        """Estimate how far differences of scores are off, by a sample of rows in float64."""
        random = np.random.default_rng(0)
        rows = np.sort(random.choice(self.n_rows, min(SAMPLE, self.n_rows), replace=False))
        off = self.of(coef, rows) - score[:, rows]
        return rounding_of_sample(off - off[codes[rows], np.arange(len(rows))])

    def _sums(
        self,
        coef: Array,
        support: NDArray[np.int64],
        rows: NDArray[np.int64] | None,
        single: bool,
    ) -> Array:
        count = self.n_rows if rows is None else len(rows)
        self.entries += len(support) * count
        if self.kernel.name == "precomputed":
            return self._given_sums(coef, support, rows)
        if single:
            return self.kernel.product(self.rows, self.rows, coef, support, self.threads, rows)
        return exact_sums(self.kernel, self.X, coef, support, self.threads, rows)

    def _given_sums(
        self, coef: Array, support: NDArray[np.int64], rows: NDArray[np.int64] | None
    ) -> Array:
        """Sum over columns of a kernel matrix, a few lines of it at a time."""
        rows = np.arange(self.n_rows) if rows is None else rows
        sums = np.empty((len(coef), len(rows)))
        for first in range(0, len(rows), PRODUCT_ROWS):
            at = slice(first, first + PRODUCT_ROWS)
            sums[:, at] = weighted_sums(self.X[np.ix_(rows[at], support)], coef)
        sums += self.kernel.constant * coef.sum(axis=1)[:, None]
        return sums
