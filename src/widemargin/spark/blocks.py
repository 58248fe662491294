"""The rows of a DataFrame as blocks on the cluster, checked before any training."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from pyspark.sql import functions as F

from ..engines import spark_tasks
from ..engines.spark import NoParts, SparkEngine, SparkParts
from ..estimators.linear_divided import bytes_of
from ..linear.row_blocks import RowBlock
from ..losses import Array
from .block_tasks import BlocksOfPartition, SourceBlock
from .columns import IDENTITY, Columns
from .vector_arrays import different_sizes

log = logging.getLogger("widemargin.spark")

# Sparse vectors with this share of entries that are not zero are kept as dense rows, which take
# about as much memory and are passed over faster.
DENSE_SHARE = 0.5
# Parts that rows with ids are divided into.
PARTS_BY_ID = 16
# With more classes than this, labels that do not occur are taken for a slip.
MOST_CLASSES_WITH_GAPS = 100


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
        problem=block.problem,
    )


@dataclass(frozen=True)
class PlacedRows:
    """Rows of a DataFrame on the cluster.

    Attributes
    ----------
    engine : SparkEngine
        Where they are.
    parts : SparkParts
        Blocks of them.
    summary : Summary
        What they are like.
    """

    engine: SparkEngine
    parts: SparkParts
    summary: Summary

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.summary.sizes[0]


def place(
    engine: SparkEngine, dataset: Any, columns: Columns, *, skip: bool, n_parts: int | None
) -> PlacedRows:
    """Put the rows of a DataFrame into blocks, which the engine keeps until it is told otherwise.

    With ids rows are placed by the hash of theirs and sorted, so that blocks do not depend on how
    the DataFrame is partitioned. Without, rows stay where they are, unless ``n_parts`` is given.
    """
    chosen = columns.selected(dataset)
    if columns.identity is not None:
        chosen = chosen.repartition(n_parts or PARTS_BY_ID, IDENTITY)
        chosen = chosen.sortWithinPartitions(IDENTITY)
    elif n_parts is not None:
        chosen = chosen.repartition(n_parts)
    task = BlocksOfPartition(uuid.uuid4().hex, columns, skip)
    made = parts = engine.keep(chosen.mapInArrow(task, spark_tasks.CHUNKS_DDL))
    try:
        summary = engine.reduce(parts, summary_of, Summary.plus)
    except NoParts:
        raise ValueError("the DataFrame has no rows to train on.") from None
    check_rows(summary, columns)
    if summary.skipped:
        log.warning("left out %s invalid rows", f"{summary.skipped:,}")
    if summary.empty:
        few = parts.frame.where(~F.col("part").isin(list(summary.empty)))
        parts = SparkParts(few, [n for n in engine.numbers(parts) if n not in summary.empty])
    if summary.kinds != {not summary.dense}:
        parts = engine.map(parts, AsKind(summary.dense))
        engine.release(made)
        summary = engine.reduce(parts, summary_of, Summary.plus)
    return PlacedRows(engine, parts, summary)


@dataclass(frozen=True)
class AsKind:
    """Blocks made dense, or CSR."""

    dense: bool

    def __call__(self, block: RowBlock) -> RowBlock:
        """Return the block with its rows so."""
        if self.dense:
            return replace(block, X=block.X.toarray() if sp.issparse(block.X) else block.X)
        return replace(block, X=sp.csr_matrix(block.X))


def check_rows(summary: Summary, columns: Columns) -> None:
    """Raise if rows cannot be trained on."""
    if summary.problem is not None:
        raise ValueError(summary.problem)
    if summary.rows == 0:
        weighted = "" if columns.weight is None else f" of positive weight ({columns.weight!r})"
        raise ValueError(
            f"the DataFrame has no valid rows{weighted} to train on; {summary.skipped:,} were "
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
