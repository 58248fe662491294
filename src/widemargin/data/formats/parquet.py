"""Parquet files, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.data.formats.columns import check_names, choose_columns
from widemargin.data.formats.streams import check_regular_file
from widemargin.data.formats.table import DataFileError, Request, Table, integers_if_whole

__all__ = ["ParquetColumns", "open_parquet", "parquet_columns", "parquet_rows", "read_parquet"]


@dataclass(frozen=True)
class ParquetColumns:
    """Names of the feature columns and of the label column, and the type of the matrix."""

    features: tuple[str, ...]
    label: str | None
    dtype: np.dtype[Any]
    notes: tuple[str, ...]

    @property
    def wanted(self) -> list[str]:
        """All columns to read."""
        return [*self.features, *([] if self.label is None else [self.label])]


def read_parquet(request: Request) -> Table:
    """Read a Parquet file whose features are columns of numbers."""
    with open_parquet(request) as file:
        columns = parquet_columns(request, file.schema_arrow)
        table = file.read(columns=columns.wanted)
        table.validate(full=True)
    if table.num_rows == 0:
        raise DataFileError(request.path, "the file has no rows. Was it written completely?")
    return parquet_rows(request, columns, table)


@contextmanager
def open_parquet(request: Request, **options: Any) -> Iterator[Any]:
    """Open a ``pyarrow.parquet.ParquetFile``; damage is reported from inside the ``with`` block."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DataFileError(
            request.path,
            "Parquet files need pyarrow, which is not installed: pip install pyarrow",
        ) from error

    check_regular_file(request.path)
    try:
        # One file handle; a path would be taken for a data set of many files.
        with (
            open(request.path, "rb") as stream,
            pyarrow.parquet.ParquetFile(stream, **options) as file,
        ):
            yield file
    except DataFileError:
        raise
    except MemoryError as error:
        raise DataFileError(
            request.path, "does not fit in memory, or is damaged. Read fewer rows or columns."
        ) from error
    except Exception as error:  # pyarrow reports damage with a dozen types, some of them private.
        raise DataFileError(
            request.path,
            f"not a Parquet file, or cut short or damaged ({_first_line(error)}); it ends after "
            f"{request.path.stat().st_size:,} bytes. Write or fetch it again.",
        ) from error


def parquet_columns(request: Request, schema: Any) -> ParquetColumns:
    """Choose the feature columns and the label column by the names in a schema."""
    import pyarrow

    index = _index_columns(schema)
    names = [name for name in schema.names if name not in index]
    check_names(request, names)
    columns = choose_columns(request, names, len(names))
    features = tuple(names[i] for i in columns.features)
    _check_types(request, schema, features, pyarrow.types)
    return ParquetColumns(
        features,
        None if columns.label is None else names[columns.label],
        _feature_type(request, schema, features),
        columns.notes,
    )


def parquet_rows(
    request: Request, columns: ParquetColumns, table: Any, first_row: int = 1
) -> Table:
    """Convert a ``pyarrow.Table`` whose first row has the number `first_row` in the file."""
    import pyarrow

    X = np.empty((table.num_rows, len(columns.features)), dtype=columns.dtype)
    with np.errstate(over="ignore"):  # Too large for float32: found just below.
        for position, name in enumerate(columns.features):
            column = table[name]
            _refuse_nulls(request, name, column, first_row)
            X[:, position] = column.cast(pyarrow.float64(), safe=False).to_numpy()
            bad = np.flatnonzero(~np.isfinite(X[:, position]))
            if bad.size:
                raise DataFileError(
                    request.path,
                    f"expected a finite value (as {X.dtype}) in column {name!r} of row "
                    f"{bad[0] + first_row}, found {column[int(bad[0])]}. "
                    "Impute missing values or remove the row.",
                )
    label = columns.label
    y = None if label is None else _labels(request, label, table[label], first_row, pyarrow)
    return Table(X=X, y=y, feature_names=columns.features, notes=columns.notes)


def _index_columns(schema: Any) -> set[str]:
    """Columns that hold the row index of a pandas data frame: no features."""
    try:
        described = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):
        return set()  # Metadata of some other program.
    return {name for name in described if isinstance(name, str)}


def _check_types(request: Request, schema: Any, features: tuple[str, ...], types: Any) -> None:
    for name in features:
        kind = schema.field(name).type
        numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        if not any(test(kind) for test in numeric):
            raise DataFileError(
                request.path,
                f"expected numbers in column {name!r}, found {kind}. Code it as numbers first, "
                "or name the label column if this is the label.",
            )


def _feature_type(request: Request, schema: Any, features: tuple[str, ...]) -> np.dtype[Any]:
    if request.dtype is not None:
        return request.dtype
    single = all(str(schema.field(name).type) in ("float", "halffloat") for name in features)
    return np.dtype(np.float32 if single else np.float64)


def _refuse_nulls(request: Request, name: str, column: Any, first_row: int) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0]) + first_row
        raise DataFileError(
            request.path,
            f"column {name!r} has no value in row {row}. Impute missing values or remove the row.",
        )


def _labels(request: Request, name: str, column: Any, first_row: int, pyarrow: Any) -> NDArray[Any]:
    _refuse_nulls(request, name, column, first_row)
    types = pyarrow.types
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_boolean(kind) or types.is_integer(kind):
        labels: NDArray[Any] = column.to_numpy()
    elif types.is_floating(kind) or types.is_decimal(kind):
        labels = column.cast(pyarrow.float64(), safe=False).to_numpy()
        if not np.isfinite(labels).all():
            row = int(np.flatnonzero(~np.isfinite(labels))[0]) + first_row
            raise DataFileError(request.path, f"the label of row {row} is not finite.")
        labels = integers_if_whole(labels)
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        labels = np.array(column.to_pylist(), dtype=str)
    else:
        raise DataFileError(
            request.path, f"expected numbers or text as labels in column {name!r}, found {kind}."
        )
    return labels


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:120].rstrip(".") if text else type(error).__name__
