r"""Find the nearest of several groups of rows, by kernel values only.

A group is scored by :math:`\text{offset}_g + \sum_{i \in g} c_i\,\kappa(z_i, x)` and the largest
score wins. With :math:`c = 2/|g|` and offset :math:`-\lVert \mu_g \rVert^2` that is the nearest
mean in the kernel's space; with one row per group, :math:`c = 2` and offset
:math:`-\kappa(z, z)`, the nearest landmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.rows import as_rows
from ..kernels import Kernel
from ..samples import Source

Numbers = NDArray[np.int64]
# Rows of kernel values that are looked up at a time, and bytes of rows that are copied at a time.
KERNEL_ROWS, TAKEN_BYTES = 1 << 12, 1 << 23


@dataclass(frozen=True)
class NearestGroup:
    """Groups of basis rows, and the rule above."""

    kernel: Kernel  # kernel of the distances; ``precomputed`` takes values instead of rows
    basis: Any  # basis rows, sorted by group; None for a precomputed kernel
    basis_rows: Numbers  # (n_basis,): their numbers in the training set
    coef: Array  # (n_basis,): their coefficients
    # (n_groups + 1,): group g is basis rows ``group_start[g]`` to ``group_start[g + 1]``.
    group_start: Numbers
    offset: Array  # (n_groups,): constant of each score

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.offset.size)

    def assign(self, X: Any, threads: int = 1) -> Numbers:
        """Return the group of each row; the lowest number where two are equally near."""
        dtype = np.result_type(X.dtype, self.basis.dtype)
        best, _ = self.kernel.nearest_group(
            as_rows(X, dtype),
            as_rows(self.basis, dtype),
            self.coef,
            self.group_start,
            self.offset,
            threads=threads,
        )
        return best

    def assign_samples(self, samples: Source, rows: Numbers, threads: int = 1) -> Numbers:
        """Return the group of some rows of a training set."""
        best = [np.zeros(0, dtype=np.int64)]
        for here in sample_blocks(samples, rows.size):
            block = rows[here]
            if samples.pairwise:
                best.append(self.assign_values(samples.values(block, self.basis_rows)))
            else:
                best.append(self.assign(samples.take(block).X, threads))
        return np.concatenate(best)

    def assign_values(self, values: NDArray[Any]) -> Numbers:
        """Return the group of each row, given its kernel values with the basis rows."""
        weighted = np.zeros((values.shape[0], values.shape[1] + 1))
        np.multiply(values, self.coef, out=weighted[:, :-1])
        # A sum of an empty group would be its first neighbour's value; the extra column is zero.
        sums = np.add.reduceat(weighted, self.group_start[:-1], axis=1)
        sums[:, np.diff(self.group_start) == 0] = 0.0
        return np.asarray(np.argmax(sums + self.offset, axis=1), dtype=np.int64)

    def only(self, kept: NDArray[np.bool_]) -> NearestGroup:
        """Leave groups out."""
        counts = np.diff(self.group_start)
        rows = np.repeat(kept, counts)
        return replace(
            self,
            basis=None if self.basis is None else self.basis[np.flatnonzero(rows)],
            basis_rows=self.basis_rows[rows],
            coef=self.coef[rows],
            group_start=group_starts(counts[kept]),
            offset=self.offset[kept],
        )

    def joined(self, others: list[NearestGroup]) -> NearestGroup:
        """Add the groups of others, after one's own."""
        every = [self, *others]
        counts = np.concatenate([np.diff(each.group_start) for each in every])
        return replace(
            self,
            basis=None if self.basis is None else _stacked([each.basis for each in every]),
            basis_rows=np.concatenate([each.basis_rows for each in every]),
            coef=np.concatenate([each.coef for each in every]),
            group_start=group_starts(counts),
            offset=np.concatenate([each.offset for each in every]),
        )

    def with_basis(self, X: Any) -> NearestGroup:
        """Return the same groups, their rows taken from other columns of the same training set."""
        return replace(self, basis=None if self.basis is None else X[self.basis_rows])


def sample_blocks(samples: Source, n_rows: int) -> Iterator[slice]:
    """Yield blocks of rows: no second kernel matrix, no second copy of most rows."""
    step = KERNEL_ROWS if samples.pairwise else max(1, TAKEN_BYTES // samples.row_bytes)
    for first in range(0, n_rows, step):
        yield slice(first, first + step)


def nearest_landmark(kernel: Kernel, X: Any, rows: Numbers, diagonal: Array) -> NearestGroup:
    """Make every landmark a group of its own."""
    n = rows.size
    return NearestGroup(kernel, X, rows, np.full(n, 2.0), np.arange(n + 1), -diagonal)


def nearest_mean(
    kernel: Kernel, X: Any, rows: Numbers, group: Numbers, gram: Array
) -> NearestGroup:
    """Make groups of rows, given their numbers 0 … n_groups − 1 and kernel values."""
    _, within, counts = group_sums(gram, group)
    order = np.argsort(group, kind="stable")
    coef = np.repeat(2.0 / counts, counts)
    basis = None if X is None else X[order]
    offset = -within / counts**2.0
    return NearestGroup(kernel, basis, rows[order], coef, group_starts(counts), offset)


def group_sums(gram: Array, group: Numbers) -> tuple[Array, Array, Numbers]:
    """Sum kernel values over groups: (groups, rows), within each group, and its rows counted."""
    n = len(group)
    member = sp.csr_matrix((np.ones(n), (group, np.arange(n))))
    sums = np.asarray(member @ gram)
    within = np.bincount(group, sums[group, np.arange(n)]).astype(np.float64)
    return sums, within, np.bincount(group).astype(np.int64)


def group_starts(counts: Numbers) -> Numbers:
    """Return where groups of so many rows begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _stacked(blocks: list[Any]) -> Any:
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.vstack(blocks)
