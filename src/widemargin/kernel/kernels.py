r"""Kernels, and kernel values between rows.

==============  =============================================
name            :math:`\kappa(x, z)`
==============  =============================================
linear          :math:`x^\top z`
poly            :math:`(\gamma\, x^\top z + \text{coef0})^{\text{degree}}`
rbf             :math:`\exp(-\gamma \lVert x - z \rVert^2)`
laplacian       :math:`\exp(-\gamma \lVert x - z \rVert_1)`
sigmoid         :math:`\tanh(\gamma\, x^\top z + \text{coef0})`
precomputed     the data are the kernel values
==============  =============================================

Values are computed in the precision of the rows, sums always in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..core.arrays import Array
from ..core.rows import Rows, largest_square, row_sums, squared_deviations

# An RBF value this uncertain in float32 is computed in float64 instead.
FLOAT32_ROUNDING = 1e-5
# A kernel matrix in float32 is symmetric to about this, relative to its largest entry.
SYMMETRY = 1e-5
KERNEL_NAMES = ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """A kernel with all its constants."""

    name: str  # one of ``KERNEL_NAMES``
    # Constants of the table above.
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    constant: float = 0.0  # added to every value; 1 gives a penalised intercept

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every kernel matrix is known to have no negative eigenvalue."""
        if self.name == "poly":
            return self.coef0 >= 0
        return self.name in ("linear", "rbf", "laplacian")

    @property
    def spec(self) -> _native.KernelSpec:
        """The kernel in the native core's terms."""
        return _native.KernelSpec(
            self.name,
            gamma=self.gamma,
            coef0=self.coef0,
            degree=self.degree,
            constant=self.constant,
        )

    def diagonal(self, rows: Rows) -> Array:
        """Evaluate κ(x, x) for every row."""
        return _native.kernel_diagonal(rows, self.spec)

    def block(
        self,
        a: Rows,
        b: Rows,
        a_rows: NDArray[np.int64] | None = None,
        b_rows: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> NDArray[Any]:
        """Evaluate κ between (selected) rows of ``a`` and ``b`` as a dense matrix."""
        return _native.kernel_block(a, b, self.spec, a_rows, b_rows, threads)

    def matrix(
        self, rows: Rows, order: NDArray[np.int64] | None = None, threads: int = 1
    ) -> NDArray[Any]:
        """Evaluate κ between all (or selected) rows, each value once; not for 'precomputed'."""
        size = rows.count if order is None else len(order)
        kind = np.float32 if isinstance(rows, _native.Rows32) else np.float64
        values = np.empty((size, size), dtype=kind)
        _native.kernel_matrix(rows, self.spec, order, values, threads)
        return values

    def product(
        self,
        queries: Rows,
        basis: Rows,
        coef: Array,
        basis_rows: NDArray[np.int64] | None = None,
        threads: int = 1,
        query_rows: NDArray[np.int64] | None = None,
    ) -> Array:
        """Sum ``coef[i] κ(basis_i, query_j)`` over i, without keeping the matrix.

        Parameters
        ----------
        queries, basis : Rows
            Rows to evaluate at, rows that carry coefficients.
        coef : array of shape (n_outputs, n_basis)
            One row of coefficients per output.
        basis_rows : array of int, optional
            The rows of ``basis`` that ``coef`` speaks of.
        threads : int
            Threads to use; the result does not depend on it.
        query_rows : array of int, optional
            The rows of ``queries`` to evaluate at, in this order.

        Returns
        -------
        array of shape (n_outputs, n_queries)
        """
        columns = np.ascontiguousarray(np.atleast_2d(coef).T, dtype=np.float64)
        return _native.kernel_product(
            queries, basis, self.spec, columns, basis_rows, threads, query_rows
        )

    def nearest_group(
        self,
        queries: Rows,
        basis: Rows,
        coef: Array,
        group_start: NDArray[np.int64],
        offset: Array,
        threads: int = 1,
        query_rows: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], Array]:
        """Find the group of basis rows with the largest score at every query.

        The score of group g is ``offset[g]`` plus the sum of ``coef[i] κ(basis_i, query)`` over
        its rows i. Scores of all groups are never kept together.

        Parameters
        ----------
        queries, basis : Rows
            Rows to evaluate at, rows that carry coefficients, sorted by group.
        coef : array of shape (n_basis,)
            Coefficients of the basis rows.
        group_start : array of int of shape (n_groups + 1,)
            Group g is ``basis[group_start[g]:group_start[g + 1]]``. It may be empty.
        offset : array of shape (n_groups,)
            Added to the sums.
        threads : int
            Threads to use; the result does not depend on it.
        query_rows : array of int, optional
            The rows of ``queries`` to evaluate at, in this order.

        Returns
        -------
        best : array of int of shape (n_queries,)
            The group with the largest score, the lowest of several.
        score : array of shape (n_queries,)
            The largest score. NaN is never the largest.
        """
        return _native.nearest_group(
            queries, basis, self.spec, coef, group_start, offset, threads, query_rows
        )

    def routed_product(
        self,
        queries: Rows,
        basis: Rows,
        coef: Array,
        query_rows: NDArray[np.int64],
        query_start: NDArray[np.int64],
        basis_start: NDArray[np.int64],
        threads: int = 1,
    ) -> Array:
        """Sum ``coef[i] κ(basis_i, query)`` over the basis rows of each query's own group.

        Parameters
        ----------
        queries, basis : Rows
            Rows to evaluate at, rows that carry coefficients, sorted by group.
        coef : array of shape (n_basis,)
            Coefficients of the basis rows.
        query_rows : array of int
            Rows of ``queries``, sorted by group. None may appear twice.
        query_start, basis_start : array of int of shape (n_groups + 1,)
            Queries ``query_rows[query_start[g]:query_start[g + 1]]`` meet the rows
            ``basis[basis_start[g]:basis_start[g + 1]]``. Either may be empty.
        threads : int
            Threads to use; the result does not depend on it.

        Returns
        -------
        array of shape (queries.count,)
            Zero where ``query_rows`` does not name the query.
        """
        return _native.routed_product(
            queries, basis, self.spec, coef, query_rows, query_start, basis_start, threads
        )


def resolve_gamma(gamma: float | str, X: Any, weights: Array) -> float:
    """Turn ``"scale"`` and ``"auto"`` into a number.

    ``"scale"`` is 1 / (features × variance of all entries), the variance weighted by rows, so that
    a row of weight 2 counts like the row twice; ``"auto"`` is 1 / features.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    features = X.shape[1]
    if gamma == "auto":
        return 1.0 / float(features)
    share = weights / weights.sum()
    mean = float(share @ row_sums(X)) / features
    variance = float(share @ squared_deviations(X, mean)) / features
    return scaled_gamma(features, mean, variance)


def scaled_gamma(features: int, mean: float, variance: float) -> float:
    """Return what ``"scale"`` stands for, given mean and variance of all entries."""
    rounding = (4 * np.finfo(np.float64).eps * mean) ** 2
    return float(1.0 / (features * variance)) if variance > rounding else 1.0


def rounding_of_distances(kernel: Kernel, X: Any) -> float:
    """Bound the error that float32 makes in an RBF value of these rows.

    Squared distances are differences of squared norms; far from the origin little is left of them.
    """
    if kernel.name != "rbf" or X.dtype != np.float32 or X.shape[0] == 0:
        return 0.0
    return kernel.gamma * largest_square(X) * float(np.finfo(np.float32).eps)


def is_precomputed(estimator: Any) -> bool:
    """Whether rows of an estimator are kernel values."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"


def evaluate_callable(kernel: Callable[[Any, Any], Any], X: Any, Y: Any) -> Array:
    """Call a kernel function and check what it returns."""
    values = np.asarray(kernel(X, Y), dtype=np.float64)
    wanted = (X.shape[0], Y.shape[0])
    if values.shape != wanted:
        raise ValueError(
            f"The kernel function must return a matrix of shape {wanted} for {wanted[0]} and "
            f"{wanted[1]} rows; got {values.shape}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError("The kernel function must return finite values; got NaN or infinity.")
    return values


def check_symmetric(matrix: NDArray[Any]) -> None:
    """Refuse a matrix that is no kernel matrix of one set of rows with itself."""
    largest = max(abs(float(matrix.max())), abs(float(matrix.min())))
    step = 512
    for i in range(0, len(matrix), step):  # blocks: no second matrix
        difference = matrix[i : i + step] - matrix[:, i : i + step].T
        worst = float(np.abs(difference).max())
        if worst > SYMMETRY * largest:
            raise ValueError(
                "The kernel matrix of the training rows must be symmetric; got entries that "
                f"differ from their mirror image by up to {worst:.3g}."
            )


def weighted_sums(values: NDArray[Any], coef: Array) -> Array:
    """Sum kernel values over the columns: (rows, columns), (outputs, columns) to (outputs, rows).

    Not a BLAS product, whose rounding depends on how many rows there are.
    """
    return np.asarray(np.einsum("ij,kj->ki", values, coef, dtype=np.float64))
