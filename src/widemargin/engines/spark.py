"""The Spark engine: parts in DataFrames, work on the cluster's Python workers.

Only the DataFrame API is used, so the engine runs on a classic session and over Spark Connect.
Parts are rows of pickled objects (see :mod:`.spark_tasks`), placed in partitions by number. A job
costs a considerable part of a second, so ``map`` and ``regroup`` are lazy: the next verb that
returns a value computes the parts in its own job, in one pass of the Python workers, and Spark then
stores them. Parts lost with a worker are computed again from their source by Spark.

Workers keep copies of the parts' arrays (:mod:`.part_files`), so that passes which return a value
do not send them again (:mod:`.spark_copies`).
"""

from __future__ import annotations

import logging
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from functools import reduce as fold
from typing import Any, TypeVar

import pyarrow as pa

from . import spark_tasks as tasks
from .contract import Cheap, Report, Share
from .spark_copies import LOCAL_COPIES, MOST_SPANS, FitCopies, PartCopies, limit_of, within
from .spark_errors import errors_of_tasks, mapped
from .spark_placement import partition_keys
from .spark_rows import collected
from .spark_workers import require_workers

Value = TypeVar("Value")

log = logging.getLogger("widemargin.spark")

# Regrouped parts take different times; several tasks per core balance them.
TASKS_PER_CORE = 2
# Whether Spark plans anew what it computes, as it goes. The text of such a plan, made for each job,
# tells it twice, with the stored ones it was made of: it doubled from pass to pass.
REPLANNED = "spark.sql.adaptive.enabled"
# Fits in several threads (of a CrossValidator, say) share the session's settings.
_settings_lock = threading.Lock()


class NoParts(LookupError):
    """Raised when a frame without parts is asked for a value of them."""


@dataclass
class SparkParts:
    """Parts on the cluster."""

    frame: Any  # chunks of pickled parts, or pieces of them
    numbers: list[int] | None = field(repr=False)  # in order; None until a job has found them
    read: tasks.Reader = field(default=tasks.parts_of, repr=False)
    kept: bool = False  # whether Spark stores them once they are computed
    stored: Any = field(default=None, repr=False)  # the stored frame, if it is more than `frame`
    copies: PartCopies | None = field(default=None, repr=False)  # those of the workers, if any
    lent: bool = False  # whether other parts are stored in its place

    def only(self, condition: Any, numbers: list[int]) -> SparkParts:
        """Return some of the parts, stored as long as these are."""
        return replace(self, frame=self.frame.where(condition), numbers=numbers, lent=True)

    def __len__(self) -> int:
        assert self.numbers is not None, "no job has made these parts yet"
        return len(self.numbers)


class SparkEngine:
    """Runs algorithms on an existing Spark cluster.

    Parameters
    ----------
    session : SparkSession, optional
        The session; None looks up the active one when it is first needed.
    partitions : int, optional
        Partitions for parts that are scattered or regrouped. None takes the number of cores for
        the former and twice that for the latter, but at most the number of parts.
    local_copies : int or str
        Bytes, or a size such as ``"500MB"``, that copies of parts may take on the local disk of
        each executor, so that rows are not sent to its Python workers in every pass; 0 keeps none.

    Notes
    -----
    Sessions are never pickled: a copy of an engine looks up its own.
    """

    in_process = False

    def __init__(
        self,
        session: Any = None,
        partitions: int | None = None,
        local_copies: int | str = LOCAL_COPIES,
    ) -> None:
        self._session = session
        self.partitions, self.local_copies = partitions, local_copies
        self._copies = FitCopies(limit_of(local_copies))
        self._tag = f"widemargin-{uuid.uuid4().hex[:12]}"
        self._checked = False
        self._persisted: list[SparkParts] = []
        self.jobs = 0  # times that results of the cluster were waited for

    def __getstate__(self) -> dict[str, Any]:
        return {"partitions": self.partitions, "local_copies": self.local_copies}

    def __setstate__(self, state: dict[str, Any]) -> None:
        SparkEngine.__init__(self, None, **state)

    def __repr__(self) -> str:
        given = "" if self.partitions is None else f"partitions={self.partitions}"
        return f"SparkEngine({given})"

    @property
    def session(self) -> Any:
        """The session, whose workers are known to have this version of the library."""
        if self._session is None:
            try:
                from pyspark.sql import SparkSession
            except ImportError as error:
                raise ImportError(
                    "engine='spark' needs pyspark and pyarrow, which are not installed here. "
                    'Install them with: pip install "widemargin[spark]"'
                ) from error

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
        """Return the share of each part: the cores of a task."""
        return Share(1, int(self.session.conf.get("spark.task.cpus", "1")))

    def stopping(self) -> bool:
        """Return False: Spark ends tasks itself."""
        return False

    def scatter(self, blocks: Sequence[Any]) -> SparkParts:
        """Place the parts."""
        session = self.session
        partitions = self._partitions(len(blocks))
        keys = partition_keys(partitions)
        batches = [row for k, block in enumerate(blocks) for row in tasks.chunk_rows(k, block)]
        table = pa.Table.from_batches(batches, tasks.CHUNKS)
        key_of = _KeyOf(keys, len(blocks))
        own = pa.array([key_of(number) for number in table["part"].to_pylist()], pa.int32())
        frame = session.createDataFrame(table.append_column("key", own))
        placed = frame.repartition(partitions, "key").sortWithinPartitions("part", "chunk")
        copies = self._copies.new(table["data"].nbytes)
        numbers = list(range(len(blocks)))
        return self._kept(SparkParts(placed.select(*tasks.CHUNKS.names), numbers, copies=copies))

    def map(
        self, parts: SparkParts, fn: Callable[[Any], Any], report: Report | None = None
    ) -> SparkParts:
        """Apply ``fn`` to every part, lazily; Spark's own pages show the progress."""
        changed = tasks.Changed(parts.read, fn)
        if parts.kept and isinstance(fn, Cheap):
            return replace(parts, read=changed, lent=True)
        return SparkParts(
            parts.frame, parts.numbers, changed, copies=self._copies.like(parts.copies)
        )

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
        split_up = partial(tasks.split_up, parts.read, split, order, key_of)
        pieces = mapped(parts.frame, split_up, tasks.PIECES_DDL)
        placed = pieces.repartition(partitions, "key").sortWithinPartitions(
            "part", "source", "chunk"
        )
        numbers, put_together = [0] if n_to == 1 else None, tasks.PutTogether(combine)
        return SparkParts(placed, numbers, put_together, copies=self._copies.like(parts.copies))

    def reduce(
        self,
        parts: SparkParts,
        fn: Callable[[Any], Value],
        combine: Callable[[Value, Value], Value],
    ) -> Value:
        """Combine a value of every part, within partitions and then over them, in order."""
        answers = self._asked(self._kept(parts), parts.frame, fn, combine)
        if parts.copies is not None:
            parts.copies.expected = True
        if parts.numbers is None:
            parts.numbers = [number for numbers, _ in answers for number in numbers]
        if not answers:
            raise NoParts("there are no parts to ask")
        values: list[Value] = [value for _, value in answers]
        return fold(combine, values)

    def visit(
        self, parts: SparkParts, i: int, fn: Callable[[Any, Value], Value], value: Value
    ) -> Value:
        """Run ``fn`` on part ``i`` with a value, and return the result."""
        number = self.numbers(self._kept(parts))[i]
        one = parts.frame.where(parts.frame["part"] == number)
        ((_, result),) = self._asked(parts, one, _Given(fn, value), _only)
        made: Value = result
        return made

    def together(self, parts: SparkParts, fn: Callable[[list[Any]], Value]) -> Value:
        """Run ``fn`` on all parts in one task, without a shuffle."""
        self.numbers(self._kept(parts))  # one task would compute all of them
        ask = partial(tasks.asked_together, parts.read, fn)
        ((_, result),), _ = self._answers(mapped(parts.frame.coalesce(1), ask, tasks.RUNS_DDL))
        made: Value = result
        return made

    def release(self, parts: SparkParts | None = None) -> None:
        """Remove parts from Spark's storage; they are computed again when needed."""
        if parts is None:
            self._remove_copies()
        for each in [parts] if parts is not None else list(self._persisted):
            if each.kept and not each.lent:
                (each.frame if each.stored is None else each.stored).unpersist()
                each.kept = False
                self._persisted = [other for other in self._persisted if other is not each]
                self._copies.release(each.copies)

    def _remove_copies(self) -> None:
        """Remove the workers' copies, by tasks where Spark has parts: there the copies are, too."""
        files = self._copies.end()
        if files is None:
            return
        remove = partial(tasks.copies_removed, files)
        try:
            anywhere = self.session.range(self.cores).selectExpr("id as part")
            places = [each.frame for each in self._persisted if each.copies is not None]
            frame = (places or [anywhere])[0].select("part")
            self._run(mapped(frame, remove, "part long"))
        except Exception as error:  # they go with the executors
            log.info("copies of parts are left on the workers: %s", error)

    def persisted(self, frame: Any) -> Any:
        """Have Spark store a frame of parts once it is computed, by the plan that it has now."""
        conf = self.session.conf
        with _settings_lock:
            before = conf.get(REPLANNED)
            conf.set(REPLANNED, "false")
            try:
                return frame.persist()
            finally:
                conf.set(REPLANNED, before)

    def wait_for(self, action: Callable[[], Value]) -> Value:
        """Run an action of a DataFrame, which an interrupt cancels as it does the engine's own."""
        with self._interruptible():
            return action()

    def keep(self, frame: Any) -> SparkParts:
        """Store parts that are computed on the cluster, given as a frame of chunks."""
        return self._kept(SparkParts(frame, None))

    def remember(self, parts: SparkParts, n_bytes: int) -> None:
        """Have workers keep copies of parts of this size in all, once they have read them."""
        parts.copies = self._copies.new(n_bytes)

    def keep_noted(self, frame: Any) -> tuple[SparkParts, dict[int, Any]]:
        """Store parts that are computed now, each with a note; return the notes by part.

        A note is a row whose chunk is ``NOTE``. It saves another pass over the parts.
        """
        stored = frame.persist()
        rows = self._run(stored.where(stored["chunk"] == tasks.NOTE).select("part", "head"))
        rows.sort(key=lambda row: row["part"])
        notes = {row["part"]: pickle.loads(row["head"]) for row in rows}
        chunks = stored.where(stored["chunk"] != tasks.NOTE)
        parts = SparkParts(chunks, list(notes), kept=True, stored=stored)
        self._persisted.append(parts)
        return parts, notes

    def numbers(self, parts: SparkParts) -> list[int]:
        """Return the numbers of the parts, in order; compute the parts if needed."""
        if parts.numbers is None:
            self._kept(parts)
            found = self._run(parts.frame.where("chunk = 0").select("part"))
            parts.numbers = sorted({row["part"] for row in found})
        return parts.numbers

    def _kept(self, parts: SparkParts) -> SparkParts:
        """Have Spark store parts once they are computed."""
        if not parts.kept:
            if parts.read is not tasks.parts_of:
                write = partial(tasks.written, parts.read, self._copies.files(parts.copies))
                parts.frame = mapped(parts.frame, write, tasks.CHUNKS_DDL)
                parts.read = tasks.parts_of
                if parts.copies is not None:
                    parts.copies.expected = True
            parts.frame = self.persisted(parts.frame)
            parts.kept = True
            self._persisted.append(parts)
        return parts

    def _asked(
        self,
        parts: SparkParts,
        frame: Any,
        fn: Callable[[Any], Any],
        combine: Callable[[Any, Any], Any],
    ) -> list[tuple[list[int], Any]]:
        """Ask all parts of a frame; return each partition's part numbers and value, in order."""
        copies = parts.copies
        fold_parts = partial(tasks.folded, self._copies.files(copies), parts.read, fn, combine)
        sent = frame if copies is None else copies.spared(frame)
        answers, lost = self._answers(mapped(sent, fold_parts, tasks.RUNS_DDL))
        if copies is not None and lost:
            spans = [(first, last) for first, last, _ in lost]
            for span, (_, _, for_good) in zip(spans, lost, strict=True):
                copies.lost(span, for_good)
            if len(spans) > MOST_SPANS:
                answers, again = [], frame
            else:
                again = frame.where(within(spans))
            more, _ = self._answers(mapped(again, fold_parts, tasks.RUNS_DDL))
            answers = sorted([*answers, *more], key=lambda answer: answer[0][0])
        return answers

    def _answers(self, frame: Any) -> tuple[list[tuple[list[int], Any]], list[Any]]:
        """Run a job; return the answers of the partitions, in order, and what was lost."""
        rows = self._run(frame)
        rows.sort(key=lambda row: (row["first"], row["chunk"]))
        data: dict[int, list[bytes]] = {}
        lost = []
        for row in rows:
            if row["chunk"] == tasks.LOST:
                lost.append(pickle.loads(row["data"]))
            else:
                data.setdefault(row["first"], []).append(row["data"])
        return [pickle.loads(b"".join(chunks)) for chunks in data.values()], lost

    def _run(self, frame: Any) -> list[dict[str, Any]]:
        """Run a job and return its rows."""
        with self._interruptible():
            return collected(frame, partial(self.session.interruptTag, self._tag))

    def _partitions(self, n_parts: int, per_core: int = 1) -> int:
        wanted = self.partitions or per_core * self.cores
        return max(1, min(wanted, n_parts))

    @property
    def cores(self) -> int:
        """Number of tasks that the cluster runs at a time."""
        return require_workers(self.session)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Cancel the running jobs of this engine if waiting for them is interrupted.

        Errors of its tasks are raised as errors of one line.
        """
        session = self.session
        self.jobs += 1
        session.addTag(self._tag)
        try:
            with errors_of_tasks():
                yield
        except BaseException:
            session.interruptTag(self._tag)
            raise
        finally:
            session.removeTag(self._tag)


@dataclass(frozen=True)
class _KeyOf:
    """The key of a new part's partition; parts are placed in the order of their numbers."""

    keys: tuple[int, ...]
    n_parts: int

    def __call__(self, part: int) -> int:
        return self.keys[part * len(self.keys) // self.n_parts]


@dataclass(frozen=True)
class _Given:
    """The function of a visit, bound to its value."""

    fn: Callable[[Any, Any], Any]
    value: Any

    def __call__(self, part: Any) -> Any:
        return self.fn(part, self.value)


def _only(first: Any, second: Any) -> Any:
    raise AssertionError("a visit is to one part")
