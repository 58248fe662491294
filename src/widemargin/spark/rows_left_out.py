"""Rows that a fit on the cluster leaves out, to calibrate by.

Of each class those with the smallest keys are left out. A key depends on the contents of a row
alone, so that the choice depends neither on partitions nor on the order of rows, and copies of a
row are left out together. The number left out is bounded, and so is what the driver sees of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import functions as F

from ..core.arrays import Array
from ..core.blocks import joined
from ..core.random_draws import scrambled
from ..core.rows import row_keys
from ..estimators.held_out import ENOUGH_OF_CLASS, ENOUGH_ROWS, FOLDS, HeldOut
from .rows.block_summary import Summary, summary_of
from .rows.block_tasks import SourceBlock, checksum
from .rows.blocks import PlacedRows

__all__ = ["HeldOut", "RowsLeftOut", "keys_of", "numbers_wanted"]

# Decisions that the driver holds, 128 MiB, unless one row of each class makes more.
MOST_DECISIONS = 1 << 24
# Keys are asked for up to where this multiple of the wanted rows, and a few more, are expected.
MARGIN = 2.0
FEW = 50

Keys = NDArray[np.uint64]


def numbers_wanted(counts: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """Return how many rows of each class to leave out, of ``share`` of them at most."""
    enough = np.maximum(ENOUGH_ROWS * counts / max(1, counts.sum()), ENOUGH_OF_CLASS)
    wanted = np.minimum(np.ceil(enough), np.maximum(np.floor(share * counts), 1))
    most = max(1, MOST_DECISIONS // len(counts))
    if wanted.sum() > most:
        wanted = np.maximum(np.floor(wanted * (most / wanted.sum())), 1)
    alone = counts < 2 if share < 1.0 else counts < 1
    return np.asarray(np.where(alone, 0, wanted), dtype=np.int64)


@dataclass(frozen=True)
class RowsLeftOut:
    """Rows up to a key, by class; a class of which none are left out has no key."""

    largest: Keys  # (n_classes,)
    some: NDArray[np.bool_]  # (n_classes,)

    @classmethod
    def of(cls, rows: PlacedRows, share: float = 1.0 / FOLDS) -> RowsLeftOut:
        """Choose them among rows on the cluster, by one pass."""
        counts = rows.summary.counts
        wanted = numbers_wanted(counts, share)
        asked = np.minimum(1.0, (MARGIN * wanted + FEW) / np.maximum(counts, 1))
        limits = (asked * (2.0**64 - 2.0**11)).astype(np.uint64)
        limits[asked >= 1.0] = np.iinfo(np.uint64).max
        found = rows.engine.reduce(rows.parts, _SmallKeys(limits), operator.add)
        codes = np.concatenate([own for own, _ in found])
        keys = np.concatenate([own for _, own in found])
        largest = np.zeros(len(counts), dtype=np.uint64)
        for code in np.flatnonzero(wanted):
            own = np.sort(keys[codes == code])
            largest[code] = own[min(wanted[code], own.size) - 1]
            # A class whose rows are all copies would be left out as a whole.
            if share < 1.0 and np.count_nonzero(own <= largest[code]) >= counts[code]:
                wanted[code] = 0
        return cls(largest, wanted > 0)

    def marked(self, block: SourceBlock) -> NDArray[np.bool_]:
        """Return which rows of a block are left out."""
        left_out = keys_of(block) <= self.largest[block.codes]
        return np.asarray(left_out & self.some[block.codes])

    def others(self, rows: PlacedRows) -> PlacedRows:
        """Return the rows that are not left out, in new blocks that the engine keeps."""
        parts = rows.engine.map(rows.parts, _Others(self))
        summary = rows.engine.reduce(parts, summary_of, Summary.plus)
        if summary.empty:
            there = [n for n in rows.engine.numbers(parts) if n not in summary.empty]
            parts = parts.only(~F.col("part").isin(list(summary.empty)), there)
            blocks = tuple(each for each in summary.blocks if each.rows)
            summary = replace(summary, blocks=blocks, empty=())
        missing = len(rows.summary.counts) - len(summary.counts)
        summary = replace(
            summary,
            counts=np.pad(summary.counts, (0, missing)),
            weights=np.pad(summary.weights, (0, missing)),
        )
        return replace(rows, parts=parts, summary=summary, validation=None)

    def decided(self, rows: PlacedRows, decide: Callable[[Any], Array]) -> HeldOut:
        """Return the decisions about them, by a function that goes to the workers."""
        found = rows.engine.reduce(rows.parts, _Decided(self, decide), operator.add)
        columns = [np.concatenate(values) for values in zip(*found, strict=True)]
        return HeldOut(columns[0].astype(np.int64), columns[1], columns[2])

    def gathered(self, rows: PlacedRows) -> SourceBlock:
        """Bring them here."""
        found = rows.engine.reduce(rows.parts, _Gathered(self), operator.add)
        block: Any = joined(found)
        return block  # type: ignore[no-any-return]


def keys_of(block: SourceBlock) -> Keys:
    """Return the keys of a block's rows, evenly distributed."""
    return scrambled(row_keys(block.X, block.codes))


@dataclass(frozen=True)
class _SmallKeys:
    """Classes and keys of the rows of a block, up to a key for each class."""

    limits: Keys

    def __call__(self, block: SourceBlock) -> list[tuple[NDArray[np.int32], Keys]]:
        keys = keys_of(block)
        near = keys <= self.limits[block.codes]
        return [(block.codes[near], keys[near])]


@dataclass(frozen=True)
class _Others:
    """A block without the rows that are left out."""

    held_out: RowsLeftOut

    def __call__(self, block: SourceBlock) -> SourceBlock:
        return _some(block, ~self.held_out.marked(block))


def _some(block: SourceBlock, marked: NDArray[np.bool_]) -> SourceBlock:
    rows = np.flatnonzero(marked)
    X, codes = block.X[rows], block.codes[rows]
    weight = None if block.weight is None else block.weight[rows]
    sign = checksum(X, codes, *([] if weight is None else [weight]))
    # Another name: processes remember blocks by theirs.
    return replace(
        block, name=f"{block.name}-{sign:08x}", X=X, codes=codes, weight=weight, sign=sign
    )


@dataclass(frozen=True)
class _Decided:
    """Classes, weights and decisions of the rows of a block that are left out."""

    held_out: RowsLeftOut
    decide: Callable[[Any], Array]

    def __call__(self, block: SourceBlock) -> list[tuple[NDArray[np.int32], Array, Array]]:
        some = _some(block, self.held_out.marked(block))
        if some.n_rows == 0:
            return []
        weight = np.ones(some.n_rows) if some.weight is None else some.weight
        return [(some.codes, weight, self.decide(some.X))]


@dataclass(frozen=True)
class _Gathered:
    """The rows of a block that are left out."""

    held_out: RowsLeftOut

    def __call__(self, block: SourceBlock) -> list[SourceBlock]:
        some = _some(block, self.held_out.marked(block))
        return [some] if some.n_rows else []
