"""Take a table apart into named columns, whatever library made it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Column(NamedTuple):
    """A named column: an array of numbers, truth values, times or objects."""

    name: str
    values: NDArray[Any]


def is_frame(X: Any) -> bool:
    """Return whether `X` is a data frame of pandas, polars or a library like them."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def frame_columns(X: Any) -> list[Column]:
    """Return the columns of a data frame; those of frames without names are called x0, x1, ….

    Raises ValueError if a name occurs twice.
    """
    names = list(X.columns)
    named = all(isinstance(name, str) for name in names)
    labels = [str(name) for name in names] if named else [f"x{i}" for i in range(len(names))]
    repeated = {name for name in labels if labels.count(name) > 1} if named else set()
    if repeated:
        raise ValueError(
            f"Columns need names of their own; found {', '.join(map(repr, sorted(repeated)))} more "
            "than once. Rename or drop the copies."
        )
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else None
    columns = (take((slice(None), i)) if take else X[name] for i, name in enumerate(names))
    return [Column(label, _values(column)) for label, column in zip(labels, columns, strict=True)]


def array_columns(X: NDArray[Any], names: list[str]) -> list[Column]:
    """Return the columns of a two-dimensional array."""
    return [Column(name, _plain(X[:, i])) for i, name in enumerate(names)]


def _values(column: Any) -> NDArray[Any]:
    """Return a column of a frame as an array; missing values as NaN, NaT or None."""
    dtype = column.dtype
    kind = getattr(dtype, "kind", None)
    if isinstance(dtype, np.dtype) or not hasattr(column, "isna"):
        return _plain(np.asarray(column.to_numpy()))
    # The extension types of pandas: nullable numbers, times with a zone, categories, text.
    if kind == "M":
        return np.asarray(column.dt.tz_convert(None).to_numpy(dtype="datetime64[ns]"))
    if kind in ("i", "u", "f", "b"):
        missing = column.isna().to_numpy()
        if kind == "b" and not missing.any():
            return np.asarray(column.to_numpy(dtype=bool))
        if kind != "b":
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return _plain(np.asarray(column.astype(object).to_numpy()))


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers and times as they are, durations in days, and anything else as objects."""
    if values.dtype.kind == "m":
        days = values / np.timedelta64(1, "D")
        return np.asarray(days, dtype=np.float64)
    if values.dtype.kind in "fiub" or values.dtype.kind == "M":
        return values
    return values.astype(object)
