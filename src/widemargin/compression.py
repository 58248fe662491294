r"""The same decision on fewer points, for fast prediction.

A model :math:`f` is replaced by :math:`g = \sum_b \beta_b\,\kappa(z_b, \cdot)` on a basis of its
own support vectors. The basis is picked by randomly pivoted Cholesky among candidates drawn by
their coefficients, and the coefficients minimise

.. math:: \sum_i w_i\,(f(x_i) - g(x_i))^2 + \mu \lVert f - g \rVert^2

over the support vectors, with more weight near the boundary, :math:`w \propto 1/(0.3 + |f|)`, where
an error changes the label. The second term, in the kernel's space, keeps :math:`g` close to
:math:`f` where there are no support vectors.

Costs :math:`O(n\,b)` kernel values and :math:`O(n\,b^2)` multiply-adds for n support vectors and b
basis points; memory :math:`O(b^2)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import Kernel, as_rows
from .losses import Array
from .pivoted_cholesky import pivoted_cholesky
from .resources import single_threaded_blas
from .solvers.dense import damped_cholesky

# Candidates per basis point: more cost memory and leave the error as it is.
CANDIDATES = 5
# Distance from the boundary at which an error begins to matter less.
NEAR = 0.3
# Weight of the error in the kernel's space; 0.1 to 1 were best on cod-rna, 10 and more worse.
SPACE_WEIGHT = 1.0
# The same where the model jumps between clusters.
PIECEWISE_WEIGHT = 0.1
BLOCK_BYTES = 1 << 26


@dataclass(frozen=True)
class Compressed:
    """A basis with coefficients, and what was lost.

    Attributes
    ----------
    basis : array of shape (n_basis,)
        Positions among the support vectors, ascending.
    coef : array of shape (n_problems, n_basis)
        Coefficients.
    error : float
        Root mean square of f − g over the support vectors, relative to that of f.
    largest_error : float
        Largest |f − g| among them.
    """

    basis: NDArray[np.int64]
    coef: Array
    error: float
    largest_error: float


def compress(
    kernel: Kernel,
    X: Any,
    coef: Array,
    decision: Array,
    n_basis: int,
    seed: int,
    threads: int,
    *,
    in_space: bool = True,
) -> Compressed:
    """Fit a smaller expansion to the decisions of a model on its support vectors.

    Parameters
    ----------
    kernel : Kernel
        Without constant.
    X : array or CSR matrix of shape (n_support, n_features)
        Support vectors; their square kernel matrix when the kernel is precomputed.
    coef : array of shape (n_problems, n_support)
        Their coefficients.
    decision : array of shape (n_problems, n_support)
        The model's values on them.
    n_basis : int
        Points to use; fewer where the kernel matrix has a smaller rank.
    seed : int
        Of the random pivots.
    threads : int
        For kernel values; the result does not depend on it.
    in_space : bool
        Whether the model is an expansion in the kernel's space. One that asks clusters alone is
        not: it jumps between them, so closeness in that space means nothing, and the norm of g is
        kept small instead.
    """
    basis = _pick(kernel, X, coef, n_basis, seed, threads)
    pick = BasisValues(kernel, X, basis, threads)
    weight = 1.0 / (NEAR + np.abs(decision).min(axis=0))
    weight /= weight.mean()
    with single_threaded_blas():
        corner = pick.block(basis)
        near = SPACE_WEIGHT if in_space else PIECEWISE_WEIGHT
        normal, right = near * corner, near * decision[:, basis].T * float(in_space)
        for rows, values in pick.blocks():
            weighted = values * weight[rows, None]
            normal += weighted.T @ values
            right += weighted.T @ decision[:, rows].T
        ridge = np.full(len(basis), 1e-12 * float(normal.diagonal().max()))
        beta = damped_cholesky(normal, ridge).solve(right).T
    beta = np.ascontiguousarray(beta)
    error = pick.sums(beta) - decision
    size = float(np.sqrt(np.mean(decision**2))) or 1.0
    return Compressed(
        basis, beta, float(np.sqrt(np.mean(error**2))) / size, float(np.abs(error).max())
    )


def _pick(
    kernel: Kernel, X: Any, coef: Array, n_basis: int, seed: int, threads: int
) -> NDArray[np.int64]:
    random = np.random.default_rng(seed)
    n = coef.shape[1]
    chance = np.sqrt(np.abs(coef).max(axis=0))
    count = min(int(np.count_nonzero(chance)), CANDIDATES * n_basis)
    candidates = np.sort(random.choice(n, count, replace=False, p=chance / chance.sum()))
    rows = X[np.ix_(candidates, candidates)] if kernel.name == "precomputed" else X[candidates]
    factor = pivoted_cholesky(
        kernel,
        as_rows(rows, np.float64),
        n_basis,
        pivoting="random",
        random_state=random,
        threads=threads,
    )
    return np.sort(candidates[factor.pivots])


class BasisValues:
    """Kernel values between all support vectors and the basis, a block of rows at a time."""

    def __init__(self, kernel: Kernel, X: Any, basis: NDArray[np.int64], threads: int) -> None:
        self.kernel, self.basis, self.threads, self.X = kernel, basis, threads, X
        self.rows = as_rows(X, np.float64)

    def block(self, rows: NDArray[np.int64]) -> Array:
        """Return the values of some rows."""
        return np.asarray(
            self.kernel.block(self.rows, self.rows, rows, self.basis, self.threads), np.float64
        )

    def blocks(self) -> Any:
        """Go through all rows."""
        step = max(1, BLOCK_BYTES // (8 * len(self.basis)))
        for first in range(0, self.rows.count, step):
            rows = np.arange(first, min(first + step, self.rows.count))
            yield rows, self.block(rows)

    def sums(self, coef: Array) -> Array:
        """Evaluate an expansion on the basis at all rows."""
        out = np.empty((len(coef), self.rows.count))
        for rows, values in self.blocks():
            out[:, rows] = np.einsum("ij,kj->ki", values, coef)
        return out
