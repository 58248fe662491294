"""Tasks on Spark's workers that turn a DataFrame's Arrow batches into blocks of rows.

Errors in the data are not raised here: Spark would repeat the task and hide the message in a trace.
They are returned in a block, and the driver raises them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.blocks import BLOCK_BYTES, BLOCK_ROWS, RowBlock
from ...engines import spark_tasks
from ...engines.spark_workers import settle_worker
from .batches import ColumnError, RowChecks, ValidRows
from .columns import PARTITION, VALIDATION, FrameColumns

# Added to the numbers of blocks of validation rows; a partition has fewer blocks.
HELD_OUT = 1 << 31


@dataclass(frozen=True)
class SourceBlock(RowBlock):
    """Rows of a DataFrame."""

    number: int = 0
    skipped: int = 0  # rows left out as invalid, in the last block of a partition
    problem: str | None = None  # error in the partition, which has no blocks after this one
    sign: int = 0  # checksum of the rows
    weightless: int = 0  # rows left out as their weight is zero, in the last block of a partition


@dataclass(frozen=True)
class BlocksOfPartition:
    """Task that cuts the rows of a partition into blocks, and notes something beside each."""

    fit: str  # part of the names of blocks
    columns: FrameColumns
    skip: bool
    note: Callable[[SourceBlock], Any]
    max_rows: int = BLOCK_ROWS
    max_bytes: int = BLOCK_BYTES

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn batches of rows into chunks of pickled blocks."""
        settle_worker()
        filled = (batch for batch in batches if batch.num_rows)
        head = next(filled, None)
        if head is None:
            return
        first = head.column(PARTITION)[0].as_py() << 32
        for block in self.blocks(chain([head], filled), first):
            yield from spark_tasks.chunk_rows(block.number, block)
            yield spark_tasks.note_row(block.number, self.note(block))

    def blocks(self, batches: Iterable[pa.RecordBatch], first: int) -> Iterator[SourceBlock]:
        """Yield blocks, numbered from ``first``; those of validation rows from HELD_OUT on."""
        starts = [first] if self.columns.validation is None else [first, first + HELD_OUT]
        streams = [
            _Stream(start, RowChecks(self.columns, self.skip), _Pile(self.max_rows, self.max_bytes))
            for start in starts
        ]
        try:
            for batch in batches:
                for stream, rows in zip(streams, self._kinds(batch), strict=True):
                    for full in stream.pile.add(stream.checks.rows(rows)):
                        yield self._block(full, stream.number)
                        stream.number += 1
        except ColumnError as error:
            yield self._block(_Pile(0, 0).taken(), streams[0].number, problem=str(error))
            return
        for stream in streams:
            left_out = (stream.checks.skipped, stream.checks.weightless)
            if stream.pile.rows or any(left_out):
                yield self._block(stream.pile.taken(), stream.number, *left_out)

    def _kinds(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Separate the rows to train on from those to validate on."""
        name = self.columns.validation
        if name is None:
            return [batch]
        held_out = batch.column(VALIDATION)
        if held_out.null_count:
            raise ColumnError(f"column {name!r} must be true or false in every row; got null.")
        return [batch.filter(pc.invert(held_out)), batch.filter(held_out)]

    def _block(
        self,
        rows: ValidRows,
        number: int,
        skipped: int = 0,
        weightless: int = 0,
        problem: str | None = None,
    ) -> SourceBlock:
        # A partition that is computed again may have its rows in another order. A checksum in the
        # name keeps processes from using what they remember of the earlier block.
        X, codes, weight = rows.X, rows.codes, rows.weight
        sign = checksum(X, codes, *([] if weight is None else [weight]))
        if weight is not None and np.all(weight == 1.0):
            weight = None
        name = f"{self.fit}-{number:x}-{sign:08x}"
        return SourceBlock(
            name,
            X,
            codes,
            weight,
            number=number,
            skipped=skipped,
            problem=problem,
            sign=sign,
            weightless=weightless,
        )


def checksum(X: Any, *more: NDArray[Any]) -> int:
    """Return a checksum of rows, and of arrays that belong to them."""
    sign = 0
    for array in (*((X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)), *more):
        sign = zlib.crc32(np.ascontiguousarray(array).data, sign)
    return sign


@dataclass
class _Stream:
    """Rows to train on, or rows to validate on."""

    number: int
    checks: RowChecks
    pile: _Pile


@dataclass
class _Pile:
    """Rows that do not fill a block yet. Where blocks end depends on the rows alone."""

    max_rows: int
    max_bytes: int
    pieces: list[ValidRows] = field(default_factory=list)
    rows: int = 0
    stored: int = 0

    def add(self, more: ValidRows) -> Iterator[ValidRows]:
        """Add rows, and yield full blocks."""
        while len(more.codes):
            ends = np.cumsum(more.row_bytes)
            room = int(np.searchsorted(ends, self.max_bytes - self.stored, side="right"))
            room = min(room, self.max_rows - self.rows)
            if room == 0 and self.rows:
                yield self.taken()
                continue
            room = max(room, 1)  # a row may be larger than a block
            self.pieces.append(more[:room])
            self.rows += min(room, len(more.codes))
            self.stored += int(ends[min(room, len(ends)) - 1])
            more = more[room:]

    def taken(self) -> ValidRows:
        """Empty the pile into a block."""
        pieces, self.pieces, self.rows, self.stored = self.pieces, [], 0, 0
        if not pieces:
            empty = np.empty(0, dtype=np.int64)
            return ValidRows(np.empty((0, 0)), empty.astype(np.int32), None, empty)
        X: Any
        if any(sp.issparse(piece.X) for piece in pieces):
            X = sp.vstack([sp.csr_matrix(piece.X) for piece in pieces], format="csr")
        else:
            X = np.concatenate([piece.X for piece in pieces])
        weight = None
        if pieces[0].weight is not None:
            weight = np.concatenate([piece.weight for piece in pieces])
        codes = np.concatenate([piece.codes for piece in pieces])
        return ValidRows(X, codes, weight, np.concatenate([piece.row_bytes for piece in pieces]))
