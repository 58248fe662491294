"""Tasks that run on Spark's workers, and the workers: their versions, cores and placement.

A part is any Python object, pickled and cut into chunks of one row each: (part, chunk, data). All
chunks of a part are in one partition, in order. Parts are read one at a time, so that a task needs
the memory of one part only.

Every task has a reader, which turns batches into parts: it joins chunks (:func:`parts_of`),
combines pieces (:class:`PutTogether`) and applies pending functions (:class:`Changed`).

``repartition(n, key)`` sends a row to partition pmod(hash(key), n), where the hash of an integer is
Murmur3 with seed 42. Trying small numbers therefore gives a key for every partition.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

# Rows of a table may not be larger than 2 GB, and buffers on the way are a few times a chunk.
CHUNK_BYTES = 32 * 2**20

# Pieces of parts leave a task in batches of about this size.
BATCH_BYTES = 2**20

# Stands for a chunk's number where the row is a note on the part.
NOTE = -1

ARROW_TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}


def arrow_schema(ddl: str) -> pa.Schema:
    """Return the Arrow schema of a table that Spark knows by a list of names and types."""
    return pa.schema([(name, ARROW_TYPES[kind]) for name, kind in map(str.split, ddl.split(", "))])


CHUNKS_DDL = "part long, chunk int, data binary"
CHUNKS = arrow_schema(CHUNKS_DDL)
PIECES_DDL = f"key int, source long, {CHUNKS_DDL}"
PIECES = arrow_schema(PIECES_DDL)
RUNS_DDL = "first long, chunk int, data binary"
RUNS = arrow_schema(RUNS_DDL)

Batches = Iterable[pa.RecordBatch]
Reader = Callable[[Batches], Iterator[tuple[int, Any]]]
# Rows of the job that probes the workers: more than a cluster has cores, but few.
PROBE_ROWS = 2**14
_MASK = 0xFFFFFFFF
# Cores by session; an entry goes with its session.
_known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def chunks_of(thing: Any) -> Iterator[memoryview]:
    """Pickle an object and cut it into chunks."""
    data = memoryview(pickle.dumps(thing, protocol=5))
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]


def parts_of(batches: Batches) -> Iterator[tuple[int, Any]]:
    """Join the chunks of parts: (number, object)."""
    for (number,), data in _gathered(batches, ("part",)):
        yield number, pickle.loads(data)


@dataclass(frozen=True)
class Changed:
    """Reader that applies a function to every part."""

    read: Reader
    fn: Callable[[Any], Any]

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Any]]:
        """Read the parts of some batches."""
        for number, part in self.read(batches):
            yield number, self.fn(part)


@dataclass(frozen=True)
class PutTogether:
    """Reader that combines the pieces of each new part, in the order of their sources."""

    combine: Callable[[list[Any]], Any]

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Any]]:
        """Read the parts of some batches."""
        current: int | None = None
        pieces: list[Any] = []
        for (target, _), data in _gathered(batches, ("part", "source")):
            if current is not None and target != current:
                yield current, self.combine(pieces)
                pieces = []
            current = target
            pieces.append(pickle.loads(data))
        if current is not None:
            yield current, self.combine(pieces)


def written(read: Reader, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Turn parts into chunks."""
    for number, part in read(batches):
        yield from chunk_rows(number, part)


def folded(
    read: Reader, fn: Callable[[Any], Any], combine: Callable[[Any, Any], Any], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Combine a value of every part; one per partition: (numbers of its parts, value)."""
    numbers: list[int] = []
    value = None
    for number, part in read(batches):
        own = fn(part)
        value = combine(value, own) if numbers else own
        numbers.append(number)
    if numbers:
        yield from _answer(numbers, value)


def asked_together(
    read: Reader, fn: Callable[[list[Any]], Any], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Call a function with all parts, in the order of their numbers."""
    parts: dict[int, Any] = {}
    for number, part in read(batches):
        if number in parts:
            raise RuntimeError(f"part {number} was read twice")  # so another is missing
        parts[number] = part
    numbers = sorted(parts)
    yield from _answer(numbers, fn([parts.pop(number) for number in numbers]))


def _answer(numbers: list[int], value: Any) -> Iterator[pa.RecordBatch]:
    for k, data in enumerate(chunks_of((numbers, value))):
        yield pa.RecordBatch.from_arrays(
            [pa.array(numbers[:1]), pa.array([k], pa.int32()), pa.array([data], pa.binary())],
            schema=RUNS,
        )


def split_up(
    read: Reader,
    split: Callable[[int, Any], list[tuple[int, Any]]],
    order: dict[int, int],
    key_of: Callable[[int], int],
    batches: Batches,
) -> Iterator[pa.RecordBatch]:
    """Break parts into pieces addressed to new parts."""
    rows: list[tuple[int, int, int, int, memoryview]] = []
    waiting = 0
    for number, part in read(batches):
        position = order[number]
        for target, piece in split(position, part):
            for k, data in enumerate(chunks_of(piece)):
                rows.append((key_of(target), position, target, k, data))
                waiting += len(data)
            if waiting >= BATCH_BYTES:  # a batch has its cost, and many pieces are small
                yield _batch(rows)
                rows, waiting = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[int, int, int, int, memoryview]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, PIECES, strict=True)],
        schema=PIECES,
    )


def _gathered(
    batches: Batches, columns: tuple[str, ...]
) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """Join chunks of rows that agree in some columns and follow each other."""
    identity: tuple[int, ...] | None = None
    chunks: list[Any] = []
    for batch in batches:
        keys = [batch.column(name) for name in columns]
        data = batch.column("data")
        for row in range(batch.num_rows):
            own = tuple(key[row].as_py() for key in keys)
            if identity is not None and own != identity:
                yield identity, _joined(chunks)
                chunks = []
            identity = own
            chunks.append(data[row].as_buffer())
    if identity is not None:
        yield identity, _joined(chunks)


def _joined(chunks: list[Any]) -> Any:
    return chunks[0] if len(chunks) == 1 else b"".join(memoryview(c) for c in chunks)


def chunk_rows(number: int, thing: Any) -> Iterator[pa.RecordBatch]:
    """Turn a part into rows."""
    for k, data in enumerate(chunks_of(thing)):
        yield _row(number, k, data)


def note_row(number: int, note: Any) -> pa.RecordBatch:
    """Turn a note on a part into a row."""
    return _row(number, NOTE, pickle.dumps(note, protocol=5))


def _row(number: int, chunk: int, data: bytes | memoryview) -> pa.RecordBatch:
    limits = pa.array([0, len(data)], pa.int32()).buffers()[1]
    # Without a copy: chunks are large.
    value = pa.Array.from_buffers(pa.binary(), 1, [None, limits, pa.py_buffer(data)])
    return pa.RecordBatch.from_arrays(
        [pa.array([number]), pa.array([chunk], pa.int32()), value], schema=CHUNKS
    )


def require_workers(session: Any) -> int:
    """Return the cores of the cluster; raise if its workers lack this version of the library."""
    from pyspark.sql.functions import spark_partition_id, udf

    known = _known.get(session)
    if known is not None:
        return known
    own = version("widemargin")
    # Without Arrow, which may be missing on the workers.
    probe = udf(_probe(), "string", useArrow=False)
    # By default a range has as many partitions as tasks run at a time. Spark Connect offers no
    # other way to find out.
    asked = session.range(PROBE_ROWS).select(spark_partition_id().alias("partition"), probe("id"))
    answers = {tuple(row) for row in asked.collect()}
    for found in sorted({found for _, found in answers}):
        if found != own:
            raise RuntimeError(
                f"Spark's workers need widemargin {own} and pyarrow, as this process has; found "
                f"{found}. Install them there, have workers run another Python (environment "
                f"variable PYSPARK_PYTHON, set before the session starts; here it would be "
                f"{sys.executable}), or ship an environment with spark.archives (see the guide, "
                "'Spark')."
            )
    cores = _known[session] = len({partition for partition, _ in answers})
    return cores


def _probe() -> Callable[[int], str]:
    # A nested function is pickled by value, so it runs where the library is missing.
    def probe(_):  # type: ignore[no-untyped-def]  # type hints would make it an Arrow function
        import sys

        try:
            import pyarrow  # noqa: F401

            import widemargin
        except Exception as error:
            return f"{type(error).__name__}: {error} (in their Python, {sys.executable})"
        return str(widemargin.__version__)

    return probe


def spark_hash(key: int) -> int:
    """Return Spark's ``hash`` of a value of an int column."""
    k = (key * 0xCC9E2D51) & _MASK
    k = (_rotated(k, 15) * 0x1B873593) & _MASK
    h = (_rotated(42 ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # size of an int in bytes
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & _MASK
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


@lru_cache(maxsize=64)
def partition_keys(n_partitions: int) -> tuple[int, ...]:
    """Return one key per partition whose rows Spark puts there."""
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < n_partitions:
        keys.setdefault(spark_hash(key) % n_partitions, key)
        key += 1
    return tuple(keys[partition] for partition in range(n_partitions))


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
