"""Blocks of checked arrays, in memory or mapped, and of iterables of batches of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from ...core.losses import NO_WEIGHT
from .blocks import Block, BlockSource, Origin


def memory_source(source: Any, *, dtype: np.dtype[Any] | None, block_bytes: int) -> BlockSource:
    """Return the blocks of arrays, batches, or a function that returns an iterator of batches."""
    if isinstance(source, tuple) and len(source) in (2, 3) and _is_matrix(source[0]):
        return array_source(*source, dtype=dtype, block_bytes=block_bytes)
    batches = source() if callable(source) else source
    # One matrix would pass for an iterable of rows.
    if hasattr(batches, "shape") or not isinstance(batches, Iterable):
        raise TypeError(
            "Rows must come as the path of a file, a tuple (X, y) or (X, y, sample_weight), an "
            "iterable of such tuples, or a function that returns one; got "
            f"{type(batches).__name__}."
        )
    return BlockSource(_batch_blocks(batches, dtype, block_bytes))


def array_source(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    dtype: np.dtype[Any] | None,
    block_bytes: int | None,
    path: Path | None = None,
) -> BlockSource:
    """Return the blocks of one matrix, and the matrix itself if a solver can read it in place."""
    origin = Origin(path)
    names = column_names(X, origin) if path is None else None
    X = _checked_shape(X if issparse(X) else np.asanyarray(X), origin, "")
    if issparse(X) and X.format == "csr":
        check_row_starts(X, origin)
    in_place = (
        block_bytes is not None
        and _readable(X, dtype)
        and (sample_weight is None or bool(np.all(np.asarray(sample_weight) > NO_WEIGHT)))
    )
    blocks = _row_blocks(X, y, sample_weight, origin, dtype, block_bytes)
    return BlockSource(blocks, X=X if in_place else None, feature_names=names)


def _batch_blocks(
    batches: Iterable[Any], dtype: np.dtype[Any] | None, block_bytes: int
) -> Iterator[Block]:
    number = 0
    for number, batch in enumerate(batches, start=1):
        origin = Origin(batch=number)
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            size = f" of length {len(batch)}" if isinstance(batch, (tuple, list)) else ""
            raise origin.error(
                "expected a tuple (X, y) or (X, y, sample_weight); got "
                f"{type(batch).__name__}{size}."
            )
        X, y, *weights = batch
        names = column_names(X, origin)
        X = X if issparse(X) else np.asarray(X)
        X = _checked_shape(X, origin, " Leave empty batches out.")
        weight = weights[0] if weights else None
        for block in _row_blocks(X, y, weight, origin, dtype, block_bytes):
            # The size of one batch says nothing about the whole.
            yield replace(block, feature_names=names, done_bytes=None, total_bytes=None)
    if number == 0:
        raise ValueError(
            "Expected at least one batch; got none. If the source is an iterator, was it used "
            "before?"
        )


def _checked_shape(X: Any, origin: Origin, advice: str) -> Any:
    if X.ndim != 2 or X.shape[1] == 0:
        raise origin.error(f"expected features of shape (rows, features); got shape {X.shape}.")
    if X.shape[0] == 0:
        raise origin.error(f"expected at least one row; got none.{advice}")
    return X


def _row_blocks(
    X: Any,
    y: Any,
    sample_weight: Any,
    origin: Origin,
    dtype: np.dtype[Any] | None,
    block_bytes: int | None,
) -> Iterator[Block]:
    """Cut one matrix into checked blocks; `y` may be None."""
    X = X.tocsr() if issparse(X) else X
    n_rows = X.shape[0]
    labels = None if y is None else checked_labels(y, n_rows, origin)
    weights = None if sample_weight is None else checked_weights(sample_weight, n_rows, origin)
    total = stored_bytes(X)
    for start, stop in _cuts(X, block_bytes):
        here = replace(origin, first_row=origin.first_row + start)
        rows = checked_rows(X if block_bytes is None else X[start:stop], dtype, here)
        yield Block(
            rows,
            None if labels is None else labels[start:stop],
            None,
            here,
            weights=None if weights is None else weights[start:stop],
            n_features=rows.shape[1],
            done_bytes=int(total * (stop / n_rows)),
            total_bytes=total,
        )


def _cuts(X: Any, block_bytes: int | None) -> Iterator[tuple[int, int]]:
    """Yield the first and last row (exclusive) of pieces of a size; a row is never cut."""
    n_rows = X.shape[0]
    if block_bytes is None:
        yield 0, n_rows
        return
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


def _is_matrix(X: Any) -> bool:
    """Whether an object is rows of features, not a batch: a list of lists of numbers is."""
    if hasattr(X, "shape"):
        return True
    for _ in range(2):
        if not isinstance(X, list) or not X:
            return False
        X = X[0]
    return isinstance(X, Real)


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


def csr_of_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> csr_matrix:
    """Return a CSR matrix of arrays that are neither read nor copied."""
    # The constructor would convert indices and row starts to one type, in memory.
    X = csr_matrix(shape, dtype=data.dtype)
    X.data, X.indices, X.indptr = data, indices, indptr
    return X


def stored_bytes(X: Any) -> int:
    """Bytes of the arrays of a matrix."""
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if issparse(X) else X.nbytes)


def float_type(given: np.dtype[Any], requested: np.dtype[Any] | None) -> np.dtype[Any]:
    """Return the type to store features in: single precision stays, any other becomes double."""
    if requested is not None:
        return requested
    return np.dtype(np.float32 if given in (np.float32, np.float16) else np.float64)


def column_names(X: Any, origin: Origin) -> tuple[str, ...] | None:
    """Return the column names of a data frame; None where columns have no names of text."""
    from sklearn.utils.validation import _get_feature_names

    try:
        names = _get_feature_names(X)
    except TypeError as error:
        raise origin.error(f"the column names must all be text: {error}") from error
    return None if names is None else tuple(names.tolist())


def checked_rows(X: Any, dtype: np.dtype[Any] | None, origin: Origin) -> Any:
    """Return rows as an array of finite floats, or as a canonical CSR matrix with int32 indices.

    The rows must be few enough for several copies.
    """
    sparse = issparse(X)
    X = X.tocsr() if sparse else np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise origin.error(
            f"expected numbers as features; got {X.dtype}. Code other features as numbers first."
        )
    kind = float_type(X.dtype, dtype)
    with np.errstate(over="ignore"):  # Too large for float32: found just below.
        if not sparse:
            rows = np.asarray(X, dtype=kind)
            finite = np.isfinite(rows)
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                raise origin.not_finite(kind, row, column, rows[row, column])
            return rows
        return _canonical(X, kind, origin)


def _canonical(X: Any, kind: np.dtype[Any], origin: Origin) -> csr_matrix:
    try:
        # The native code trusts indices: one out of range would read foreign memory.
        X.check_format(full_check=True)
    except ValueError as error:
        raise origin.error(f"the sparse features are not a CSR matrix: {error}.") from error
    rows = csr_matrix(X, dtype=kind)
    if not rows.has_canonical_format:
        rows = rows.copy()  # The caller's matrix stays as it is.
        rows.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if bad.size:
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise origin.not_finite(kind, row, rows.indices[bad[0]], rows.data[bad[0]])
    if rows.shape[1] > np.iinfo(np.int32).max:
        raise origin.error(
            f"expected at most {np.iinfo(np.int32).max:,} features; got {rows.shape[1]:,}."
        )
    rows.indices = rows.indices.astype(np.int32, copy=False)
    return rows


def check_row_starts(X: Any, origin: Origin, step: int = 1 << 20) -> None:
    """Refuse a CSR matrix whose row starts point outside its arrays, which SciPy would follow."""
    starts, stored = X.indptr, min(len(X.data), len(X.indices))
    proper = starts.shape == (X.shape[0] + 1,) and starts[0] == 0 and starts[-1] <= stored
    pieces = range(0, len(starts) - 1, step)  # Some at a time: there may be very many.
    if not (proper and all(np.all(np.diff(starts[i : i + step + 1]) >= 0) for i in pieces)):
        raise origin.error(
            "the sparse features are not a CSR matrix: the row starts (indptr) must begin with 0, "
            "not decrease, and end with the number of stored values."
        )


def checked_labels(y: Any, n_rows: int, origin: Origin) -> NDArray[Any]:
    """Return labels as an array of numbers, booleans or text, one for each row."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise origin.error(f"expected {n_rows:,} labels, one a row; got shape {labels.shape}.")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "iubfU":
        raise origin.error(f"expected numbers, booleans or text as labels; got {labels.dtype}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise origin.error("the label is NaN or infinite. Remove the row, or give its label.", row)
    return labels


def checked_weights(sample_weight: Any, n_rows: int, origin: Origin) -> NDArray[np.float64]:
    """Return weights as float64, finite and not negative, one for each row."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise origin.error(f"`sample_weight` must hold numbers: {error}.") from error
    if weights.shape != (n_rows,):
        raise origin.error(
            f"`sample_weight` must hold {n_rows:,} weights, one a row; got shape {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        row = int(bad[0])
        raise origin.error(
            f"`sample_weight` must be finite and not negative; got {weights[row]}.", row
        )
    return weights
