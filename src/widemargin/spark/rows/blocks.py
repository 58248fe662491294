"""The rows of a DataFrame as blocks on the cluster, checked before any training."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from functools import reduce as fold
from typing import Any, NamedTuple

import scipy.sparse as sp
from pyspark.sql import functions as F

from ...core.blocks import RowBlock
from ...engines import spark_tasks
from ...engines.spark import SparkEngine, SparkParts
from ...engines.spark_errors import mapped
from .block_summary import Summary, check_rows, summary_of
from .block_tasks import HELD_OUT, BlocksOfPartition, SourceBlock
from .columns import IDENTITY, PARTITION, FrameColumns

log = logging.getLogger("widemargin.spark")

# Number of parts for rows with ids.
PARTS_BY_ID = 16


@dataclass(frozen=True)
class PlacedRows:
    """Blocks of rows on the cluster, which the engine keeps; validation rows are not trained on.

    ``facts`` are the results of ``facts_of``, in the order of the blocks.
    """

    engine: SparkEngine
    parts: SparkParts
    summary: Summary
    facts: tuple[Any, ...] = ()
    validation: PlacedRows | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.summary.sizes[0]


def place(
    engine: SparkEngine,
    dataset: Any,
    columns: FrameColumns,
    *,
    skip: bool,
    n_parts: int | None,
    sorted_rows: bool = False,
    facts_of: Callable[[SourceBlock], Any] | None = None,
) -> PlacedRows:
    """Put the rows of a DataFrame into blocks, which the engine keeps until they are released.

    Rows with ids are placed by a hash of the id and sorted, so that blocks do not depend on how the
    DataFrame is partitioned. Rows without ids stay in their partitions unless ``n_parts`` is given;
    ``sorted_rows`` sorts them by a hash of their contents, so that a partition that is computed
    again has its rows in the same order. ``facts_of`` is called with every block when it is made,
    which saves a pass over the blocks.
    """
    chosen = columns.selected(dataset)
    if columns.identity is not None:
        if n_parts is None and engine.cores > PARTS_BY_ID:
            log.warning(
                "rows with ids are in %d parts, and %d tasks run at a time: set nParts to use all",
                PARTS_BY_ID,
                engine.cores,
            )
        chosen = chosen.repartition(n_parts or PARTS_BY_ID, IDENTITY)
        chosen = chosen.sortWithinPartitions(IDENTITY)
    elif n_parts is not None:
        chosen = chosen.repartition(n_parts)
    if sorted_rows and columns.identity is None:
        chosen = chosen.sortWithinPartitions(F.xxhash64(*chosen.columns))
    chosen = chosen.withColumn(PARTITION, F.spark_partition_id())
    task = BlocksOfPartition(uuid.uuid4().hex, columns, skip, partial(_noted, facts_of))
    # Read once: a random source would give other rows each time.
    made, notes = engine.keep_noted(mapped(chosen, task, spark_tasks.CHUNKS_DDL))
    rows, moved = _checked(engine, made, notes, columns, held_out=False)
    if columns.validation is not None:
        validation, also = _checked(engine, made, notes, columns, held_out=True)
        rows, moved = replace(rows, validation=validation), moved and also
    if moved:
        engine.release(made)
    return rows


def _checked(
    engine: SparkEngine,
    made: SparkParts,
    notes: dict[int, Note],
    columns: FrameColumns,
    *,
    held_out: bool,
) -> tuple[PlacedRows, bool]:
    """Check training or validation blocks and make them all dense or all sparse.

    The second value is whether this made new blocks.
    """
    parts, use = made, "validate by" if held_out else "train on"
    own = [number for number in notes if bool(number & HELD_OUT) == held_out]
    if columns.validation is not None:
        mark = F.col("part").bitwiseAND(F.lit(HELD_OUT))
        parts = made.only(mark != 0 if held_out else mark == 0, own)
    if not own:
        where = f" in which {columns.validation!r} is true" if held_out else ""
        raise ValueError(
            f"the DataFrame has no rows to {use}{where}. Check the filters and joins that made it."
        )
    summary = fold(Summary.plus, [notes[number].summary for number in own])
    check_rows(summary, columns, use)
    if summary.skipped:
        log.warning("left out %s invalid rows", f"{summary.skipped:,}")
    if summary.empty:
        there = [number for number in own if number not in summary.empty]
        parts = parts.only(~F.col("part").isin(list(summary.empty)), there)
    moved = summary.kinds != {not summary.dense}
    if moved:
        parts = engine.map(parts, AsKind(summary.dense))
        summary = engine.reduce(parts, summary_of, Summary.plus)
    facts = tuple(notes[number].facts for number in own if notes[number].summary.rows)
    return PlacedRows(engine, parts, summary, facts), moved


class Note(NamedTuple):
    """Note on a block: its summary and its facts."""

    summary: Summary
    facts: Any


def _noted(facts_of: Callable[[SourceBlock], Any] | None, block: SourceBlock) -> Note:
    if facts_of is None or block.n_rows == 0:
        return Note(summary_of(block), None)
    return Note(summary_of(block), facts_of(block))


@dataclass(frozen=True)
class AsKind:
    """Function that makes a block dense, or CSR."""

    dense: bool

    def __call__(self, block: RowBlock) -> RowBlock:
        """Return the converted block."""
        if self.dense:
            return replace(block, X=block.X.toarray() if sp.issparse(block.X) else block.X)
        return replace(block, X=sp.csr_matrix(block.X))
