"""Blocks of a DataFrame's rows as parts of a training set, in the form that kernels see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.losses import Loss
from ...core.rows import (
    SPARSE_FEATURES,
    SPARSE_SHARE,
    as_rows,
    largest_square,
    row_sums,
    squared_deviations,
)
from ...kernel.divide.levels import RowSize
from ...kernel.kernels import FLOAT32_ROUNDING, Kernel, scaled_gamma
from ...kernel.samples import OwnedRows, Part, Samples
from ..rows.block_summary import BlockMark
from ..rows.block_tasks import SourceBlock


@dataclass(frozen=True)
class RowFacts:
    """Facts that the choice of a kernel and of the rows' form depends on."""

    weight: float  # weights of the rows, times the features
    mean: float  # weighted mean of all entries
    squares: float  # sum of their squared distances from it
    nonzero: int
    largest: float  # largest squared norm of a row of float32; 0 for float64
    dtype: Any

    def plus(self, other: RowFacts) -> RowFacts:
        """Add the facts of other rows."""
        weight, apart = self.weight + other.weight, other.mean - self.mean
        return RowFacts(
            weight,
            self.mean + apart * (other.weight / weight),
            self.squares + other.squares + apart**2 * (self.weight * other.weight / weight),
            self.nonzero + other.nonzero,
            max(self.largest, other.largest),
            np.result_type(self.dtype, other.dtype),
        )

    def gamma(self, gamma: float | str, features: int) -> float:
        """Turn the parameter into a number, as it is done for arrays."""
        if gamma == "auto":
            return 1.0 / features
        if gamma == "scale":
            return scaled_gamma(features, self.mean, self.squares / self.weight)
        return float(gamma)


def facts_of(block: SourceBlock) -> RowFacts:
    """Describe the rows of a block."""
    X, features = block.X, int(block.X.shape[1])
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    total = float(weight.sum()) * features
    mean = float(weight @ row_sums(X)) / total
    return RowFacts(
        total,
        mean,
        float(weight @ squared_deviations(X, mean)),
        int(np.count_nonzero(X.data if sp.issparse(X) else X)),
        largest_square(X) if X.dtype == np.float32 else 0.0,
        X.dtype,
    )


@dataclass(frozen=True)
class DiagonalSum:
    """Sum of the kernel values of a block's rows with themselves, by weight."""

    kernel: Kernel

    def __call__(self, block: SourceBlock) -> float:
        """Return the sum."""
        values = self.kernel.diagonal(as_rows(block.X))
        return float(values.sum() if block.weight is None else block.weight @ values)


@dataclass(frozen=True)
class RowForm:
    """The form that rows are trained in, the same as for arrays."""

    sparse: bool
    dtype: Any

    @classmethod
    def of(
        cls, facts: RowFacts, kernel: Kernel, n_rows: int, features: int, dense: bool
    ) -> RowForm:
        """Choose: CSR where entries are few, float64 where float32 would not tell rows apart."""
        few = facts.nonzero <= SPARSE_SHARE * n_rows * features
        sparse = not dense or (few and features >= SPARSE_FEATURES)
        rounding = kernel.gamma * facts.largest * float(np.finfo(np.float32).eps)
        precise = kernel.name == "rbf" and rounding > FLOAT32_ROUNDING
        return cls(sparse, np.dtype(np.float64) if precise else facts.dtype)

    def converts(self, facts: RowFacts, dense: bool) -> bool:
        """Return whether rows as they are placed have another form."""
        return self.sparse == dense or self.dtype != facts.dtype

    def rows(self, X: Any) -> Any:
        """Return rows in this form."""
        if self.sparse and not sp.issparse(X):
            X = sp.csr_matrix(X)
        return X.astype(self.dtype, copy=False)

    def size(self, n_rows: int, features: int, nonzero: int) -> RowSize:
        """Return what a row takes."""
        item = int(self.dtype.itemsize)
        per_row = (item + 4) * nonzero // max(1, n_rows) + 8 if self.sparse else item * features
        return RowSize(item, int(per_row))


@dataclass(frozen=True)
class Numbering:
    """Numbers of the rows in the whole training set: blocks one after another."""

    first: dict[int, int]
    n_rows: int

    @classmethod
    def of(cls, blocks: tuple[BlockMark, ...]) -> Numbering:
        """Give numbers to the rows of some blocks."""
        ends = np.cumsum([block.rows for block in blocks]).tolist()
        return cls(
            {block.number: end - block.rows for block, end in zip(blocks, ends, strict=True)},
            ends[-1],
        )

    def numbers(self, block: SourceBlock) -> NDArray[np.int64]:
        """Return the numbers of a block's rows."""
        first = self.first[block.number]
        return np.arange(first, first + block.n_rows)


@dataclass(frozen=True)
class AsPart:
    """Turns blocks into parts of the binary problem in which one class is positive."""

    numbering: Numbering
    form: RowForm
    kernel: Kernel
    loss: Loss
    positive: int
    row_weight: float  # of a row of weight one
    factors: Array  # weights of the classes

    def __call__(self, block: SourceBlock) -> Part:
        """Return the part."""
        given = np.ones(block.n_rows) if block.weight is None else block.weight
        weight = self.row_weight * given
        weight *= self.factors[block.codes]
        label = np.where(block.codes == self.positive, 1.0, -1.0)
        code = block.codes if self.factors.size > 2 else None
        samples = Samples(self.form.rows(block.X), self.kernel, label, weight, self.loss, code)
        rows = self.numbering.numbers(block)
        owned = OwnedRows(rows, samples)
        return Part(rows, np.zeros(block.n_rows), float(weight.sum()), owned)


@dataclass(frozen=True)
class RowsWanted:
    """Some rows of all blocks, by their numbers in ascending order."""

    wanted: NDArray[np.int64]
    numbering: Numbering

    def __call__(self, block: SourceBlock) -> list[tuple[Any, NDArray[np.int32]]]:
        """Return those of a block, with their classes, as they were given."""
        first = self.numbering.first[block.number]
        begin, end = np.searchsorted(self.wanted, [first, first + block.n_rows])
        own = self.wanted[begin:end] - first
        return [(block.X[own], block.codes[own])] if own.size else []
