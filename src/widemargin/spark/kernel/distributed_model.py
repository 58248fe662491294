"""Models with too many support vectors for the driver: these stay in a table on the cluster.

To add decisions to a DataFrame, its rows are packed into blocks, and every block is joined with the
support vectors: those of all parts, or of the cluster that is nearest to each row. One shuffle
brings the sums back to the block, where they are added in a fixed order.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as F

from ...core.arrays import Array
from ...engines.spark_errors import errors_of_tasks, mapped
from ...engines.spark_tasks import arrow_schema
from ...kernel.kernels import Kernel
from ...kernel.model.compression import POINTS
from ...kernel.model.level_model import LevelModel
from ...kernel.model.prediction import Expansion, fitted_kernel, router_of, set_expansion
from ..decisions import VectorChecks, appended, listed, schema_with_decisions, unless
from ..rows.batches import ColumnError
from ..rows.block_tasks import checksum
from . import support
from .support import SupportBlock, SupportVectors, block_of, gathered, record_of, rows_of

# Support vectors for each point of a compressed model that stand for all of them.
SAMPLED = POINTS + 5
Groups = list[NDArray[np.int64] | None]


@dataclass(frozen=True)
class DecisionRule:
    """Kernel and routing of a model: all that decides but its support vectors."""

    kernel: Kernel
    routing: list[Any]  # of each binary problem; None uses all parts

    @classmethod
    def of(cls, fitted: Any) -> DecisionRule:
        """Take it from fitted attributes."""
        n_problems = len(fitted.dual_coef_)
        routing = [None] * n_problems if fitted.routing_ is None else fitted.routing_
        return cls(fitted_kernel(fitted, constant=True), routing)

    @property
    def n_problems(self) -> int:
        """Number of binary problems."""
        return len(self.routing)

    def groups(self, X: Any) -> Groups:
        """Find the clusters of rows, for every binary problem."""
        return [
            None if each is None else router_of(each, self.kernel).assign(X)
            for each in self.routing
        ]

    def decide(self, block: SupportBlock, X: Any) -> Array:
        """Sum kernel values of rows with the support vectors of a block."""
        return LevelModel(self.kernel, block.X, block.rows, block.coef).decide(X)


@dataclass(frozen=True)
class DistributedExpansion:
    """A table of support vectors on the cluster, as :mod:`.support` has it."""

    frame: Any
    n_support: int  # summed over the binary problems
    kept: list[Any] = field(default_factory=list)  # DataFrames in Spark's storage

    def decide(self, rule: DecisionRule, X: Any) -> Array:
        """Evaluate the decision function on a few rows, as (problems, rows)."""
        question = partial(_decided, rule, X, rule.groups(X))
        with errors_of_tasks():
            rows = mapped(self.frame, question, "data binary").collect()
        out = np.zeros((rule.n_problems, X.shape[0]))
        for row in rows:
            out += np.frombuffer(bytes(row["data"])).reshape(out.shape)
        return out

    def totals(self, n_problems: int) -> Array:
        """Sum the coefficients of every binary problem."""
        sums = np.zeros(n_problems)
        for row in self.frame.groupBy("problem").sum("total").collect():
            sums[row[0]] = row[1]
        return sums

    def sampled(self, n_problems: int, size: int, seed: int) -> SupportVectors:
        """Bring some support vectors here, drawn with equal chances; all if there are no more."""
        marks = self.frame.select("problem", "part", "block", "n").collect()
        marks.sort(key=lambda row: (row["problem"], row["part"], row["block"]))
        ends = np.cumsum([row["n"] for row in marks])
        total = int(ends[-1])
        chosen = np.random.default_rng(seed).choice(total, min(size, total), replace=False)
        of_blocks = np.split(np.sort(chosen), np.searchsorted(np.sort(chosen), ends[:-1]))
        wanted = {
            (row["problem"], row["part"], row["block"]): own - (end - row["n"])
            for row, own, end in zip(marks, of_blocks, ends, strict=True)
            if own.size
        }
        return self._gathered(mapped(self.frame, _Taken(wanted), support.DDL), n_problems)

    def collected(self, n_problems: int) -> SupportVectors:
        """Bring all support vectors here."""
        return self._gathered(self.frame, n_problems)

    def unpersist(self) -> None:
        """Free what the table takes in Spark's storage."""
        for frame in self.kept:
            frame.unpersist()

    @staticmethod
    def _gathered(frame: Any, n_problems: int) -> SupportVectors:
        with errors_of_tasks():
            blocks = [block_of(row) for row in frame.collect()]
        blocks.sort(key=lambda each: (each.problem, each.part, each.block))
        return gathered(blocks, n_problems)


def _decided(
    rule: DecisionRule, X: Any, groups: Groups, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Sum the decisions of blocks about rows; a cluster decides about its own rows alone."""
    out = np.zeros((rule.n_problems, X.shape[0]))
    for block in support.blocks_of(batches):
        group = groups[block.problem]
        if group is None:
            out[block.problem] += rule.decide(block, X)
            continue
        own = np.flatnonzero(group == block.part)
        if own.size:
            out[block.problem, own] += rule.decide(block, X[own])
    yield pa.RecordBatch.from_arrays([pa.array([out.tobytes()], pa.binary())], names=["data"])


@dataclass(frozen=True)
class _Taken:
    """Some of the support vectors, by the numbers of their block."""

    wanted: dict[tuple[int, int, int], NDArray[np.int64]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in support.blocks_of(batches):
            positions = self.wanted.get((block.problem, block.part, block.block))
            if positions is not None:
                yield block.take(positions).record()


def with_support(fitted: Any, found: SupportVectors) -> Any:
    """Return a copy of a fitted estimator with some support vectors in place of its own."""
    kernel: Kernel = fitted_kernel(fitted, constant=True)
    expansion = Expansion(
        classes=fitted.classes_,
        support=found.rows,
        vectors=found.vectors,
        codes=found.codes,
        coef=found.coef,
        n_samples=fitted.n_samples_fit_,
        scheme=fitted.multi_class_,
    )
    part = None if fitted.support_part_ is None else found.part
    new = copy(fitted)
    set_expansion(new, kernel, expansion, {"support_part_": part, "routing_": fitted.routing_})
    return new


# Rows of a block of the DataFrame.
ROWS_OF_A_BLOCK = 4096

# A block's rows, or the sums of some support vectors for them; `mark` is their checksum.
MESSAGES_DDL = "query long, mark long, problem int, part int, block int, message binary"
MESSAGES = arrow_schema(MESSAGES_DDL)
# In place of a problem's number: what is wrong with the rows, the rows themselves, or rows that go
# to all parts.
WRONG, ROWS, ALL_PARTS = -3, -2, -1


def with_distributed_decisions(
    dataset: Any, large: DistributedExpansion, rule: DecisionRule, checks: VectorChecks, name: str
) -> Any:
    """Add a column of decisions, an array of one number per binary problem."""
    # Where rows are joined with all support vectors, a task's number is not their partition's.
    placed = dataset.withColumn(f"{name}_partition", F.spark_partition_id())
    packed = mapped(placed, partial(_packed, checks), MESSAGES_DDL)
    wrong = F.when(F.col("problem") == WRONG, F.col("message").cast("string"))
    packed = packed.withColumn("message", unless(wrong, F.col("message")))
    queries = mapped(packed, partial(_queries, rule, checks), MESSAGES_DDL).select(
        "query", "mark", F.col("problem").alias("to_problem"), F.col("part").alias("to"), "message"
    )
    routed = [k for k, each in enumerate(rule.routing) if each is not None]
    of_all_parts = queries.where(F.col("to_problem") == ALL_PARTS).crossJoin(
        large.frame.where(~F.col("problem").isin(routed))
    )
    nearest = queries.join(
        large.frame, (F.col("to_problem") == F.col("problem")) & (F.col("to") == F.col("part"))
    )
    pairs = nearest if len(routed) == rule.n_problems else of_all_parts
    if 0 < len(routed) < rule.n_problems:
        pairs = of_all_parts.unionByName(nearest)
    answers = mapped(pairs, partial(_answers, rule), MESSAGES_DDL)
    together = packed.unionByName(answers).repartition("query")
    together = together.sortWithinPartitions("query", "problem", "part", "block")
    finish = _Finish(rule.n_problems, checks, name)
    return mapped(together, finish, schema_with_decisions(dataset, name))


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
            number = (partition[0].as_py() << 32) + query
            try:
                mark = checksum(checks.vectors(own.column(checks.name)).X)
            except ColumnError as error:
                yield record_of(MESSAGES, number, 0, WRONG, 0, 0, str(error).encode())
                return
            yield record_of(MESSAGES, number, mark, ROWS, 0, 0, sink.getvalue().to_pybytes())
            query += 1


def _unpacked(data: bytes) -> pa.RecordBatch:
    return pa.ipc.open_stream(data).read_next_batch()


def _queries(
    rule: DecisionRule, checks: VectorChecks, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Address the valid rows of blocks to the parts that decide about them."""
    for row in rows_of(batches):
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
    for row in rows_of(batches):
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
        for row in rows_of(batches):
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
        return appended(rows, listed(valid, sums[valid]), self.name)
