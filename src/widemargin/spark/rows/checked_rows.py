"""Checks of the rows in a DataFrame's batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.losses import NO_WEIGHT
from .columns import FEATURES, IDENTITY, LABEL, WEIGHT, FrameColumns
from .vector_arrays import ColumnError, different_sizes, vectors_of

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
            raise _invalid(names.features, "a vector that is null or holds null, NaN or infinity")
        self.skipped += int(np.count_nonzero(~valid))
        kept = valid[vectors.valid]
        found = ValidRows(
            vectors.X if kept.all() else vectors.X[kept],
            self._codes(label[valid]),
            None if weight is None else self._weights(weight[valid]),
            vectors.row_bytes[kept],
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
