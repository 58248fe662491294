"""The Spark engine: parts in DataFrames, work on the cluster's Python workers.

Only the DataFrame API is used, so that it runs on a classic session and over Spark Connect alike.
Parts are rows of pickled objects (see :mod:`.spark_tasks`), placed in partitions by number. A job
costs a good part of a second, so nothing runs before an answer is asked for: parts that were made
since are made in the same job, and then kept in Spark's storage. What happens to a part before, as
putting it together and solving it, is one pass of Python's workers over it. What fails on a worker
is computed again from the source, as Spark does.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from functools import reduce as fold
from typing import Any, TypeVar

import pyarrow as pa

from . import spark_tasks as tasks
from .contract import Report, Share
from .spark_placement import partition_keys
from .spark_workers import require_workers

Value = TypeVar("Value")

# Parts that are regrouped will be worked on for a while, some longer than others.
TASKS_PER_CORE = 2


class NoParts(LookupError):
    """Raised where an answer of parts is asked for, and a frame has none."""


@dataclass
class SparkParts:
    """Parts that lie on the cluster.

    Attributes
    ----------
    frame : DataFrame
        Chunks of pickled parts, or pieces of them.
    numbers : list of int or None
        What the parts are called in the frame, in their order; None before a job has told.
    read : callable
        Makes parts out of the frame's batches.
    kept : bool
        Whether Spark keeps them once they are made.
    stored : DataFrame or None
        What it keeps, if that is more than the frame.
    """

    frame: Any
    numbers: list[int] | None = field(repr=False)
    read: tasks.Reader = field(default=tasks.parts_of, repr=False)
    kept: bool = False
    stored: Any = field(default=None, repr=False)

    def only(self, condition: Any, numbers: list[int]) -> SparkParts:
        """Return some of them, which Spark keeps as long as it keeps these."""
        return SparkParts(self.frame.where(condition), numbers, self.read, kept=True)

    def __len__(self) -> int:
        assert self.numbers is not None, "no job has made these parts yet"
        return len(self.numbers)


class SparkEngine:
    """Runs algorithms on an existing Spark cluster.

    Parameters
    ----------
    session : SparkSession, optional
        The active one if None, looked up when it is first needed.
    partitions : int, optional
        Partitions for parts that come from this process or are regrouped; None takes as many as
        there are cores, twice as many for the latter, or parts if these are fewer.

    Notes
    -----
    A copy, and what is made of it elsewhere, finds its own session: sessions are never pickled.
    """

    in_process = False

    def __init__(self, session: Any = None, partitions: int | None = None) -> None:
        self._session = session
        self.partitions = partitions
        self._tag = f"widemargin-{uuid.uuid4().hex[:12]}"
        self._checked = False
        self._persisted: list[SparkParts] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"partitions": self.partitions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        SparkEngine.__init__(self, None, state["partitions"])

    def __repr__(self) -> str:
        given = "" if self.partitions is None else f"partitions={self.partitions}"
        return f"SparkEngine({given})"

    @property
    def session(self) -> Any:
        """The session; its workers have this version of the library."""
        if self._session is None:
            from pyspark.sql import SparkSession

            self._session = SparkSession.getActiveSession()
            if self._session is None:
                raise RuntimeError(
                    "engine='spark' needs a SparkSession; none is active. Create one first: "
                    "SparkSession.builder.getOrCreate()."
                )
        if not self._checked:
            require_workers(self._session)
            self._checked = True
        return self._session

    def share(self, n_parts: int) -> Share:
        """Tell what each part may use: a task's cores."""
        return Share(1, int(self.session.conf.get("spark.task.cpus", "1")))

    def stopping(self) -> bool:
        """Tell work in progress whether to give up: Spark ends tasks itself."""
        return False

    def scatter(self, blocks: Sequence[Any]) -> SparkParts:
        """Place the parts."""
        session = self.session
        partitions = self._partitions(len(blocks))
        keys = partition_keys(partitions)
        rows: dict[str, list[Any]] = {"key": [], "source": [], "part": [], "chunk": [], "data": []}
        for number, block in enumerate(blocks):
            for k, data in enumerate(tasks.chunks_of(block)):
                key = keys[number * partitions // len(blocks)]
                for name, value in zip(rows, (key, 0, number, k, data), strict=True):
                    rows[name].append(value)
        frame = session.createDataFrame(pa.table(rows, schema=tasks.PIECES))
        placed = frame.repartition(partitions, "key").sortWithinPartitions("part", "chunk")
        parts = SparkParts(placed.select("part", "chunk", "data"), list(range(len(blocks))))
        return self._kept(parts)

    def map(
        self, parts: SparkParts, fn: Callable[[Any], Any], report: Report | None = None
    ) -> SparkParts:
        """Apply ``fn`` to every part, once somebody asks; Spark's own pages show how far it is."""
        return SparkParts(parts.frame, parts.numbers, tasks.Changed(parts.read, fn))

    def regroup(
        self,
        parts: SparkParts,
        split: Callable[[int, Any], list[tuple[int, Any]]],
        combine: Callable[[list[Any]], Any],
        n_to: int,
    ) -> SparkParts:
        """Redistribute pieces of parts to new parts, by one shuffle."""
        partitions = self._partitions(n_to, TASKS_PER_CORE)
        order = {number: k for k, number in enumerate(self.numbers(parts))}
        key_of = _KeyOf(partition_keys(partitions), n_to)
        pieces = parts.frame.mapInArrow(
            partial(tasks.split_up, parts.read, split, order, key_of), tasks.PIECES_DDL
        )
        placed = pieces.repartition(partitions, "key").sortWithinPartitions(
            "part", "source", "chunk"
        )
        return SparkParts(placed, [0] if n_to == 1 else None, tasks.PutTogether(combine))

    def reduce(
        self,
        parts: SparkParts,
        fn: Callable[[Any], Value],
        combine: Callable[[Value, Value], Value],
    ) -> Value:
        """Combine a value of every part: first within partitions, then over them, in order."""
        self._kept(parts)
        fold_parts = partial(tasks.folded, parts.read, fn, combine)
        frame = parts.frame.mapInArrow(fold_parts, tasks.RUNS_DDL)
        answers = self._answers(frame)
        if parts.numbers is None:
            parts.numbers = [number for numbers, _ in answers for number in numbers]
        if not answers:
            raise NoParts("there are no parts to ask")
        values: list[Value] = [value for _, value in answers]
        return fold(combine, values)

    def visit(
        self, parts: SparkParts, i: int, fn: Callable[[Any, Value], Value], value: Value
    ) -> Value:
        """Run ``fn`` on part ``i`` with a value, and return what it makes of the value."""
        number = self.numbers(self._kept(parts))[i]
        one = parts.frame.where(parts.frame["part"] == number)
        ask = partial(tasks.folded, parts.read, _Given(fn, value), _only)
        ((_, result),) = self._answers(one.mapInArrow(ask, tasks.RUNS_DDL))
        made: Value = result
        return made

    def together(self, parts: SparkParts, fn: Callable[[list[Any]], Value]) -> Value:
        """Run ``fn`` on all parts in one task, without a shuffle."""
        self.numbers(self._kept(parts))  # made by all tasks: one would make them all otherwise
        ask = partial(tasks.asked_together, parts.read, fn)
        ((_, result),) = self._answers(parts.frame.coalesce(1).mapInArrow(ask, tasks.RUNS_DDL))
        made: Value = result
        return made

    def release(self, parts: SparkParts | None = None) -> None:
        """Free what parts take in Spark's storage; they are computed again if asked for."""
        for each in [parts] if parts is not None else list(self._persisted):
            if each.kept:
                (each.frame if each.stored is None else each.stored).unpersist()
                each.kept = False
                self._persisted = [other for other in self._persisted if other is not each]

    def keep(self, frame: Any) -> SparkParts:
        """Take over parts that are made on the cluster: a frame of chunks."""
        return self._kept(SparkParts(frame, None))

    def keep_noted(self, frame: Any) -> tuple[SparkParts, dict[int, Any]]:
        """Take over parts that are made now, each with a note; return these by part.

        A note is a row whose chunk is ``NOTE``. It tells what a pass over the parts would.
        """
        stored = frame.persist()
        with self._interruptible():
            rows = stored.where(stored["chunk"] == tasks.NOTE).collect()
        rows.sort(key=lambda row: row["part"])
        notes = {row["part"]: pickle.loads(bytes(row["data"])) for row in rows}
        chunks = stored.where(stored["chunk"] != tasks.NOTE)
        parts = SparkParts(chunks, list(notes), kept=True, stored=stored)
        self._persisted.append(parts)
        return parts, notes

    def numbers(self, parts: SparkParts) -> list[int]:
        """Return what parts are called, in their order; makes them if they are not made yet."""
        if parts.numbers is None:
            self._kept(parts)
            with self._interruptible():
                found = parts.frame.where("chunk = 0").select("part").collect()
            parts.numbers = sorted({row["part"] for row in found})
        return parts.numbers

    def _kept(self, parts: SparkParts) -> SparkParts:
        """Have Spark keep parts from when they are made."""
        if not parts.kept:
            if parts.read is not tasks.parts_of:
                write = partial(tasks.written, parts.read)
                parts.frame = parts.frame.mapInArrow(write, tasks.CHUNKS_DDL)
                parts.read = tasks.parts_of
            parts.frame = parts.frame.persist()
            parts.kept = True
            self._persisted.append(parts)
        return parts

    def _answers(self, frame: Any) -> list[tuple[list[int], Any]]:
        """Run a job; return each partition's parts and its answer, in their order."""
        with self._interruptible():
            rows = frame.collect()
        rows.sort(key=lambda row: (row["first"], row["chunk"]))
        data: dict[int, list[bytes]] = {}
        for row in rows:
            data.setdefault(row["first"], []).append(bytes(row["data"]))
        return [pickle.loads(b"".join(chunks)) for chunks in data.values()]

    def _partitions(self, n_parts: int, per_core: int = 1) -> int:
        wanted = self.partitions or per_core * self.cores
        return max(1, min(wanted, n_parts))

    @property
    def cores(self) -> int:
        """Tasks that the cluster runs at a time, as far as Spark tells."""
        return require_workers(self.session)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Cancel what this engine has running if the wait for it is broken off."""
        session = self.session
        session.addTag(self._tag)
        try:
            yield
        except BaseException:
            session.interruptTag(self._tag)
            raise
        finally:
            session.removeTag(self._tag)


@dataclass(frozen=True)
class _KeyOf:
    """The key of a new part's partition: parts lie in the order of their numbers."""

    keys: tuple[int, ...]
    n_parts: int

    def __call__(self, part: int) -> int:
        return self.keys[part * len(self.keys) // self.n_parts]


@dataclass(frozen=True)
class _Given:
    """A visit with its value."""

    fn: Callable[[Any, Any], Any]
    value: Any

    def __call__(self, part: Any) -> Any:
        return self.fn(part, self.value)


def _only(first: Any, second: Any) -> Any:
    raise AssertionError("a visit is to one part")
