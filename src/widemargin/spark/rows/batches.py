"""Arrow batches of a DataFrame, as checked rows.

A column of ``VectorUDT`` reaches Python's workers as struct<type, size, indices, values> with type
0 for a sparse vector and 1 for a dense one; an array column as a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.losses import NO_WEIGHT
from ...core.rows import canonical
from .columns import FEATURES, IDENTITY, LABEL, WEIGHT, FrameColumns

SPARSE_VECTOR = 0


class ColumnError(ValueError):
    """A column that cannot be used."""


@dataclass(frozen=True)
class Vectors:
    """Vectors of a batch; CSR if one of them is sparse.

    ``X`` has the valid ones, which are not null and hold finite numbers only, ``valid`` marks them
    in the batch, and ``row_bytes`` are their sizes as they were stored.
    """

    X: Any
    valid: NDArray[np.bool_]
    row_bytes: NDArray[np.int64]


def vectors_of(column: pa.Array, name: str) -> Vectors:
    """Turn an array of vectors into rows."""
    valid = np.asarray(column.is_valid())
    rows = column if valid.all() else column.filter(pa.array(valid))
    lengths, flat = _values(rows)
    finite = np.isfinite(flat)
    if not finite.all():
        bad = np.zeros(len(rows), dtype=bool)
        bad[np.repeat(np.arange(len(rows)), lengths)[~finite]] = True
        valid[np.flatnonzero(valid)[bad]] = False
        rows = rows.filter(pa.array(~bad))
        lengths, flat = _values(rows)
    sparse = _sparse(rows)
    sizes = np.where(sparse, _sizes(rows), lengths) if sparse.any() else lengths
    if len(sizes) and sizes.min() != sizes.max():
        raise different_sizes(name, int(sizes.min()), int(sizes.max()))
    size = int(sizes[0]) if len(sizes) else 0
    row_bytes = lengths * (flat.itemsize + 4 * sparse)
    if not sparse.any():
        return Vectors(flat.reshape(len(rows), size), valid, row_bytes)
    return Vectors(_csr(rows, flat, lengths, sparse, size, name), valid, row_bytes)


def different_sizes(name: str, small: int, large: int) -> ColumnError:
    """Return the error for vectors of different sizes."""
    return ColumnError(
        f"column {name!r} must hold vectors of one size; got sizes {small} and {large}. Give every "
        "row the same features, as VectorAssembler does."
    )


def _values(rows: pa.Array) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of values of each vector, and all values in one array."""
    lists = rows.field("values") if pa.types.is_struct(rows.type) else rows
    lengths = np.asarray(pc.list_value_length(lists), dtype=np.int64)
    # Nulls inside an array become NaN.
    return lengths, lists.flatten().to_numpy(zero_copy_only=False)


def _sparse(rows: pa.Array) -> NDArray[np.bool_]:
    if not pa.types.is_struct(rows.type):
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(np.asarray(rows.field("type")) == SPARSE_VECTOR)


def _sizes(rows: pa.Array) -> NDArray[Any]:
    return np.asarray(pc.fill_null(rows.field("size"), 0))  # dense vectors have none


def _csr(
    rows: pa.Array,
    flat: NDArray[Any],
    lengths: NDArray[np.int64],
    sparse: NDArray[np.bool_],
    size: int,
    name: str,
) -> Any:
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    alike, lists = bool(sparse.all()), rows.field("indices")
    given = (lists if alike else lists.filter(pa.array(sparse))).flatten().to_numpy()
    if len(given) != lengths[sparse].sum() or np.any((given < 0) | (given >= size)):
        raise ColumnError(
            f"column {name!r} holds a damaged sparse vector: every value needs an index from 0 "
            f"to {size - 1}."
        )
    shape = (len(rows), size)
    if alike:
        return canonical(sp.csr_matrix((flat, given, indptr), shape=shape))
    # Positions within each row: the features of dense vectors.
    indices = (np.arange(len(flat)) - np.repeat(indptr[:-1], lengths)).astype(np.int32)
    indices[np.repeat(sparse, lengths)] = given
    X = sp.csr_matrix((flat, indices, indptr), shape=shape).copy()  # Arrow owns its memory
    X.eliminate_zeros()  # of the dense vectors
    return canonical(X)


OWN_ID = "Give every row an id of its own, or leave `idCol` unset."
# Labels are positions in an array of classes; larger ones are taken for a mistake.
LARGEST_LABEL = 1_000_000


@dataclass(frozen=True)
class ValidRows:
    """Rows that passed the checks."""

    X: Any
    codes: NDArray[np.int32]
    weight: Array | None
    row_bytes: NDArray[np.int64]

    def __getitem__(self, rows: Any) -> ValidRows:
        weight = None if self.weight is None else self.weight[rows]
        return ValidRows(self.X[rows], self.codes[rows], weight, self.row_bytes[rows])


@dataclass
class RowChecks:
    """Checks of the rows of batches, in the order of the batches."""

    columns: FrameColumns
    skip: bool
    skipped: int = 0
    weightless: int = 0  # rows left out as their weight is zero
    size: int | None = None
    last_identity: Any = None

    def rows(self, batch: pa.RecordBatch) -> ValidRows:
        """Return the valid rows of positive weight."""
        names = self.columns
        self._check_identity(batch)
        vectors = vectors_of(batch.column(FEATURES), names.features)
        label = batch.column(LABEL).to_numpy(zero_copy_only=False)
        valid = vectors.valid & self._present(label, names.label)
        weight = None
        if names.weight is not None:
            weight = batch.column(WEIGHT).to_numpy(zero_copy_only=False)
            valid &= self._present(weight, names.weight)
        if not vectors.valid.all() and not self.skip:
            raise invalid_vectors(names.features, batch.column(FEATURES))
        self.skipped += int(np.count_nonzero(~valid))
        kept = valid[vectors.valid]
        found = ValidRows(
            vectors.X if kept.all() else vectors.X[kept],
            self._codes(label[valid]),
            None if weight is None else self._weights(weight[valid]),
            vectors.row_bytes[kept],
        )
        self._check_size(found)
        if found.weight is None:
            return found
        weighs = found.weight > NO_WEIGHT
        self.weightless += int(np.count_nonzero(~weighs))
        return found[weighs]

    def _present(self, values: Array, name: str) -> NDArray[np.bool_]:
        there = ~np.isnan(values)
        if not there.all() and not self.skip:
            raise _invalid(name, "null or NaN")
        return there

    def _codes(self, label: Array) -> NDArray[np.int32]:
        wrong = (label < 0) | (label != np.floor(label)) | (label > LARGEST_LABEL)
        if wrong.any():
            raise ColumnError(
                f"column {self.columns.label!r} must hold labels 0, 1, … up to {LARGEST_LABEL:,}; "
                f"got {label[wrong][0]:g}. Index labels with StringIndexer."
            )
        return label.astype(np.int32)

    def _weights(self, weight: Array) -> Array:
        wrong = (weight < 0) | np.isinf(weight)
        if wrong.any():
            raise ColumnError(
                f"column {self.columns.weight!r} must hold weights that are finite and not "
                f"negative; got {weight[wrong][0]:g}. Give rows to leave out the weight 0."
            )
        return weight

    def _check_size(self, found: ValidRows) -> None:
        if len(found.codes) == 0:
            return
        size = int(found.X.shape[1])
        if self.size is not None and size != self.size:
            raise different_sizes(self.columns.features, *sorted((size, self.size)))
        self.size = size

    def _check_identity(self, batch: pa.RecordBatch) -> None:
        """Raise unless ids are unique; they are sorted, so that equal ones are neighbours."""
        if self.columns.identity is None or batch.num_rows == 0:
            return
        ids, name = batch.column(IDENTITY), self.columns.identity
        if ids.null_count:
            raise ColumnError(f"column {name!r} must tell rows apart; got null. {OWN_ID}")
        twice = pc.filter(ids[1:], pc.equal(ids[1:], ids[:-1]))
        if len(twice) or ids[0].as_py() == self.last_identity:
            value = (twice[0] if len(twice) else ids[0]).as_py()
            raise ColumnError(
                f"column {name!r} must tell rows apart; got {value!r} twice. {OWN_ID}"
            )
        self.last_identity = ids[-1].as_py()


def invalid_vectors(name: str, vectors: pa.Array) -> ColumnError:
    """Return the error for vectors of which some are null, or not finite."""
    null = bool(vectors.null_count)
    return _invalid(name, "null" if null else "a vector that holds null, NaN or infinity")


def _invalid(name: str, found: str) -> ColumnError:
    return ColumnError(
        f"column {name!r} must hold finite numbers in every row; got {found}. Fill them in, or "
        "leave such rows out with handleInvalid='skip'."
    )
