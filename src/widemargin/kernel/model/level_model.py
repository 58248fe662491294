r"""Decision functions of a level, finished or not.

Parts that look like the whole set have complete models each, and a level's model is their mean:
one kernel expansion with the coefficients divided. Clusters know their own rows only, and a
level's model uses the cluster nearest to a row (DC-SVM's early prediction). The root has one part,
and both are the plain model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.rows import as_rows, canonical, drop_unused_columns
from ..kernels import Kernel, weighted_sums
from ..partition import NearestGroup
from ..partition.nearest_group import group_starts

Numbers = NDArray[np.int64]
# Vectors of clusters that are brought together for one product.
VECTORS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class LevelModel:
    """A kernel expansion, whole or by clusters."""

    kernel: Kernel  # the kernel, constant included
    basis: Any  # rows with a coefficient; None for a precomputed kernel
    basis_rows: Numbers  # (n_basis,): their numbers in the training set
    coef: Array  # (n_basis,): their coefficients
    part: NDArray[np.integer[Any]] | None = None  # (n_basis,): the part each belongs to
    router: NearestGroup | None = None  # finds the part of a row; None uses all parts

    def decide(self, X: Any, threads: int = 1) -> Array:
        """Evaluate the decision function on rows."""
        if self.router is None:
            return np.asarray(self._sums(X, self.coef[None], threads)[0])
        return self._routed(X, self.router.assign(X, threads), threads)

    def local_decisions(self, X: Any, threads: int = 1) -> Array:
        """Evaluate each part alone, as (parts, rows); each costs its own vectors only."""
        if self.part is None:
            return self._sums(X, self.coef[None], threads)
        return np.array([self.alone(k).decide(X, threads) for k in range(self.n_parts)])

    @property
    def n_parts(self) -> int:
        """Number of parts, also of those without a coefficient."""
        supported = 1 if self.part is None else int(self.part.max(initial=-1)) + 1
        return supported if self.router is None else max(supported, self.router.n_groups)

    def alone(self, number: int) -> LevelModel:
        """Return the model of one part."""
        own = np.flatnonzero(self.part == number)
        return replace(
            self,
            basis=self.basis[own],
            basis_rows=self.basis_rows[own],
            coef=self.coef[own],
            part=None,
            router=None,
        )

    def _sums(self, X: Any, coef: Array, threads: int) -> Array:
        X, basis = _same_columns(X, self.basis)
        dtype = np.result_type(X.dtype, basis.dtype)
        return self.kernel.product(as_rows(X, dtype), as_rows(basis, dtype), coef, threads=threads)

    def _routed(self, X: Any, group: Numbers, threads: int) -> Array:
        assert self.part is not None
        assert self.router is not None
        n_groups = self.router.n_groups
        order = np.argsort(self.part, kind="stable")
        basis_start = np.searchsorted(self.part[order], np.arange(n_groups + 1))
        query_rows = np.argsort(group, kind="stable")
        query_start = np.searchsorted(group[query_rows], np.arange(n_groups + 1))
        X, basis = _same_columns(X, self.basis)
        dtype = np.result_type(X.dtype, basis.dtype)
        queries, out = as_rows(X, dtype), np.zeros(X.shape[0])
        # Vectors of groups that are asked, some groups at a time: there may be millions of others.
        asked = np.flatnonzero((np.diff(query_start) > 0) & (np.diff(basis_start) > 0))
        for groups in _batches(asked, np.diff(basis_start)[asked]):
            own = np.concatenate([order[basis_start[g] : basis_start[g + 1]] for g in groups])
            rows = np.concatenate([query_rows[query_start[g] : query_start[g + 1]] for g in groups])
            values = self.kernel.routed_product(
                queries,
                as_rows(basis[own], dtype),
                self.coef[own],
                rows,
                group_starts(np.diff(query_start)[groups]),
                group_starts(np.diff(basis_start)[groups]),
                threads=threads,
            )
            out[rows] = values[rows]
        return out

    def decide_values(self, values: NDArray[Any], routing: NDArray[Any] | None) -> Array:
        """Evaluate from kernel values with the basis, and with the router's basis."""
        constant = self.kernel.constant
        if self.router is None:
            total = weighted_sums(values, self.coef[None])[0]
            return np.asarray(total + constant * float(self.coef.sum()))
        assert self.part is not None
        assert routing is not None
        group = self.router.assign_values(routing)
        out = np.zeros(len(values))
        for number in np.unique(group):
            rows, columns = np.flatnonzero(group == number), np.flatnonzero(self.part == number)
            coef = self.coef[columns]
            block = values[np.ix_(rows, columns)]
            out[rows] = weighted_sums(block, coef[None])[0] + constant * float(coef.sum())
        return out


def _batches(groups: Numbers, sizes: Numbers) -> list[Numbers]:
    """Put groups together up to so many vectors; one group alone may have more."""
    if groups.size == 0:
        return []
    ends = np.cumsum(sizes)
    return np.split(groups, np.flatnonzero(np.diff(ends // VECTORS_AT_ONCE)) + 1)


def _same_columns(X: Any, basis: Any) -> tuple[Any, Any]:
    if sp.issparse(X):
        X, basis = drop_unused_columns(canonical(X), canonical(basis))
    return X, basis
