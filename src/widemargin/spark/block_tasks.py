"""What runs on Spark's workers: blocks of rows out of a DataFrame's Arrow batches.

Nothing is raised here for what is wrong with the data: Spark would try the task again a few times,
and bury the words in a trace. It travels in a block, and the driver raises it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from ..engines import spark_tasks
from ..estimators.linear_divided import BLOCK_BYTES, BLOCK_ROWS
from ..linear.row_blocks import RowBlock
from ..losses import NO_WEIGHT, Array
from .columns import FEATURES, IDENTITY, LABEL, VALIDATION, WEIGHT, Columns
from .vector_arrays import ColumnError, different_sizes, vectors_of

# Labels are positions in an array of classes; larger ones are a slip.
LARGEST_LABEL = 1_000_000


@dataclass(frozen=True)
class SourceBlock(RowBlock):
    """Rows of a DataFrame.

    Attributes
    ----------
    number : int
        Of the part.
    skipped : int
        Rows that were left out as invalid; told by the last block of a partition.
    problem : str or None
        What is wrong with the partition, which has no other blocks after this one.
    """

    number: int = 0
    skipped: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class BlocksOfPartition:
    """Cuts the rows of a partition into blocks.

    Attributes
    ----------
    fit : str
        Tells blocks of this fit from all others.
    columns : Columns
        Names of the columns, for messages.
    skip : bool
        Whether rows with nulls or NaN are left out; else they are a problem.
    max_rows, max_bytes : int
        Of a block.
    """

    fit: str
    columns: Columns
    skip: bool
    max_rows: int = BLOCK_ROWS
    max_bytes: int = BLOCK_BYTES

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn batches of rows into chunks of pickled blocks."""
        from pyspark import TaskContext

        context = TaskContext.get()
        first = (0 if context is None else context.partitionId()) << 32
        for number, block in enumerate(self.blocks(batches, first), first):
            for k, data in enumerate(spark_tasks.chunks_of(block)):
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number]), pa.array([k], pa.int32()), pa.array([data], pa.binary())],
                    schema=spark_tasks.CHUNKS,
                )

    def blocks(self, batches: Iterable[pa.RecordBatch], first: int) -> Iterator[SourceBlock]:
        """Yield blocks, numbered from ``first``."""
        checked = _CheckedRows(self.columns, self.skip)
        pile, number, problem = _Pile(self.max_rows, self.max_bytes), first, None
        try:
            for batch in batches:
                for full in pile.add(checked.rows(batch)):
                    yield self._block(full, number)
                    number += 1
        except ColumnError as error:
            pile, problem = _Pile(self.max_rows, self.max_bytes), str(error)
        if pile.rows or checked.skipped or problem:
            yield self._block(pile.taken(), number, checked.skipped, problem)

    def _block(
        self, rows: _Rows, number: int, skipped: int = 0, problem: str | None = None
    ) -> SourceBlock:
        # Computed again, a partition may have its rows in another order. What processes remember
        # of the block of that name would be wrong then, so its contents are part of the name.
        X, codes, weight = rows.X, rows.codes, rows.weight
        arrays = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
        sign = 0
        for array in (*arrays, codes, *([] if weight is None else [weight])):
            sign = zlib.crc32(np.ascontiguousarray(array).data, sign)
        if weight is not None and np.all(weight == 1.0):
            weight = None
        name = f"{self.fit}-{number:x}-{sign:08x}"
        return SourceBlock(name, X, codes, weight, number, skipped, problem)


@dataclass(frozen=True)
class _Rows:
    """Some checked rows."""

    X: Any
    codes: NDArray[np.int32]
    weight: Array | None
    row_bytes: NDArray[np.int64]

    def __getitem__(self, rows: Any) -> _Rows:
        weight = None if self.weight is None else self.weight[rows]
        return _Rows(self.X[rows], self.codes[rows], weight, self.row_bytes[rows])


@dataclass
class _Pile:
    """Rows that do not fill a block yet. Where blocks end is a matter of the rows alone."""

    max_rows: int
    max_bytes: int
    pieces: list[_Rows] = field(default_factory=list)
    rows: int = 0
    stored: int = 0

    def add(self, more: _Rows) -> Iterator[_Rows]:
        """Put rows on the pile, and yield blocks that are full."""
        while len(more.codes):
            ends = np.cumsum(more.row_bytes)
            room = int(np.searchsorted(ends, self.max_bytes - self.stored, side="right"))
            room = min(room, self.max_rows - self.rows)
            if room == 0 and self.rows:
                yield self.taken()
                continue
            room = max(room, 1)  # of rows that are larger than a block
            self.pieces.append(more[:room])
            self.rows += min(room, len(more.codes))
            self.stored += int(ends[min(room, len(ends)) - 1])
            more = more[room:]

    def taken(self) -> _Rows:
        """Empty the pile into a block."""
        pieces, self.pieces, self.rows, self.stored = self.pieces, [], 0, 0
        if not pieces:
            empty = np.empty(0, dtype=np.int64)
            return _Rows(np.empty((0, 0)), empty.astype(np.int32), None, empty)
        X: Any
        if any(sp.issparse(piece.X) for piece in pieces):
            X = sp.vstack([sp.csr_matrix(piece.X) for piece in pieces], format="csr")
        else:
            X = np.concatenate([piece.X for piece in pieces])
        weight = None
        if pieces[0].weight is not None:
            weight = np.concatenate([piece.weight for piece in pieces])
        codes = np.concatenate([piece.codes for piece in pieces])
        return _Rows(X, codes, weight, np.concatenate([piece.row_bytes for piece in pieces]))


@dataclass
class _CheckedRows:
    """Rows of batches, one batch after another."""

    columns: Columns
    skip: bool
    skipped: int = 0
    size: int | None = None
    last_identity: Any = None

    def rows(self, batch: pa.RecordBatch) -> _Rows:
        """Return the rows that count."""
        names = self.columns
        self._check_identity(batch)
        self._check_validation(batch)
        vectors = vectors_of(batch.column(FEATURES), names.features)
        label = batch.column(LABEL).to_numpy(zero_copy_only=False)
        valid = vectors.valid & self._present(label, names.label)
        weight = None
        if names.weight is not None:
            weight = batch.column(WEIGHT).to_numpy(zero_copy_only=False)
            valid &= self._present(weight, names.weight)
        if not vectors.valid.all() and not self.skip:
            raise _invalid(names.features, "a vector that is null or holds null, NaN or infinity")
        self.skipped += int(np.count_nonzero(~valid))
        found = _Rows(
            vectors.X[valid[vectors.valid]],
            self._codes(label[valid]),
            None if weight is None else self._weights(weight[valid]),
            vectors.row_bytes[valid[vectors.valid]],
        )
        self._check_size(found)
        return found if found.weight is None else found[found.weight > NO_WEIGHT]

    def _present(self, values: Array, name: str) -> NDArray[np.bool_]:
        there = ~np.isnan(values)
        if not there.all() and not self.skip:
            raise _invalid(name, "null or NaN")
        return there

    def _codes(self, label: Array) -> NDArray[np.int32]:
        wrong = (label < 0) | (label != np.floor(label)) | (label > LARGEST_LABEL)
        if wrong.any():
            raise ColumnError(
                f"column {self.columns.label!r} must hold labels 0, 1, …; got "
                f"{label[wrong][0]:g}. Index labels with StringIndexer."
            )
        return label.astype(np.int32)

    def _weights(self, weight: Array) -> Array:
        wrong = (weight < 0) | np.isinf(weight)
        if wrong.any():
            raise ColumnError(
                f"column {self.columns.weight!r} must hold weights that are finite and not "
                f"negative; got {weight[wrong][0]:g}."
            )
        return weight

    def _check_size(self, found: _Rows) -> None:
        if len(found.codes) == 0:
            return
        size = int(found.X.shape[1])
        if self.size is not None and size != self.size:
            raise different_sizes(self.columns.features, *sorted((size, self.size)))
        self.size = size

    def _check_validation(self, batch: pa.RecordBatch) -> None:
        if self.columns.validation is not None and batch.column(VALIDATION).null_count:
            raise ColumnError(
                f"column {self.columns.validation!r} must be true or false in every row; got null."
            )

    def _check_identity(self, batch: pa.RecordBatch) -> None:
        """Demand ids that tell rows apart; they are sorted, so that equal ones are neighbours."""
        if self.columns.identity is None or batch.num_rows == 0:
            return
        ids, name = batch.column(IDENTITY), self.columns.identity
        if ids.null_count:
            raise ColumnError(f"column {name!r} must tell rows apart; got null.")
        twice = pc.filter(ids[1:], pc.equal(ids[1:], ids[:-1]))
        if len(twice) or ids[0].as_py() == self.last_identity:
            value = (twice[0] if len(twice) else ids[0]).as_py()
            raise ColumnError(f"column {name!r} must tell rows apart; got {value!r} twice.")
        self.last_identity = ids[-1].as_py()


def _invalid(name: str, found: str) -> ColumnError:
    return ColumnError(
        f"column {name!r} must hold finite numbers in every row; got {found}. Fill them in, or "
        "leave such rows out with handleInvalid='skip'."
    )
