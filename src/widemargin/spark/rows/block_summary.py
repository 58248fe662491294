"""What blocks tell of their rows, and whether these can be trained on."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.blocks import bytes_of
from .block_tasks import SourceBlock
from .columns import Columns
from .feature_spread import Spread, joined_spread, spread_of
from .vector_arrays import different_sizes

log = logging.getLogger("widemargin.spark")

# Sparse vectors with this share of entries that are not zero are kept as dense rows, which take
# about as much memory and are passed over faster.
DENSE_SHARE = 0.5
# With more classes than this, labels that do not occur are taken for a slip.
MOST_CLASSES_WITH_GAPS = 100


class BlockMark(NamedTuple):
    """What tells a block: number of the part, rows, checksum of these."""

    number: int
    rows: int
    sign: int


@dataclass(frozen=True)
class Summary:
    """What blocks tell of their rows.

    Attributes
    ----------
    rows, stored, entries, skipped : int
        Rows, their bytes, their stored values, and rows left out as invalid.
    sizes : tuple of int
        Numbers of features that occur.
    kinds : frozenset of bool
        Whether blocks are sparse: one of them, or both.
    counts, weights : array of shape (largest label + 1,)
        Rows of each class, and their weights.
    empty : tuple of int
        Numbers of parts that have no rows.
    blocks : tuple of BlockMark
        Of the parts, in the order of their numbers.
    spread : Spread or None
        Of the features; None if there are too many of them.
    problem : str or None
        What is wrong with the first part that cannot be used.
    """

    rows: int
    stored: int
    entries: int
    skipped: int
    sizes: tuple[int, ...]
    kinds: frozenset[bool]
    counts: NDArray[np.int64]
    weights: Array
    empty: tuple[int, ...]
    blocks: tuple[BlockMark, ...]
    spread: Spread | None
    problem: str | None

    def plus(self, other: Summary) -> Summary:
        """Add that of other rows."""
        return Summary(
            self.rows + other.rows,
            self.stored + other.stored,
            self.entries + other.entries,
            self.skipped + other.skipped,
            tuple(sorted({*self.sizes, *other.sizes})),
            self.kinds | other.kinds,
            _added(self.counts, other.counts),
            _added(self.weights, other.weights),
            self.empty + other.empty,
            self.blocks + other.blocks,
            joined_spread(self.spread, other.spread),
            self.problem or other.problem,
        )

    @property
    def dense(self) -> bool:
        """Whether rows are better kept dense."""
        return self.kinds == {False} or self.entries > DENSE_SHARE * self.rows * self.sizes[0]


def summary_of(block: SourceBlock) -> Summary:
    """Describe one block."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    sparse, there = sp.issparse(block.X), block.n_rows > 0
    return Summary(
        rows=block.n_rows,
        stored=bytes_of(block.X),
        entries=int(block.X.nnz if sparse else block.X.size),
        skipped=block.skipped,
        sizes=(int(block.X.shape[1]),) if there else (),
        kinds=frozenset([sparse]) if there else frozenset(),
        counts=np.bincount(block.codes),
        weights=np.bincount(block.codes, weight).astype(np.float64),
        empty=() if there else (block.number,),
        blocks=(BlockMark(block.number, block.n_rows, block.sign),),
        spread=spread_of(block.X),
        problem=block.problem,
    )


def check_rows(summary: Summary, columns: Columns, use: str = "train on") -> None:
    """Raise if rows cannot be used."""
    if summary.problem is not None:
        raise ValueError(summary.problem)
    if summary.rows == 0:
        weighted = "" if columns.weight is None else f" of positive weight ({columns.weight!r})"
        raise ValueError(
            f"the DataFrame has no valid rows{weighted} to {use}; {summary.skipped:,} were "
            "left out as invalid."
        )
    if len(summary.sizes) > 1:
        raise different_sizes(columns.features, summary.sizes[0], summary.sizes[-1])
    if summary.sizes[0] == 0:
        raise ValueError(f"column {columns.features!r} must hold at least one feature; got none.")


def check_classes(summary: Summary, columns: Columns) -> None:
    """Raise if labels are not those of at least two classes."""
    counts = summary.counts
    missing = np.flatnonzero(counts == 0)
    if np.count_nonzero(counts) < 2:
        raise ValueError(
            f"column {columns.label!r} must hold labels of at least two classes; got only "
            f"{len(counts) - 1}."
        )
    if len(missing) and len(counts) > MOST_CLASSES_WITH_GAPS:
        raise ValueError(
            f"column {columns.label!r} must hold labels 0, 1, …, each of them; the largest is "
            f"{len(counts) - 1}, and {len(missing):,} smaller ones do not occur. Index labels "
            "with StringIndexer."
        )
    if len(missing):
        log.warning(
            "column %r has no rows of the classes %s; they will hardly be predicted",
            columns.label,
            ", ".join(map(str, missing)),
        )


def _added(a: Any, b: Any) -> Any:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    total = longer.copy()
    total[: len(shorter)] += shorter
    return total
