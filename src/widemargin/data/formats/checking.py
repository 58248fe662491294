"""Checks of rows, labels and weights that come as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from .blocks import Origin

__all__ = [
    "check_row_starts",
    "checked_labels",
    "checked_rows",
    "checked_weights",
    "column_names",
    "float_type",
]


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
    """Return rows as an array or a canonical CSR matrix of finite floats.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows, few enough for several copies.
    dtype : numpy.dtype or None
        Type requested.
    origin : Origin
        Where the rows come from.

    Returns
    -------
    ndarray or csr_matrix
        The rows; indices are int32.
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
