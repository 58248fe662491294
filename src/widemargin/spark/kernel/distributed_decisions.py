"""Decisions of a model that stays on the cluster, as a column of a DataFrame.

Rows are packed into blocks, and every block is joined with the support vectors: those of all parts,
or of the cluster that is nearest to each row. One shuffle brings the sums back to the block, where
they are added in a fixed order.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

from ...engines.spark_tasks import arrow_schema
from ..decisions import VectorChecks, listed
from .distributed_expansion import DecisionRule, DistributedExpansion
from .support import block_of, record_of

# Rows of a block of the DataFrame.
ROWS_OF_A_BLOCK = 4096

# A block's rows, or the sums of some support vectors for them; `mark` is their checksum.
MESSAGES_DDL = "query long, mark long, problem int, part int, block int, message binary"
MESSAGES = arrow_schema(MESSAGES_DDL)
# In place of a problem's number: the rows themselves, or rows that go to all parts.
ROWS, ALL_PARTS = -2, -1


def with_distributed_decisions(
    dataset: Any, large: DistributedExpansion, rule: DecisionRule, checks: VectorChecks, name: str
) -> Any:
    """Add a column of decisions, an array of one number per binary problem."""
    # Where rows are joined with all support vectors, a task's number is not their partition's.
    placed = dataset.withColumn(f"{name}_partition", F.spark_partition_id())
    packed = placed.mapInArrow(partial(_packed, checks), MESSAGES_DDL)
    queries = packed.mapInArrow(partial(_queries, rule, checks), MESSAGES_DDL).select(
        "query", "mark", F.col("problem").alias("to_problem"), F.col("part").alias("to"), "message"
    )
    support = large.frame
    routed = [k for k, each in enumerate(rule.routing) if each is not None]
    of_all_parts = queries.where(F.col("to_problem") == ALL_PARTS).crossJoin(
        support.where(~F.col("problem").isin(routed))
    )
    nearest = queries.join(
        support, (F.col("to_problem") == F.col("problem")) & (F.col("to") == F.col("part"))
    )
    pairs = nearest if len(routed) == rule.n_problems else of_all_parts
    if 0 < len(routed) < rule.n_problems:
        pairs = of_all_parts.unionByName(nearest)
    answers = pairs.mapInArrow(partial(_answers, rule), MESSAGES_DDL)
    together = packed.unionByName(answers).repartition("query")
    together = together.sortWithinPartitions("query", "problem", "part", "block")
    fields = [*dataset.schema.fields, StructField(name, ArrayType(DoubleType()))]
    finish = _Finish(rule.n_problems, checks, name)
    return together.mapInArrow(finish, StructType(fields))


def _packed(checks: VectorChecks, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack rows into blocks; the last column is the number of their partition."""
    query = 0
    for batch in batches:
        for first in range(0, batch.num_rows, ROWS_OF_A_BLOCK):
            rows = batch.slice(first, ROWS_OF_A_BLOCK)
            *columns, partition = rows.columns
            own = pa.RecordBatch.from_arrays(columns, names=rows.schema.names[:-1])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, own.schema) as writer:
                writer.write_batch(own)
            mark = _mark(checks.vectors(own.column(checks.name)).X)
            number = (partition[0].as_py() << 32) + query
            yield record_of(MESSAGES, number, mark, ROWS, 0, 0, sink.getvalue().to_pybytes())
            query += 1


def _mark(X: Any) -> int:
    """Return a checksum of rows."""
    mark = 0
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        mark = zlib.crc32(np.ascontiguousarray(array).data, mark)
    return mark


def _unpacked(data: bytes) -> pa.RecordBatch:
    return pa.ipc.open_stream(data).read_next_batch()


def _queries(
    rule: DecisionRule, checks: VectorChecks, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Address the valid rows of blocks to the parts that decide about them."""
    for row in _rows(batches):
        vectors = checks.vectors(_unpacked(row["message"]).column(checks.name))
        valid = np.flatnonzero(vectors.valid)
        if valid.size == 0:
            continue
        groups = rule.groups(vectors.X)
        mark = (row["query"], row["mark"])
        if any(group is None for group in groups):
            yield record_of(MESSAGES, *mark, ALL_PARTS, 0, 0, pickle.dumps((valid, vectors.X)))
        for problem, group in enumerate(groups):
            for part in [] if group is None else np.unique(group).tolist():
                own = np.flatnonzero(group == part)
                data = pickle.dumps((valid[own], vectors.X[own]))
                yield record_of(MESSAGES, *mark, problem, part, 0, data)


def _answers(rule: DecisionRule, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Evaluate support vectors on the rows they are joined with."""
    for row in _rows(batches):
        positions, X = pickle.loads(row["message"])
        block = block_of(row)
        data = pickle.dumps((positions, rule.decide(block, X)))
        mark = (row["query"], row["mark"])
        yield record_of(MESSAGES, *mark, block.problem, block.part, block.block, data)


@dataclass(frozen=True)
class _Finish:
    """Adds up the decisions about the rows of a block, and puts them into a column."""

    n_problems: int
    checks: VectorChecks
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: Any = None
        sums = np.zeros((0, 0))
        for row in _rows(batches):
            if row["problem"] == ROWS:
                if rows is not None:
                    yield self._with(rows, sums)
                rows, mark = _unpacked(row["message"]), (row["query"], row["mark"])
                sums = np.zeros((rows.num_rows, self.n_problems))
                continue
            if rows is None or (row["query"], row["mark"]) != mark:
                raise RuntimeError(
                    "the DataFrame gave other rows, or in another order, when it was read again. "
                    "Persist it, or write it out, before it is transformed."
                )
            positions, decisions = pickle.loads(row["message"])
            sums[positions, row["problem"]] += decisions
        if rows is not None:
            yield self._with(rows, sums)

    def _with(self, rows: pa.RecordBatch, sums: Any) -> pa.RecordBatch:
        valid = self.checks.vectors(rows.column(self.checks.name)).valid
        decisions = listed(valid, sums[valid])
        return pa.RecordBatch.from_arrays(
            [*rows.columns, decisions], names=[*rows.schema.names, self.name]
        )


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for row in range(batch.num_rows):
            yield {name: batch.column(k)[row].as_py() for k, name in enumerate(batch.schema.names)}
