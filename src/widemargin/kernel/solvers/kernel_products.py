"""Products with blocks of Q in the precision of the data, counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.rows import as_rows
from ..kernels import weighted_sums
from ..problem import KernelProblem

# Rows of a user's kernel matrix that are copied at a time.
BLOCK = 512


class KernelProducts:
    """Multiplies blocks of Q by vectors without keeping any of Q.

    Attributes
    ----------
    entries : int
        Kernel values used so far.
    """

    def __init__(self, problem: KernelProblem) -> None:
        self.problem, self.entries = problem, 0

    @property
    def passes(self) -> float:
        """Kernel values used so far, in whole matrices."""
        return self.entries / self.problem.n_rows**2

    def all_rows(self, columns: NDArray[np.int64], values: Array) -> Array:
        """Compute Q[:, columns] values."""
        problem, coef = self.problem, values * self.problem.label[columns]
        if problem.kernel.name == "precomputed":
            return self.some_rows(np.arange(problem.n_rows), columns, values)
        self.entries += problem.n_rows * columns.size
        product = problem.kernel.product(
            problem.rows, problem.rows, coef, columns, problem.threads
        )[0]
        return self._signed(product, np.arange(problem.n_rows), columns, values)

    def some_rows(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: Array
    ) -> Array:
        """Compute Q[rows, columns] values."""
        problem, coef = self.problem, values * self.problem.label[columns]
        self.entries += rows.size * columns.size
        if problem.kernel.name == "precomputed":
            product = np.full(rows.size, problem.kernel.constant * float(coef.sum()))
            for first in range(0, rows.size, BLOCK):
                block = problem.X[np.ix_(rows[first : first + BLOCK], columns)]
                product[first : first + BLOCK] += weighted_sums(block, coef[None])[0]
        else:
            queries = as_rows(problem.X[rows])
            product = problem.kernel.product(queries, problem.rows, coef, columns, problem.threads)[
                0
            ]
        return self._signed(product, rows, columns, values)

    def _signed(
        self, product: Array, rows: NDArray[np.int64], columns: NDArray[np.int64], values: Array
    ) -> Array:
        signed = np.asarray(self.problem.label[rows] * product)
        if self.problem.shift:
            spread = np.zeros(self.problem.n_rows)
            spread[columns] = values
            signed += self.problem.shift * spread[rows]
        return signed
