"""Parquet files, or a directory of them, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..formats import DataFileError
from ..formats.parquet import ParquetColumns, open_parquet, parquet_columns, parquet_rows
from ..formats.table import Request
from .blocks import Block, BlockSource, Place

__all__ = ["parquet_files", "parquet_source"]

_SUFFIXES = (".parquet", ".pq")
# Column pages are read through buffers of this size, not a whole row group at once.
_BUFFER_BYTES = 1 << 16


def parquet_files(directory: Path) -> list[Path]:
    """Return the Parquet files of a directory, in the order of their names."""
    files = sorted(path for path in directory.iterdir() if path.suffix.lower() in _SUFFIXES)
    if not files:
        raise DataFileError(
            directory,
            f"expected a file, or a directory of Parquet files ({' '.join(_SUFFIXES)}); found a "
            "directory without any.",
        )
    return files


def parquet_source(request: Request, files: list[Path], block_bytes: int) -> BlockSource:
    """Return the blocks of Parquet files with the same columns.

    Columns are chosen by the first file; the others must have them under the same names.
    """
    first = replace(request, path=files[0])
    with open_parquet(first) as file:
        columns = parquet_columns(first, file.schema_arrow)
    request = replace(request, feature_names=columns.features, label=columns.label)
    return BlockSource(
        _blocks(request, files, block_bytes),
        feature_names=columns.features,
        notes=list(columns.notes),
    )


def _blocks(request: Request, files: list[Path], block_bytes: int) -> Iterator[Block]:
    total = sum(path.stat().st_size for path in files)
    before, found = 0, False
    for path in files:
        size = path.stat().st_size
        for block, share in _blocks_of_file(replace(request, path=path), block_bytes):
            found = True
            yield replace(block, done_bytes=before + int(size * share), total_bytes=total)
        before += size
    if not found:
        raise DataFileError(request.path, "the file has no rows. Was it written completely?")


def _blocks_of_file(request: Request, block_bytes: int) -> Iterator[tuple[Block, float]]:
    """Yield blocks, and the share of the file's rows that they complete."""
    import pyarrow

    row = 1
    with open_parquet(request, buffer_size=_BUFFER_BYTES, pre_buffer=False) as file:
        columns: ParquetColumns = parquet_columns(request, file.schema_arrow)
        n_rows = file.metadata.num_rows
        # A value is held as pyarrow decodes it, as float64 and in the matrix.
        step = max(block_bytes // (24 * len(columns.wanted)), 1)
        batches = file.iter_batches(batch_size=step, columns=columns.wanted, use_threads=False)
        while batch := _next_batch(batches, row):
            table = parquet_rows(request, columns, pyarrow.Table.from_batches([batch]), row)
            assert table.y is not None
            labels, codes = np.unique(table.y, return_inverse=True)
            block = Block(
                table.X,
                labels,
                codes,
                Place(request.path, first_row=row),
                n_features=table.X.shape[1],
            )
            row += batch.num_rows
            yield block, (row - 1) / n_rows
    # pyarrow would keep for itself what it has used.
    pyarrow.default_memory_pool().release_unused()


def _next_batch(batches: Iterator[Any], row: int) -> Any:
    """Return the next batch that has rows, or None; `row` is the number of its first one."""
    try:
        for batch in batches:
            if batch.num_rows:
                batch.validate(full=True)
                return batch
    except Exception as error:  # pyarrow reports damage with a dozen types.
        raise ValueError(f"after row {row - 1:,}: {error}") from error
    return None
