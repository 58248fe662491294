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

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _native
from .losses import Array

Rows: TypeAlias = "_native.Rows32 | _native.Rows64"
KERNEL_NAMES = ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """A kernel with all its constants.

    Attributes
    ----------
    name : str
        One of ``KERNEL_NAMES``.
    gamma, coef0, degree
        Constants of the table above.
    constant : float
        Added to every value; 1 gives a penalised intercept.
    """

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    constant: float = 0.0

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

    def product(
        self,
        queries: Rows,
        basis: Rows,
        coef: Array,
        basis_rows: NDArray[np.int64] | None = None,
        threads: int = 1,
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

        Returns
        -------
        array of shape (n_outputs, n_queries)
        """
        columns = np.ascontiguousarray(np.atleast_2d(coef).T, dtype=np.float64)
        return _native.kernel_product(queries, basis, self.spec, columns, basis_rows, threads)

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
            That score. A score that is not a number never is the largest.
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


def as_rows(X: Any, dtype: Any = None) -> Rows:
    """View a dense array or CSR matrix as rows of the native core.

    No copy is made when the data already have the wanted precision and are C-contiguous.
    """
    dtype = np.dtype(dtype or (X.dtype if X.dtype == np.float32 else np.float64))
    kind = _native.Rows32 if dtype == np.float32 else _native.Rows64
    if not sp.issparse(X):
        return kind(np.ascontiguousarray(X, dtype=dtype))
    X = canonical(X)
    indices = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    return kind(
        np.ascontiguousarray(X.data, dtype=dtype),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        X.shape[1],
    )


def canonical(X: Any) -> Any:
    """Return CSR rows with every entry stored once; anything else as it is."""
    if not sp.issparse(X) or (X.format == "csr" and X.has_canonical_format):
        return X
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    return X


# Dense rows with this share of entries that are not zero, and this many features, are evaluated
# faster as CSR: RBF values per second of one core, CSR against dense, were 1.3 to 1.7 times as many
# at a share of .3 and 1.4 to 2.2 times at .2 with 32 to 128 features, 1.2 and 1.5 times with 256,
# 1.3 and 1.8 times with 784 (AVX-512, float32; float64 gains more).
SPARSE_SHARE = 0.3
SPARSE_FEATURES = 32


def sparse_if_faster(X: Any) -> Any:
    """Return dense rows of mostly zeros as a CSR matrix; anything else as it is.

    For rows that kernel values are wanted of, one-hot features and images above all. Values change
    by rounding only. The copy has at most 0.6 times the size of the rows.
    """
    if sp.issparse(X) or X.shape[1] < SPARSE_FEATURES:
        return X
    features = X.shape[1]
    step = max(1, (1 << 18) // features)  # blocks that stay in cache
    blocks = [X[i : i + step] for i in range(0, X.shape[0], step)]
    total, last = 0, 0
    for block in blocks:
        total += int(np.count_nonzero(block != 0))
        if total > SPARSE_SHARE * X.size:
            return X
    data, indices = np.empty(total, dtype=X.dtype), np.empty(total, dtype=np.int32)
    indptr = np.zeros(X.shape[0] + 1, dtype=np.int64)
    for number, block in enumerate(blocks):
        stored = np.flatnonzero(block != 0)
        first, last = last, last + stored.size
        row_begin = np.arange(0, block.size, features)
        row_end = np.searchsorted(stored, row_begin + features)
        indptr[number * step + 1 :][: len(block)] = first + row_end
        data[first:last] = block.ravel()[stored]
        indices[first:last] = stored - np.repeat(row_begin, np.diff(row_end, prepend=0))
    return sp.csr_matrix((data, indices, indptr), X.shape)


# Above this many columns, panels of mostly unused ones cost more than renumbering.
WIDE = 1 << 15


def drop_unused_columns(*matrices: Any) -> tuple[Any, ...]:
    """Renumber the columns of wide CSR matrices so that those none of them uses disappear.

    Products, distances and norms stay the same to the bit; a hashed text no longer spreads its few
    thousand columns over a million.
    """
    if not all(sp.issparse(m) for m in matrices) or matrices[0].shape[1] <= WIDE:
        return matrices
    used = np.unique(np.concatenate([np.unique(m.indices) for m in matrices]))
    return tuple(
        sp.csr_matrix(
            (m.data, np.searchsorted(used, m.indices), m.indptr), (m.shape[0], max(used.size, 1))
        )
        for m in matrices
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


def row_sums(X: Any) -> Array:
    """Sum each row in float64."""
    if sp.issparse(X):
        return _sums_of_stored(X, X.data)
    return np.asarray(X.sum(axis=1, dtype=np.float64))


def _sums_of_stored(X: Any, values: NDArray[Any]) -> Array:
    """Sum one value per stored entry over each CSR row, in float64."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.bincount(row, values, minlength=X.shape[0]), dtype=np.float64)


def squared_deviations(X: Any, mean: float) -> Array:
    """Sum (entry − mean)² over each row, in float64."""
    if sp.issparse(X):
        stored = (X.data.astype(np.float64) - mean) ** 2
        absent = X.shape[1] - np.diff(X.indptr)
        return np.asarray(_sums_of_stored(X, stored) + absent * mean**2)
    out = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 4096):  # blocks: no second array of the data's size
        block = X[start : start + 4096].astype(np.float64) - mean
        out[start : start + 4096] = np.einsum("ij,ij->i", block, block)
    return out


def rounding_of_distances(kernel: Kernel, X: Any) -> float:
    """Bound the error that float32 makes in an RBF value of these rows.

    Squared distances are differences of squared norms; far from the origin little is left of them.
    """
    if kernel.name != "rbf" or X.dtype != np.float32 or X.shape[0] == 0:
        return 0.0
    return kernel.gamma * largest_square(X) * float(np.finfo(np.float32).eps)


def largest_square(X: Any) -> float:
    """Return the largest squared norm of some rows, rounded as they are."""
    squares = _sums_of_stored(X, X.data**2) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return float(squares.max())
