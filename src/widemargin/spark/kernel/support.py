"""Support vectors of a level: brought to the driver, or as rows of a table on the cluster.

A row of the table holds a block of support vectors of one part of one binary problem: their arrays
as bytes, a checksum over these, and no code. So it is safe to read a table of any origin.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...engines import Engine
from ...engines.spark_tasks import arrow_schema, parts_of
from ...kernel.divide.levels import Level
from ...kernel.model.level_model import LevelModel
from ...kernel.samples import Part
from ...persistence import ModelFileError
from ..rows.block_tasks import SourceBlock


@dataclass(frozen=True)
class Support:
    """Rows with a dual: numbers in the whole training set, coefficients, numbers of the parts."""

    rows: NDArray[np.int64]
    coef: Array
    part: NDArray[np.int32]
    vectors: Any = None  # the rows, if they were requested


@dataclass(frozen=True)
class _SupportOfPart:
    """Takes a part's mass, and numbers, coefficients and values of its rows with a dual."""

    with_vectors: bool

    def __call__(self, part: Part) -> list[tuple[float, NDArray[np.int64], Array, Any]]:
        own = np.flatnonzero(part.net_dual)
        rows = part.rows[own]
        coef = part.net_dual[own] * part.source.labels(rows)
        vectors = part.source.take(rows).X if self.with_vectors else None
        return [(part.mass, rows, coef, vectors)]


def support_of(engine: Engine, level: Level, *, mean: bool, with_vectors: bool = False) -> Support:
    """Bring the rows with a dual here; ``mean`` if the model is the mean of its parts."""
    found = engine.reduce(level.parts, _SupportOfPart(with_vectors), operator.add)
    total = sum(mass for mass, _, _, _ in found)
    coefs = [coef * (mass / total) if mean else coef for mass, _, coef, _ in found]
    sizes = [rows.size for _, rows, _, _ in found]
    vectors = stacked([X for _, _, _, X in found]) if with_vectors else None
    return Support(
        np.concatenate([rows for _, rows, _, _ in found]),
        np.concatenate(coefs),
        np.repeat(np.arange(len(found), dtype=np.int32), sizes),
        vectors,
    )


def stacked(blocks: list[Any]) -> Any:
    """Put rows under each other."""
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)


@dataclass(frozen=True)
class CorrectlyDecided:
    """Counts the rows of a block that a level's model gets right."""

    model: LevelModel
    positive: int

    def __call__(self, block: SourceBlock) -> int:
        """Pass over the rows."""
        decision = self.model.decide(block.X.astype(self.model.basis.dtype, copy=False))
        return int(np.count_nonzero((decision > 0) == (block.codes == self.positive)))


# Bytes of vectors in a row of the table: pairs of such rows and rows to predict go through Arrow.
BLOCK_BYTES = 2**20

_ARRAYS = ("rows", "codes", "coef", "values", "indices", "indptr")
_NUMBERS = ("problem", "part", "block", "n", "features")
DDL = (
    "problem int, part int, block int, n int, features int, dtype string, total double, "
    "rows binary, codes binary, coef binary, values binary, indices binary, indptr binary, "
    "sign long"
)
SCHEMA = arrow_schema(DDL)


@dataclass(frozen=True)
class SupportBlock:
    """Some support vectors of one part: numbers of the rows, classes, coefficients, values."""

    problem: int
    part: int
    block: int
    rows: NDArray[np.int64]
    codes: NDArray[np.int32]
    coef: Array
    X: Any

    def take(self, positions: NDArray[np.int64]) -> SupportBlock:
        """Return some of the vectors."""
        rows, codes, coef = self.rows[positions], self.codes[positions], self.coef[positions]
        return replace(self, rows=rows, codes=codes, coef=coef, X=self.X[positions])

    def record(self) -> pa.RecordBatch:
        """Return the block as a row of the table."""
        X, sparse = self.X, sp.issparse(self.X)
        arrays = [
            self.rows.astype("<i8"),
            self.codes.astype("<i4"),
            self.coef.astype("<f8"),
            np.ascontiguousarray(X.data if sparse else X),
            X.indices.astype("<i4") if sparse else None,
            X.indptr.astype("<i8") if sparse else None,
        ]
        stored = [None if array is None else array.tobytes() for array in arrays]
        numbers = (self.problem, self.part, self.block, len(self.rows), int(X.shape[1]))
        sign = _sign(numbers, stored)
        return record_of(SCHEMA, *numbers, X.dtype.name, float(self.coef.sum()), *stored, sign)


def record_of(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    """Return one row of a table."""
    arrays = [pa.array([value], kind.type) for value, kind in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def blocks_of(batches: Iterable[pa.RecordBatch]) -> Iterator[SupportBlock]:
    """Read rows of the table; raise ModelFileError if one is damaged."""
    return map(block_of, rows_of(batches))


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Read rows of any table, one at a time: their blocks are large."""
    for batch in batches:
        for row in range(batch.num_rows):
            yield {name: batch.column(k)[row].as_py() for k, name in enumerate(batch.schema.names)}


def block_of(row: Any) -> SupportBlock:
    """Read a row of the table; raise ModelFileError if it is damaged."""
    numbers = tuple(row[name] for name in _NUMBERS)
    stored: list[Any] = [None if row[name] is None else bytes(row[name]) for name in _ARRAYS]
    try:
        if row["dtype"] not in ("float32", "float64") or _sign(numbers, stored) != row["sign"]:
            raise ValueError
        problem, part, block, n, features = numbers
        rows, codes, coef = (
            np.frombuffer(data, kind)
            for data, kind in zip(stored[:3], ("<i8", "<i4", "<f8"), strict=True)
        )
        values = np.frombuffer(stored[3], np.dtype(row["dtype"]))
        if stored[4] is None:
            X: Any = values.reshape(n, features)
        else:
            indices, indptr = np.frombuffer(stored[4], "<i4"), np.frombuffer(stored[5], "<i8")
            X = sp.csr_matrix((values, indices, indptr), (n, features))
            X.check_format()
        if not len(rows) == len(codes) == len(coef) == n:
            raise ValueError
    except (ValueError, TypeError, KeyError) as error:
        raise ModelFileError("a table of support vectors is damaged. Save it again.") from error
    return SupportBlock(problem, part, block, rows, codes, coef, X)


def _sign(numbers: tuple[Any, ...], stored: list[bytes | None]) -> int:
    sign = zlib.crc32(repr(numbers).encode())
    for data in stored:
        sign = zlib.crc32(b"" if data is None else data, sign)
    return sign


@dataclass(frozen=True)
class AsTable:
    """Turns parts that are solved into rows of the table."""

    problem: int
    order: dict[int, int]  # position of every part, by the engine's number
    total: float | None  # mass of all parts, if the model is the mean of theirs

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn chunks of pickled parts into rows."""
        for number, part in parts_of(batches):
            for block in self._blocks(self.order[number], part):
                yield block.record()

    def _blocks(self, number: int, part: Part) -> Iterator[SupportBlock]:
        share = 1.0 if self.total is None else part.mass / self.total
        support = np.flatnonzero(part.net_dual)
        step = max(1, BLOCK_BYTES // max(1, part.source.row_bytes))
        for block, first in enumerate(range(0, support.size, step)):
            own = support[first : first + step]
            rows = part.rows[own]
            taken = part.source.take(rows)
            codes = (taken.label > 0).astype(np.int32) if taken.code is None else taken.code
            coef = part.net_dual[own] * share * taken.label
            yield SupportBlock(self.problem, number, block, rows, codes, coef, taken.X)


@dataclass(frozen=True)
class SupportVectors:
    """Support vectors of all binary problems, each row once.

    ``coef`` and ``part``, of shape (n_problems, n_rows), are 0 and −1 where a row has none.
    """

    rows: NDArray[np.int64]
    codes: NDArray[np.int32]
    vectors: Any
    coef: Array
    part: NDArray[np.int32]


def gathered(blocks: list[SupportBlock], n_problems: int) -> SupportVectors:
    """Put blocks together."""
    rows, first = np.unique(np.concatenate([each.rows for each in blocks]), return_index=True)
    coef, part = by_problem(rows, n_problems, [(each.problem, each) for each in blocks])
    codes = np.concatenate([each.codes for each in blocks])[first]
    return SupportVectors(rows, codes, stacked([each.X for each in blocks])[first], coef, part)


def by_problem(
    rows: NDArray[np.int64], n_problems: int, pieces: Iterable[tuple[int, Support | SupportBlock]]
) -> tuple[Array, NDArray[np.int32]]:
    """Arrange coefficients and parts as (problems, rows), from pieces of some problems."""
    coef = np.zeros((n_problems, rows.size))
    part = np.full(coef.shape, -1, dtype=np.int32)
    for problem, piece in pieces:
        at = np.searchsorted(rows, piece.rows)
        coef[problem, at], part[problem, at] = piece.coef, piece.part
    return coef, part


def no_support_vectors(n_problems: int, empty: Any) -> SupportVectors:
    """Return no support vectors; ``empty`` has no rows, but their columns."""
    rows = np.zeros(0, dtype=np.int64)
    part = np.zeros((n_problems, 0), dtype=np.int32)
    return SupportVectors(rows, part[0], empty, np.zeros((n_problems, 0)), part)
