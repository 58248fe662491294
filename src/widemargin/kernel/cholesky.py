r"""Cholesky factors: partial pivoted ones of a kernel matrix, and damped ones of a dense system.

The partial factor, :math:`K \approx F F^\top`, has two ways to pick the pivots:

- ``"greedy"``: the row with the largest residual :math:`\kappa(x,x) - \lVert F_x \rVert^2`. This is
  the landmark rule of SODM (Eqn. 8) and, where :math:`\kappa(x, x)` varies, of DiODM (Eqn. 5),
  without ever forming an inverse.
- ``"random"``: rows drawn in proportion to their residual. Greedy pivots chase outliers; random
  ones leave a smaller trace, which is what a preconditioner or a low-rank model wants.

Only the pivots' kernel rows are evaluated: rank × rows kernel values, :math:`O(M r^2)`
multiply-adds, :math:`O(M r)` memory.

References
----------
Chen, Epperly, Tropp and Webber (2025), "Randomly pivoted Cholesky: practical approximation of a
kernel matrix with few entry evaluations"; Epperly, Tropp and Webber (2024), "Embrace rejection:
kernel matrix approximation by accelerated randomly pivoted Cholesky".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.resources import single_threaded_blas
from ..core.rows import Rows
from .kernels import Kernel


@dataclass(frozen=True)
class PivotedCholesky:
    """A factor with its pivots."""

    factor: Array  # (n_rows, rank): ``F``; its pivot rows, in order, are lower triangular
    pivots: NDArray[np.int64]  # (rank,): row numbers, in the order they were picked
    residual: Array  # (n_rows,): diagonal of K − FFᵀ, never negative

    @property
    def rank(self) -> int:
        """Number of pivots."""
        return int(self.pivots.shape[0])


def pivoted_cholesky(
    kernel: Kernel,
    rows: Rows,
    rank: int,
    *,
    pivoting: str = "greedy",
    random_state: np.random.Generator | int | None = None,
    tol: float = 1e-12,
    block: int = 64,
    threads: int = 1,
) -> PivotedCholesky:
    """Factorise a kernel matrix up to a rank.

    Parameters
    ----------
    kernel : Kernel
        A positive semi-definite kernel.
    rows : Rows
        The rows of the matrix; for a precomputed kernel the matrix itself.
    rank : int
        Largest number of pivots.
    pivoting : {"greedy", "random"}
        Rule that picks the pivots.
    random_state : Generator, int or None
        For ``"random"``.
    tol : float
        Stop when the largest residual (greedy) or their sum (random) is at most this share of its
        first value: the rest is rounding.
    block : int
        Proposals evaluated together by ``"random"``; the distribution of pivots does not depend on
        it.
    threads : int
        Threads; the result does not depend on them.

    Returns
    -------
    PivotedCholesky
        The factor, of fewer than ``rank`` pivots if ``tol`` was met before.
    """
    if pivoting not in ("greedy", "random"):
        raise ValueError(f"`pivoting` must be 'greedy' or 'random'; got {pivoting!r}.")
    if rank < 1:
        raise ValueError(f"`rank` must be at least 1; got {rank}.")
    state = _Factorisation(kernel, rows, min(rank, rows.count), threads)
    with single_threaded_blas():
        if pivoting == "greedy":
            _pick_greedily(state, tol)
        else:
            _pick_randomly(state, tol, block, np.random.default_rng(random_state))
    return state.result()


class _Factorisation:
    """The factor while it grows. Invariant: residual = diag(K − FFᵀ) over the first ``size``."""

    def __init__(self, kernel: Kernel, rows: Rows, rank: int, threads: int) -> None:
        self.kernel, self.rows, self.rank, self.threads = kernel, rows, rank, threads
        self.factor = np.zeros((rows.count, rank))
        self.pivots = np.zeros(rank, dtype=np.int64)
        self.residual = kernel.diagonal(rows)
        self.size = 0

    def residual_columns(self, pivots: NDArray[np.int64]) -> Array:
        """Evaluate the columns of K − FFᵀ at some rows, as (rows, pivots)."""
        values = self.kernel.block(self.rows, self.rows, pivots, None, self.threads)
        known = self.factor[:, : self.size]
        return np.asarray(values.T - known @ known[pivots].T)

    def append(self, pivots: NDArray[np.int64], columns: Array) -> None:
        """Eliminate some pivots, given their residual columns."""
        corner = np.linalg.cholesky(columns[pivots])
        new = scipy.linalg.solve_triangular(corner, columns.T, lower=True).T
        end = self.size + len(pivots)
        self.factor[:, self.size : end] = new
        self.pivots[self.size : end] = pivots
        self.residual = np.maximum(self.residual - np.einsum("ij,ij->i", new, new), 0.0)
        self.residual[pivots] = 0.0  # exactly: a pivot is never picked twice
        self.size = end

    def result(self) -> PivotedCholesky:
        full = self.size == self.rank  # then a copy would only double the memory
        factor = self.factor if full else self.factor[:, : self.size].copy()
        return PivotedCholesky(factor, self.pivots[: self.size].copy(), self.residual)


def _pick_greedily(state: _Factorisation, tol: float) -> None:
    enough = tol * float(state.residual.max(initial=0.0))
    while state.size < state.rank:
        pivot = int(state.residual.argmax())
        if state.residual[pivot] <= enough:
            return
        chosen = np.array([pivot])
        column = state.residual_columns(chosen)
        if column[pivot, 0] <= 0.0:  # the updated diagonal promised more than is there: rounding
            return
        state.append(chosen, column)


def _pick_randomly(
    state: _Factorisation, tol: float, block: int, random: np.random.Generator
) -> None:
    enough = tol * float(state.residual.sum())
    while state.size < state.rank:
        total = float(state.residual.sum())
        if total <= enough:
            return
        proposals = random.choice(len(state.residual), size=block, p=state.residual / total)
        proposals = proposals.astype(np.int64)
        columns = state.residual_columns(proposals)
        accepted = _accept(columns[proposals], random.random(block))[: state.rank - state.size]
        if len(accepted) == 0:
            return
        state.append(proposals[accepted], columns[:, accepted])


def _accept(corner: Array, uniform: Array) -> NDArray[np.int64]:
    """Thin proposals drawn together to what drawing one by one would have given.

    A proposal stays with the probability that its residual, given those accepted before it, bears
    to the residual it was drawn by.
    """
    corner = corner.copy()
    drawn_by = corner.diagonal().copy()
    accepted = []
    for k in range(len(corner)):
        left = corner[k, k]
        if left <= 1e-12 * drawn_by[k] or uniform[k] * drawn_by[k] >= left:
            continue
        accepted.append(k)
        column = corner[:, k] / np.sqrt(left)
        corner -= np.outer(column, column)
    return np.array(accepted, dtype=np.int64)


class CholeskyFactor:
    """A Cholesky factor to solve with, for one matrix and any number of right-hand sides."""

    def __init__(self, factor: tuple[Array, bool]) -> None:
        self._factor = factor

    def solve(self, right: Array) -> Array:
        """Solve for one right-hand side."""
        return np.asarray(scipy.linalg.cho_solve(self._factor, right, check_finite=False))


def damped_cholesky(matrix: Array, diagonal: Array) -> CholeskyFactor:
    """Factorise ``matrix + diag(diagonal)``, adding just enough to the diagonal to succeed.

    A matrix that is positive semi-definite on paper may miss it by rounding. What the damping
    changes is rounding too; a later certificate shows whether it counted.
    """
    total = matrix.diagonal() + diagonal
    scale = float(np.abs(total).max(initial=0.0)) or 1.0
    for damping in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        # Symmetric, so its transpose is itself in the order that LAPACK works on without a copy.
        system = matrix.copy().T
        system[np.diag_indices_from(system)] = total + damping * scale
        try:
            return CholeskyFactor(
                scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            )
        except np.linalg.LinAlgError:
            continue
    raise ValueError(
        "The kernel matrix is far from positive semi-definite, or not finite; check the kernel "
        "and the scale of the features."
    )
