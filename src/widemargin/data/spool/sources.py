"""Find out what a source is."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..formats import DataFileError
from ..formats.reading import checked_request
from .arrays import array_source
from .batches import batch_source
from .blocks import BlockSource
from .delimited_blocks import delimited_source
from .libsvm_blocks import libsvm_source
from .npz_blocks import npz_source
from .parquet_blocks import parquet_files, parquet_source

__all__ = ["block_source", "file_source"]


def block_source(source: Any, *, dtype: np.dtype[Any] | None, block_bytes: int) -> BlockSource:
    """Return the blocks of arrays, batches, or a function that returns an iterator of batches."""
    if isinstance(source, tuple) and len(source) in (2, 3) and _is_matrix(source[0]):
        X, y, *weights = source
        return array_source(
            X, y, weights[0] if weights else None, dtype=dtype, block_bytes=block_bytes
        )
    batches = source() if callable(source) else source
    # One matrix would be taken for an iterable of rows.
    if hasattr(batches, "shape") or not isinstance(batches, Iterable):
        raise TypeError(
            "Rows must come as the path of a file, a tuple (X, y) or (X, y, sample_weight), an "
            "iterable of such tuples, or a function that returns one; got "
            f"{type(batches).__name__}."
        )
    return batch_source(batches, dtype=dtype, block_bytes=block_bytes)


def _is_matrix(X: Any) -> bool:
    """Whether an object is rows of features, not a batch: a list of lists of numbers is."""
    if hasattr(X, "shape"):
        return True
    for _ in range(2):
        if not isinstance(X, list) or not X:
            return False
        X = X[0]
    return isinstance(X, Real)


def file_source(
    path: str | PathLike[str], spool: Path, block_bytes: int, **options: Any
) -> BlockSource:
    """Return the blocks of a file, or of a directory of Parquet files.

    Parameters
    ----------
    path : path-like
        The file or directory.
    spool : Path
        Directory for what has to be unpacked first.
    block_bytes : int
        Bound on the rows of a block.
    **options
        As for `read`.
    """
    files = [Path(path)]
    if files[0].is_dir():
        if options["format"] not in (None, "parquet"):
            raise ValueError(
                f"`format` must be 'parquet' for a directory; got {options['format']!r}."
            )
        files = parquet_files(files[0])
    if files[0].suffix.lower() == ".npy":
        raise DataFileError(
            files[0],
            "a .npy file holds one array and no labels. Map it, and pass the tuple "
            "(numpy.load(path, mmap_mode='r'), y).",
        )
    request, name = checked_request(files[0], labelled=True, feature_names=None, **options)
    if name == "parquet":
        return parquet_source(request, files, block_bytes)
    if name == "libsvm":
        return libsvm_source(request, block_bytes)
    if name in ("csv", "tsv"):
        return delimited_source(request, "\t" if name == "tsv" else None, block_bytes)
    return npz_source(request, spool, block_bytes)
