r"""Preconditioner of Newton systems: a low-rank factor of Q plus a diagonal.

.. math:: P = F_A F_A^\top + \operatorname{diag} d_A, \qquad
          P^{-1} r = d^{-1} \bigl( r - F\,(I + F^\top d^{-1} F)^{-1} F^\top d^{-1} r \bigr)

F comes from randomly pivoted Cholesky of the whole matrix, once. The diagonal :math:`d` is the
curvature of the loss plus what F leaves of the diagonal of Q, so that P has the diagonal of the
system. For another set of rows A the r × r matrix is updated by the rows that came or went.

Memory is :math:`O(Mr)`; a solve costs :math:`O(Mr)`, a change of :math:`k` rows
:math:`O(kr^2 + r^3)`.

References
----------
Díaz, Epperly, Frangella, Tropp and Webber (2023), "Robust, randomized preconditioning for kernel
ridge regression".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ..cholesky import damped_cholesky, pivoted_cholesky
from ..problem import KernelProblem

# Rank of the factor, where memory allows it.
RANK = 1000
# Proposals per block of random pivots; evaluating them takes about `PASSING` columns each.
PIVOT_BLOCK, PASSING = 64, 5
# Share of the trace that is rounding, by precision of the data.
ROUNDING = {"float32": 1e-5, "float64": 1e-12}
# A matrix lifted by more than this share of its diagonal is indefinite: it has no factor.
LIFTED = 1e-3
# Rows of the factor copied at a time.
GATHERED = 1024


class Preconditioner:
    """Solves with P for the rows it was last set to.

    Parameters
    ----------
    factor : array of shape (n_rows, rank)
        F, rows multiplied by their labels; rank 0 leaves the diagonal alone.
    left : array of shape (n_rows,)
        Diagonal of Q − FFᵀ.
    """

    def __init__(self, factor: Array, left: Array) -> None:
        self.factor, self.left = factor, left
        self._inverse = np.zeros(len(left))  # 1/d on the rows in use, 0 elsewhere
        self._gram = np.zeros((factor.shape[1],) * 2)  # Fᵀ diag(_inverse) F
        self._rows = np.zeros(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        """Rank of the factor."""
        return int(self.factor.shape[1])

    def set_rows(self, rows: NDArray[np.int64], curvature: Array) -> None:
        """Prepare for the system of some rows, given the loss's curvature there."""
        inverse = np.zeros_like(self._inverse)
        inverse[rows] = 1.0 / (curvature + self.left[rows])
        if np.count_nonzero(inverse != self._inverse) > rows.size:
            self._inverse, self._gram = np.zeros_like(inverse), np.zeros_like(self._gram)
        change = inverse - self._inverse
        changed = np.flatnonzero(change)
        self._inverse, self._rows = inverse, rows
        if self.rank == 0:
            return
        for first in range(0, changed.size, GATHERED):
            here = changed[first : first + GATHERED]
            block = self.factor[here]
            self._gram += block.T @ (change[here, None] * block)
        self._cholesky = damped_cholesky(self._gram, np.ones(self.rank))

    def solve(self, right: Array) -> Array:
        """Compute P⁻¹ ``right`` on the rows."""
        scaled = self._inverse[self._rows] * right
        if self.rank == 0:
            return scaled
        spread = np.zeros_like(self._inverse)
        spread[self._rows] = scaled
        inner = self._cholesky.solve(self.factor.T @ spread)
        explained = (self.factor @ inner)[self._rows]
        return np.asarray(scaled - self._inverse[self._rows] * explained)


def affordable(n_rows: int, memory: int) -> tuple[int, int]:
    """Return the rank and the block of pivots that fit into some bytes; rank 0 if none does."""
    columns = memory // (8 * n_rows + 4 * 8 * RANK)  # the second term: r × r matrices
    block = min(PIVOT_BLOCK, columns // (2 * PASSING))
    return (min(RANK, n_rows, columns - PASSING * block), block) if block else (0, 0)


def build_preconditioner(problem: KernelProblem, memory: int, seed: int) -> Preconditioner:
    """Factorise Q as far as ``memory`` bytes allow."""
    diagonal = problem.diagonal
    rank, block = affordable(problem.n_rows, memory)
    largest = float(diagonal.max())
    definite = problem.kernel.positive_semidefinite or problem.shift <= LIFTED * largest
    if rank == 0 or not definite or not np.isfinite(largest) or diagonal.min() < 0:
        return Preconditioner(np.zeros((problem.n_rows, 0)), np.maximum(diagonal, 0.0))
    cholesky = pivoted_cholesky(
        problem.kernel,
        problem.rows,
        rank,
        pivoting="random",
        random_state=seed,
        tol=ROUNDING[problem.X.dtype.name],
        block=block,
        threads=problem.threads,
    )
    factor = cholesky.factor
    factor *= problem.label[:, None]  # in place: it is the largest array of the solve
    return Preconditioner(factor, cholesky.residual + problem.shift)
