"""Rows drawn from the blocks of a cluster: to fit the points of a model to, and to compare models.

Blocks decide alone, by the seed and their number, so that the driver draws nothing and a block that
was lost gives the same rows again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ..rows.block_tasks import SourceBlock
from .rows import RowForm
from .support import stacked


@dataclass(frozen=True)
class DrawnRows:
    """Some rows in the form that kernels see, with their classes and weights."""

    number: int
    X: Any
    codes: NDArray[np.int32]
    weight: Array  # of the rows' losses

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)


@dataclass(frozen=True)
class Draw:
    """Draws rows of a block: some to hold out, others to fit to; the seed alone decides."""

    seed: int
    held_out: float  # shares of a block's rows
    to_fit: float

    def rows(self, block: SourceBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of a block's rows to hold out, and of those to fit to."""
        random = np.random.default_rng([self.seed, block.number])
        order = random.permutation(block.n_rows)
        shares = np.cumsum([self.held_out, self.to_fit])
        first, second = np.floor(block.n_rows * shares + random.random()).astype(int)
        return np.sort(order[:first]), np.sort(order[first:second])


@dataclass(frozen=True)
class RowsHeldOut:
    """Brings the rows that are held out here, with their classes."""

    draw: Draw
    form: RowForm

    def __call__(self, block: SourceBlock) -> list[tuple[Any, NDArray[np.int32]]]:
        """Take those of a block."""
        own, _ = self.draw.rows(block)
        return [(self.form.rows(block.X[own]), block.codes[own])] if own.size else []


@dataclass(frozen=True)
class ToFit:
    """Deals the rows of a block that are fitted to out over parts, in the order of the blocks."""

    draw: Draw
    form: RowForm
    factors: Array  # weights of the classes, that of a row of weight one included
    n_blocks: int
    n_parts: int

    def __call__(self, position: int, block: SourceBlock) -> list[tuple[int, DrawnRows]]:
        """Divide the rows of a block."""
        _, own = self.draw.rows(block)
        first, last = (k * self.n_parts // self.n_blocks for k in (position, position + 1))
        pieces = np.array_split(own, max(1, last - first))
        numbered = [(first + k, rows) for k, rows in enumerate(pieces) if rows.size]
        return [(number, self._piece(number, block, rows)) for number, rows in numbered]

    def _piece(self, number: int, block: SourceBlock, rows: NDArray[np.int64]) -> DrawnRows:
        codes, weight = block.codes[rows], self.factors[block.codes[rows]]
        if block.weight is not None:
            weight = weight * block.weight[rows]
        return DrawnRows(number, self.form.rows(block.X[rows]), codes, weight)


def joined(pieces: list[DrawnRows]) -> DrawnRows:
    """Put rows of a part together."""
    codes = np.concatenate([each.codes for each in pieces])
    weight = np.concatenate([each.weight for each in pieces])
    return DrawnRows(pieces[0].number, stacked([each.X for each in pieces]), codes, weight)
