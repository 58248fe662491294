"""Tasks that run on Spark's workers, and parts as rows of a table.

A part is any Python object. Its arrays are cut into chunks of one row each, (part, chunk, head,
data); the head of the first is the rest of the object, pickled. Workers that have a copy of the
arrays (:mod:`.part_files`) need the head alone. All chunks of a part are in one partition, in
order. Parts are read one at a time, so that a task needs the memory of one part only.

Every task has a reader, which turns batches into parts: it joins chunks (:func:`parts_of`),
combines pieces (:class:`PutTogether`) and applies pending functions (:class:`Changed`).
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from .part_files import PartFiles
from .spark_workers import settle_worker

# Rows of a table may not be larger than 2 GB, and buffers on the way are a few times a chunk.
CHUNK_BYTES = 32 * 2**20

# Pieces of parts leave a task in batches of about this size.
BATCH_BYTES = 2**20

# Stands for a chunk's number where the row is a note on the part, or says that copies are lost.
NOTE = LOST = -1
# Arrays of a part that are smaller in all stay in its head.
SMALLEST_COPY = 2**17
# Arrays of a part begin at multiples of this many bytes.
ALIGNMENT = 64

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


CHUNKS_DDL = "part long, chunk int, head binary, data binary"
CHUNKS = arrow_schema(CHUNKS_DDL)
PIECES_DDL = "key int, source long, part long, chunk int, data binary"
PIECES = arrow_schema(PIECES_DDL)
RUNS_DDL = "first long, chunk int, data binary"
RUNS = arrow_schema(RUNS_DDL)

Batches = Iterable[pa.RecordBatch]
# Reads parts; the files are copies that may stand in for arrays, and where new copies go.
Reader = Callable[[Batches, PartFiles | None], Iterator[tuple[int, Any]]]


class Head(NamedTuple):
    """A part without its arrays."""

    pickled: bytes
    sizes: tuple[int, ...]  # bytes of the arrays
    name: str  # of the file that a worker keeps the arrays in

    @property
    def size(self) -> int:
        """Bytes of all arrays, with what lies between them."""
        return sum(_aligned(size) for size in self.sizes)

    def part(self, data: memoryview) -> Any:
        """Put the part together."""
        arrays, start = [], 0
        for size in self.sizes:
            arrays.append(data[start : start + size])
            start += _aligned(size)
        return pickle.loads(self.pickled, buffers=arrays)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def taken_apart(part: Any) -> tuple[Head, memoryview]:
    """Separate the arrays of a part from the rest of it; a small part stays whole."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    if sum(array.nbytes for array in arrays) < SMALLEST_COPY:
        return Head(pickle.dumps(part, protocol=5), (), ""), memoryview(b"")
    head = Head(pickled, tuple(array.nbytes for array in arrays), uuid.uuid4().hex)
    data, start = memoryview(bytearray(head.size)), 0
    for array in arrays:
        data[start : start + array.nbytes] = array
        start += _aligned(array.nbytes)
    return head, data


class CopyLost(LookupError):
    """Raised where neither the rows of a part nor a copy of them are."""

    def __init__(self, *, for_good: bool) -> None:
        super().__init__("no copy of the part's arrays is here")
        self.for_good = for_good  # whether there is no room for another


def parts_of(batches: Batches, files: PartFiles | None = None) -> Iterator[tuple[int, Any]]:
    """Read parts as Spark stores them, (number, object): with their arrays, or from copies."""
    for number, rows in groupby(_chunk_rows_of(batches), key=lambda row: row[0]):
        _, pickled, first = next(rows)
        head = Head(*pickle.loads(pickled))
        if first is not None:
            chunks = [first, *(chunk for _, _, chunk in rows)]
            data = memoryview(bytearray().join(memoryview(chunk) for chunk in chunks))
            if files is not None:
                files.write(head.name, data)
        else:
            data = _copy(head, files)
        yield number, head.part(data)


def _copy(head: Head, files: PartFiles | None) -> memoryview:
    found = None
    if files is not None and head.size:
        found = files.read(head.name, head.size)
        if found is None:
            raise CopyLost(for_good=not files.has_room(head.size))
    return memoryview(b"") if found is None else found


def _chunk_rows_of(batches: Batches) -> Iterator[tuple[int, Any, Any]]:
    """Yield part, head and data of every row; None where there are none."""
    for batch in batches:
        parts, heads, data = (batch.column(name) for name in ("part", "head", "data"))
        for row in range(batch.num_rows):
            yield parts[row].as_py(), heads[row].as_buffer(), data[row].as_buffer()


def chunks_of(thing: Any) -> Iterator[memoryview]:
    """Pickle an object and cut it into chunks."""
    return _cut(memoryview(pickle.dumps(thing, protocol=5)))


def _cut(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]


@dataclass(frozen=True)
class Changed:
    """Reader that applies a function to every part."""

    read: Reader
    fn: Callable[[Any], Any]

    def __call__(
        self, batches: Batches, files: PartFiles | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Read the parts of some batches."""
        for number, part in self.read(batches, files):
            yield number, self.fn(part)


@dataclass(frozen=True)
class PutTogether:
    """Reader that combines the pieces of each new part, in the order of their sources."""

    combine: Callable[[list[Any]], Any]

    def __call__(
        self, batches: Batches, files: PartFiles | None = None
    ) -> Iterator[tuple[int, Any]]:
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


def written(read: Reader, files: PartFiles | None, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Turn parts into chunks."""
    settle_worker()
    for number, part in read(batches, None):
        yield from chunk_rows(number, part, files)


def folded(
    files: PartFiles | None,
    read: Reader,
    fn: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    batches: Batches,
) -> Iterator[pa.RecordBatch]:
    """Combine a value of every part; one per partition: (numbers of its parts, value).

    If a copy is lost, the answer is a chunk ``LOST``: (first and last part, whether for good).
    """
    settle_worker()
    if files is not None:
        files.tidy()
    numbers: list[int] = []
    value = None
    arrived: list[int] = []
    coming = _noting_parts(batches, arrived)
    try:
        for number, part in read(coming, files):
            own = fn(part)
            value = combine(value, own) if numbers else own
            numbers.append(number)
    except CopyLost as error:
        for _ in coming:  # Spark ends a worker that leaves input unread
            pass
        lost = (min(arrived), max(arrived), error.for_good)
        yield _run(lost[0], LOST, memoryview(pickle.dumps(lost)))
        return
    if numbers:
        yield from _answer(numbers, value)


def _noting_parts(batches: Batches, arrived: list[int]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrived.extend(batch.column("part").to_pylist())
        yield batch


def asked_together(
    read: Reader, fn: Callable[[list[Any]], Any], batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Call a function with all parts, in the order of their numbers."""
    settle_worker()
    parts: dict[int, Any] = {}
    for number, part in read(batches, None):
        if number in parts:
            raise RuntimeError(f"part {number} was read twice")  # so another is missing
        parts[number] = part
    numbers = sorted(parts)
    yield from _answer(numbers, fn([parts.pop(number) for number in numbers]))


def _answer(numbers: list[int], value: Any) -> Iterator[pa.RecordBatch]:
    for k, data in enumerate(chunks_of((numbers, value))):
        yield _run(numbers[0], k, data)


def _run(first: int, chunk: int, data: memoryview) -> pa.RecordBatch:
    columns = [pa.array([first]), pa.array([chunk], pa.int32()), pa.array([data], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=RUNS)


def copies_removed(files: PartFiles, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Remove all copies of a fit where some of its parts are."""
    for _ in batches:
        pass
    files.remove()
    yield from ()


def split_up(
    read: Reader,
    split: Callable[[int, Any], list[tuple[int, Any]]],
    order: dict[int, int],
    key_of: Callable[[int], int],
    batches: Batches,
) -> Iterator[pa.RecordBatch]:
    """Break parts into pieces addressed to new parts."""
    settle_worker()
    rows: list[tuple[int, int, int, int, memoryview]] = []
    waiting = 0
    for number, part in read(batches, None):
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


def chunk_rows(number: int, part: Any, files: PartFiles | None = None) -> Iterator[pa.RecordBatch]:
    """Turn a part into rows, and keep a copy of its arrays."""
    head, data = taken_apart(part)
    if files is not None:
        files.write(head.name, data)
    pickled = pickle.dumps(tuple(head), protocol=5)
    for k, chunk in enumerate(_cut(data) if data else [data]):
        yield _row(number, k, None if k else pickled, chunk)


def note_row(number: int, note: Any) -> pa.RecordBatch:
    """Turn a note on a part into a row."""
    return _row(number, NOTE, pickle.dumps(note, protocol=5), None)


def _row(number: int, chunk: int, head: bytes | None, data: memoryview | None) -> pa.RecordBatch:
    value = pa.array([None], pa.binary())
    if data is not None:
        limits = pa.array([0, len(data)], pa.int32()).buffers()[1]
        # Without a copy: chunks are large.
        value = pa.Array.from_buffers(pa.binary(), 1, [None, limits, pa.py_buffer(data)])
    columns = [pa.array([number]), pa.array([chunk], pa.int32()), pa.array([head], pa.binary())]
    return pa.RecordBatch.from_arrays([*columns, value], schema=CHUNKS)
