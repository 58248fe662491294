"""Arrays in memory or mapped, used where they are if possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from ...core.losses import NO_WEIGHT
from .blocks import Block, BlockSource, Place
from .checking import (
    check_row_starts,
    checked_labels,
    checked_rows,
    checked_weights,
    column_names,
    float_type,
)

__all__ = ["array_source", "row_blocks", "stored_bytes"]


def array_source(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    dtype: np.dtype[Any] | None,
    block_bytes: int,
    path: Path | None = None,
) -> BlockSource:
    """Return the blocks of one matrix, which is not copied if a solver can read it as it is."""
    place = Place(path)
    names = column_names(X, place)
    X = X if issparse(X) else np.asanyarray(X)
    if X.ndim != 2 or X.shape[1] == 0:
        raise place.error(f"expected features of shape (rows, features); got shape {X.shape}.")
    if X.shape[0] == 0:
        raise place.error("expected at least one row; got none.")
    if issparse(X) and X.format == "csr":
        check_row_starts(X, place)
    as_it_is = _readable(X, dtype) and (
        sample_weight is None or bool(np.all(np.asarray(sample_weight) > NO_WEIGHT))
    )
    blocks = row_blocks(X, y, sample_weight, place=place, dtype=dtype, block_bytes=block_bytes)
    return BlockSource(blocks, X=X if as_it_is else None, feature_names=names)


def row_blocks(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    place: Place,
    dtype: np.dtype[Any] | None,
    block_bytes: int,
) -> Iterator[Block]:
    """Cut one matrix into checked blocks."""
    X = X.tocsr() if issparse(X) else X
    n_rows = X.shape[0]
    y = checked_labels(y, n_rows, place)
    weights = None if sample_weight is None else checked_weights(sample_weight, n_rows, place)
    total = stored_bytes(X)
    for start, stop in _cuts(X, block_bytes):
        here = Place(place.path, place.batch, place.first_row + start)
        rows = checked_rows(X[start:stop], dtype, here)
        labels, codes = np.unique(y[start:stop], return_inverse=True)
        yield Block(
            rows,
            labels,
            codes,
            here,
            weights=None if weights is None else weights[start:stop],
            n_features=rows.shape[1],
            done_bytes=int(total * (stop / n_rows)),
            total_bytes=total,
        )


def _cuts(X: Any, block_bytes: int) -> Iterator[tuple[int, int]]:
    """First and last row (exclusive) of pieces of a size; a row is never cut."""
    n_rows = X.shape[0]
    stop = 0
    while stop < n_rows:
        start = stop
        if issparse(X):
            stored = X.indptr[start] + block_bytes // (X.dtype.itemsize + X.indices.itemsize)
            # Rows without values take some room, too.
            most = start + block_bytes // X.indptr.itemsize
            stop = min(int(np.searchsorted(X.indptr, stored, side="right")) - 1, most)
        else:
            stop = start + block_bytes // (X.shape[1] * X.itemsize)
        stop = min(max(stop, start + 1), n_rows)
        yield start, stop


def _readable(X: Any, dtype: np.dtype[Any] | None) -> bool:
    """Whether solvers can read a matrix without a copy."""
    if X.dtype not in (np.float32, np.float64) or not X.dtype.isnative:
        return False
    if float_type(X.dtype, dtype) != X.dtype:
        return False
    if issparse(X):
        return isinstance(X, csr_matrix) and X.indices.dtype == np.int32 and X.has_canonical_format
    array: NDArray[Any] = X
    return bool(array.flags.c_contiguous and array.flags.aligned)


def stored_bytes(X: Any) -> int:
    """Bytes of the arrays of a matrix."""
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if issparse(X) else X.nbytes)
