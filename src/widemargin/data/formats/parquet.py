"""Parquet files, or a directory of them, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocks import (
    IMPUTE,
    Block,
    BlockSource,
    DataFileError,
    Origin,
    Request,
    first_line,
    integers_if_whole,
)
from .columns import check_names, choose_columns
from .streams import check_regular_file

PARQUET_SUFFIXES = (".parquet", ".pq")
# By blocks, column pages are read through buffers of this size, not a whole row group at once.
_BLOCK_OPTIONS = {"buffer_size": 1 << 16, "pre_buffer": False}


@dataclass(frozen=True)
class _ParquetColumns:
    """Names of the feature columns and of the label column, and the type of the matrix."""

    features: tuple[str, ...]
    label: str | None
    dtype: np.dtype[Any]
    notes: tuple[str, ...]

    @property
    def wanted(self) -> list[str]:
        """All columns to read."""
        return [*self.features, *([] if self.label is None else [self.label])]


def parquet_files(directory: Path) -> list[Path]:
    """Return the Parquet files of a directory, in the order of their names."""
    files = sorted(path for path in directory.iterdir() if path.suffix.lower() in PARQUET_SUFFIXES)
    if not files:
        raise DataFileError(
            directory,
            f"expected a file, or a directory of Parquet files ({' '.join(PARQUET_SUFFIXES)}); "
            "found a directory without any.",
        )
    return files


def parquet_source(request: Request, files: list[Path] | None = None) -> BlockSource:
    """Return the blocks of a Parquet file whose features are columns of numbers.

    Of several `files`, the first one decides about the columns; the others must have them under
    the same names.
    """
    files = files or [request.path]
    with _open(request) as file:
        columns = _columns(request, file.schema_arrow)
    if len(files) > 1:
        request = replace(request, feature_names=columns.features, label=columns.label)
    blocks, notes = _blocks(request, files), list(columns.notes)
    return BlockSource(blocks, feature_names=columns.features, notes=notes)


def read_parquet(request: Request) -> Any:
    """Return a Parquet file as a data frame of pandas, without the index of one."""
    with _open(request) as file:
        index = _index_columns(file.schema_arrow)
        names = [name for name in file.schema_arrow.names if name not in index]
        return file.read(columns=names).to_pandas(ignore_metadata=True)


def _blocks(request: Request, files: list[Path]) -> Iterator[Block]:
    total = sum(path.stat().st_size for path in files)
    before, found = 0, False
    for path in files:
        size = path.stat().st_size
        for block, share in _blocks_of_file(replace(request, path=path)):
            found = True
            yield replace(block, done_bytes=before + int(size * share), total_bytes=total)
        before += size
    if not found:
        raise request.error("the file has no rows. Was it written completely?")


def _blocks_of_file(request: Request) -> Iterator[tuple[Block, float]]:
    """Yield blocks, and the share of the file's rows that they complete."""
    import pyarrow

    row = 1
    with _open(request, **({} if request.block_bytes is None else _BLOCK_OPTIONS)) as file:
        columns = _columns(request, file.schema_arrow)
        n_rows = file.metadata.num_rows
        tables = _tables(file, columns, request.block_bytes)
        while table := _next_table(tables, row):
            block = _converted(request, columns, table, row)
            row += table.num_rows
            del table
            yield block, (row - 1) / n_rows
    if request.block_bytes is not None:  # pyarrow would keep the memory for later use.
        pyarrow.default_memory_pool().release_unused()


def _tables(file: Any, columns: _ParquetColumns, block_bytes: int | None) -> Iterator[Any]:
    import pyarrow

    if block_bytes is None:
        yield file.read(columns=columns.wanted)
        return
    # A value is held as pyarrow decodes it, as float64 and in the matrix.
    step = max(block_bytes // (24 * len(columns.wanted)), 1)
    for batch in file.iter_batches(batch_size=step, columns=columns.wanted, use_threads=False):
        yield pyarrow.Table.from_batches([batch])


def _next_table(tables: Iterator[Any], row: int) -> Any:
    """Return the next table that has rows, or None; `row` is the number of its first one."""
    try:
        for table in tables:
            if table.num_rows:
                table.validate(full=True)
                return table
    except Exception as error:  # pyarrow reports damage with a dozen types.
        if row == 1:
            raise
        raise ValueError(f"after row {row - 1:,}: {error}") from error
    return None


@contextmanager
def _open(request: Request, **options: Any) -> Iterator[Any]:
    """Open a ``pyarrow.parquet.ParquetFile``; damage is reported from inside the ``with`` block."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise request.error(
            "Parquet files need pyarrow, which is not installed: pip install pyarrow"
        ) from error

    check_regular_file(request.path)
    try:
        # A file handle: pyarrow takes a path for a data set of many files.
        with (
            open(request.path, "rb") as stream,
            pyarrow.parquet.ParquetFile(stream, **options) as file,
        ):
            yield file
    except DataFileError:
        raise
    except MemoryError as error:
        raise request.error(
            "does not fit in memory, or is damaged. Read fewer rows or columns."
        ) from error
    except Exception as error:  # pyarrow reports damage with a dozen types, some of them private.
        raise request.error(
            f"not a Parquet file, or cut short or damaged ({first_line(error)}); it ends after "
            f"{request.path.stat().st_size:,} bytes. Write or fetch it again."
        ) from error


def _columns(request: Request, schema: Any) -> _ParquetColumns:
    """Choose the feature columns and the label column by the names in a schema."""
    import pyarrow

    index = _index_columns(schema)
    names = [name for name in schema.names if name not in index]
    check_names(request, names)
    columns = choose_columns(request, names, len(names))
    features = tuple(names[i] for i in columns.features)
    kinds = [schema.field(name).type for name in features]
    _check_types(request, features, kinds, pyarrow.types)
    dtype = request.dtype
    if dtype is None:
        single = all(str(kind) in ("float", "halffloat") for kind in kinds)
        dtype = np.dtype(np.float32 if single else np.float64)
    label = None if columns.label is None else names[columns.label]
    return _ParquetColumns(features, label, dtype, columns.notes)


def _converted(request: Request, columns: _ParquetColumns, table: Any, first_row: int) -> Block:
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
                raise request.cell_error(
                    f"expected a finite value (as {X.dtype}) in column {name!r} of row "
                    f"{bad[0] + first_row}, found {column[int(bad[0])]}. {IMPUTE}"
                )
    label = columns.label
    y = None if label is None else _labels(request, label, table[label], first_row, pyarrow)
    return Block(
        X, y, None, Origin(request.path, first_row=first_row), n_features=len(columns.features)
    )


def _index_columns(schema: Any) -> set[str]:
    """Columns that hold the row index of a pandas data frame; they are not features."""
    try:
        described = (schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):
        return set()  # Metadata of some other program.
    return {name for name in described if isinstance(name, str)}


def _check_types(request: Request, features: tuple[str, ...], kinds: list[Any], types: Any) -> None:
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    for name, kind in zip(features, kinds, strict=True):
        if not any(test(kind) for test in numeric):
            raise request.cell_error(
                f"expected numbers in column {name!r}, found {kind}. Code it as numbers first "
                "(widemargin.TablePreprocessor does), or name the label column if this is it."
            )


def _refuse_nulls(request: Request, name: str, column: Any, first_row: int) -> None:
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0]) + first_row
        raise request.cell_error(f"column {name!r} has no value in row {row}. {IMPUTE}")


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
            raise request.error(f"the label of row {row} is not finite.")
        labels = integers_if_whole(labels)
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        labels = np.array(column.to_pylist(), dtype=str)
    else:
        raise request.error(f"expected numbers or text as labels in column {name!r}, found {kind}.")
    return labels
