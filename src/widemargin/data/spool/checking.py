"""Checks of rows, labels and weights that callers pass as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import _get_feature_names

from .blocks import Place

__all__ = [
    "check_row_starts",
    "checked_labels",
    "checked_rows",
    "checked_weights",
    "column_names",
    "float_type",
]


def float_type(given: np.dtype[Any], asked: np.dtype[Any] | None) -> np.dtype[Any]:
    """Type to store features in: single precision stays, anything else becomes double."""
    if asked is not None:
        return asked
    return np.dtype(np.float32 if given in (np.float32, np.float16) else np.float64)


def column_names(X: Any, place: Place) -> tuple[str, ...] | None:
    """Return the column names of a data frame; None where columns have no names of text."""
    try:
        names = _get_feature_names(X)
    except TypeError as error:
        raise place.error(f"the column names must all be text: {error}") from error
    return None if names is None else tuple(names.tolist())


def checked_rows(X: Any, dtype: np.dtype[Any] | None, place: Place) -> Any:
    """Return rows as a C-ordered array or a canonical CSR matrix of finite floats.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows, few enough for several copies.
    dtype : numpy.dtype or None
        Type asked for.
    place : Place
        Where the rows come from.

    Returns
    -------
    ndarray or csr_matrix
        The rows; indices are int32.
    """
    sparse = issparse(X)
    X = X.tocsr() if sparse else np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise place.error(
            f"expected numbers as features; got {X.dtype}. Code other features as numbers first."
        )
    kind = float_type(X.dtype, dtype)
    with np.errstate(over="ignore"):  # Too large for float32: found just below.
        if not sparse:
            rows = np.ascontiguousarray(X, dtype=kind)
            bad = np.argwhere(~np.isfinite(rows))
            if bad.size:
                raise _not_finite(place, kind, *bad[0])
            return rows
        return _canonical(X, kind, place)


def _canonical(X: Any, kind: np.dtype[Any], place: Place) -> csr_matrix:
    try:
        # The native code trusts indices: one out of range would read foreign memory.
        X.check_format(full_check=True)
    except ValueError as error:
        raise place.error(f"the sparse features are not a CSR matrix: {error}.") from error
    rows = csr_matrix(X, dtype=kind)
    if not rows.has_canonical_format:
        rows = rows.copy()  # The caller's matrix stays as it is.
        rows.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if bad.size:
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise _not_finite(place, kind, row, rows.indices[bad[0]])
    if rows.shape[1] > np.iinfo(np.int32).max:
        raise place.error(
            f"expected at most {np.iinfo(np.int32).max:,} features; got {rows.shape[1]:,}."
        )
    rows.indices = rows.indices.astype(np.int32, copy=False)
    return rows


def check_row_starts(X: Any, place: Place, step: int = 1 << 20) -> None:
    """Refuse a CSR matrix whose row starts point outside its arrays, where SciPy would follow."""
    starts, stored = X.indptr, min(len(X.data), len(X.indices))
    proper = starts.shape == (X.shape[0] + 1,) and starts[0] == 0 and starts[-1] <= stored
    pieces = range(0, len(starts) - 1, step)  # Some at a time: there may be very many.
    if not (proper and all(np.all(np.diff(starts[i : i + step + 1]) >= 0) for i in pieces)):
        raise place.error(
            "the sparse features are not a CSR matrix: the row starts (indptr) must begin with 0, "
            "not decrease, and end with the number of stored values."
        )


def _not_finite(place: Place, kind: np.dtype[Any], row: int, column: int) -> ValueError:
    return place.error(
        f"expected a finite value (as {kind}) in feature {column} (counted from 0); got NaN or "
        "infinity. Impute missing values or remove the row.",
        int(row),
    )


def checked_labels(y: Any, n_rows: int, place: Place) -> NDArray[Any]:
    """Return labels as an array of numbers, booleans or text, one for each row."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise place.error(f"expected {n_rows:,} labels, one a row; got shape {labels.shape}.")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "iubfU":
        raise place.error(f"expected numbers, booleans or text as labels; got {labels.dtype}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise place.error("the label is NaN or infinite. Remove the row, or give its label.", row)
    return labels


def checked_weights(sample_weight: Any, n_rows: int, place: Place) -> NDArray[np.float64]:
    """Return weights as float64, finite and not negative, one for each row."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise place.error(f"`sample_weight` must hold numbers: {error}.") from error
    if weights.shape != (n_rows,):
        raise place.error(
            f"`sample_weight` must hold {n_rows:,} weights, one a row; got shape {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        row = int(bad[0])
        raise place.error(
            f"`sample_weight` must be finite and not negative; got {weights[row]}.", row
        )
    return weights
