"""Summary of the rows of blocks, and checks of whether they can be trained on."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.blocks import bytes_of
from ...core.fit import warn
from ...core.uneven_scales import UNEVEN_PENALTY, dominating
from .batches import different_sizes
from .block_tasks import SourceBlock
from .columns import FrameColumns

# Number of evenly spaced rows of a block that are measured.
ROWS_OF_A_BLOCK = 2000
# With more features than this, their sums are too large to send along.
MOST_FEATURES = 10_000


@dataclass(frozen=True)
class Spread:
    """Mean of each feature, and sum of its squared distances from the mean."""

    rows: int
    mean: Array
    squares: Array

    def plus(self, other: Spread) -> Spread:
        """Return the spread over these and other rows."""
        if self.mean.shape != other.mean.shape:
            return self  # an error that other checks report
        rows, apart = self.rows + other.rows, other.mean - self.mean
        return Spread(
            rows,
            self.mean + apart * (other.rows / rows),
            self.squares + other.squares + apart**2 * (self.rows * other.rows / rows),
        )


def joined_spread(one: Spread | None, other: Spread | None) -> Spread | None:
    """Return the spread over all rows."""
    if one is None or other is None:
        return one or other
    return one.plus(other)


def spread_of(X: Any) -> Spread | None:
    """Measure the features of some rows; None if there are no rows, or too many features."""
    n_rows, n_features = X.shape
    if n_rows == 0 or n_features > MOST_FEATURES:
        return None
    sample = X[:: max(1, n_rows // ROWS_OF_A_BLOCK)]
    if sp.issparse(sample):
        mean = np.asarray(sample.mean(axis=0, dtype=np.float64)).ravel()
        square = np.asarray(sample.multiply(sample).mean(axis=0, dtype=np.float64)).ravel()
        variance = np.maximum(square - mean * mean, 0.0)
    else:
        mean = sample.mean(axis=0, dtype=np.float64)
        variance = sample.var(axis=0, dtype=np.float64)
    return Spread(n_rows, mean, n_rows * variance)


def warn_if_few_dominate(spread: Spread | None, column: str) -> None:
    """Warn if a few features have almost all of the variance."""
    who = None if spread is None else dominating(spread.squares, of=f" of column {column!r}")
    if spread is not None and who is not None:
        warn(
            f"{who} of the variance of all {len(spread.mean)} features, so {UNEVEN_PENALTY}. Scale "
            "the features first, for example with pyspark.ml.feature.StandardScaler in a Pipeline."
        )


log = logging.getLogger("widemargin.spark")

# Sparse vectors with this share of non-zero entries are stored as dense rows, which take about as
# much memory and are faster.
DENSE_SHARE = 0.5
# With more classes than this, labels that do not occur are taken for a mistake.
MOST_CLASSES_WITH_GAPS = 100


class BlockMark(NamedTuple):
    """Identity of a block: number of the part, number of rows, checksum."""

    number: int
    rows: int
    sign: int


@dataclass(frozen=True)
class Summary:
    """Summary of the rows of some blocks."""

    rows: int
    stored: int  # bytes
    entries: int  # stored values
    skipped: int  # rows left out as invalid
    sizes: tuple[int, ...]  # numbers of features that occur
    kinds: frozenset[bool]  # whether blocks are sparse: False, True or both
    counts: NDArray[np.int64]  # rows of each class, up to the largest label
    weights: Array  # their total weights
    empty: tuple[int, ...]  # numbers of parts without rows
    blocks: tuple[BlockMark, ...]  # in the order of the parts
    spread: Spread | None  # None if there are too many features
    problem: str | None  # error in the first part that cannot be used
    weightless: int = 0  # rows left out as their weight is zero

    def plus(self, other: Summary) -> Summary:
        """Return the summary of these and other rows."""
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
            self.weightless + other.weightless,
        )

    @property
    def dense(self) -> bool:
        """Whether to store rows as dense ones."""
        return self.kinds == {False} or self.entries > DENSE_SHARE * self.rows * self.sizes[0]


def summary_of(block: SourceBlock) -> Summary:
    """Return the summary of one block."""
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
        weightless=block.weightless,
    )


def check_rows(summary: Summary, columns: FrameColumns, use: str = "train on") -> None:
    """Raise if rows cannot be used."""
    if summary.problem is not None:
        raise ValueError(summary.problem)
    if summary.rows == 0:
        raise ValueError(_no_rows(summary, columns, use))
    if len(summary.sizes) > 1:
        raise different_sizes(columns.features, summary.sizes[0], summary.sizes[-1])
    if summary.sizes[0] == 0:
        raise ValueError(
            f"column {columns.features!r} must hold at least one feature; got vectors of size 0. "
            "Put the columns to learn from into it, for example with VectorAssembler."
        )


def _no_rows(summary: Summary, columns: FrameColumns, use: str) -> str:
    """Say why no rows are left."""
    invalid = f"{summary.skipped:,} were left out as invalid (handleInvalid='skip')"
    if summary.weightless:
        also = f", and {invalid}" if summary.skipped else ""
        return (
            f"column {columns.weight!r} must hold a weight above 0 in some of the rows to {use}; "
            f"got 0 in all {summary.weightless:,}{also}. Rows of weight 0 are left out: give "
            "others to those that count, or leave `weightCol` unset."
        )
    return (
        f"the DataFrame has no valid rows to {use}; {invalid}. Fill in null, NaN and infinity in "
        "the columns of features, labels and weights."
    )


def check_classes(summary: Summary, columns: FrameColumns) -> None:
    """Raise if labels are not those of at least two classes."""
    counts = summary.counts
    missing = np.flatnonzero(counts == 0)
    if np.count_nonzero(counts) < 2:
        raise ValueError(
            f"column {columns.label!r} must hold labels of at least two classes; got only "
            f"{len(counts) - 1} in {summary.rows:,} rows{_left_out(summary, columns)}. Look for "
            "the other classes in what was filtered or sampled before."
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


def _left_out(summary: Summary, columns: FrameColumns) -> str:
    """Say which rows do not count."""
    left = [
        f"{number:,} {why}"
        for number, why in (
            (summary.weightless, f"of weight 0 in {columns.weight!r}"),
            (summary.skipped, "that are invalid"),
        )
        if number
    ]
    return f" (without {' and '.join(left)})" if left else ""


def _added(a: Any, b: Any) -> Any:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    total = longer.copy()
    total[: len(shorter)] += shorter
    return total
