"""`spool`: copy rows from files, arrays or batches into arrays on disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from numpy.typing import ArrayLike, DTypeLike

from .disk_array import SpoolFullError
from .formats.arrays import memory_source, stored_bytes
from .formats.blocks import Block
from .formats.reading import checked_dtype, file_source
from .label_book import LabelBook
from .spool_writer import SpoolWriter
from .spooled_rows import SpooledRows
from .target_book import TargetBook

BLOCK_BYTES = 1 << 25


def spool(
    source: Any,
    *,
    classes: ArrayLike | None = None,
    n_features: int | None = None,
    spool_dir: str | PathLike[str] | None = None,
    block_bytes: int = BLOCK_BYTES,
    dtype: DTypeLike | None = None,
    format: str | None = None,
    label: str | int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    text_labels: bool = False,
    regression: bool = False,
    report: Callable[[int, int | None, int], None] | None = None,
) -> SpooledRows:
    """Copy rows from files, arrays or batches to disk, where a solver can read them many times.

    The source is read once, a block at a time, and written to a spool: a temporary directory of
    plain binary files. Arrays that a solver can read as they are, such as a C-ordered
    ``numpy.memmap`` of float32, are checked but not copied.

    Parameters
    ----------
    source : path-like, tuple, iterable or callable
        - the path of a LIBSVM, CSV, TSV, Parquet or NPZ file (text may be packed: ``.gz``,
          ``.bz2``, ``.xz``), or of a directory of Parquet files, read in the order of their names;
        - a tuple ``(X, y)`` or ``(X, y, sample_weight)`` of arrays, in memory or mapped;
        - an iterable of such tuples (batches), or a function without arguments that returns one.
    classes : array-like, default=None
        All labels that may occur; any other is an error. None takes the labels that do occur.
    n_features : int, default=None
        Number of features required. None takes what the source has; for LIBSVM files, the largest
        index.
    spool_dir : path-like, default=None
        Directory in which to create the spool; None for the system's temporary directory.
    block_bytes : int, default=32 MiB
        Bound on the rows of a block. A few times as much memory is used.
    dtype : {numpy.float32, numpy.float64}, default=None
        Type to store features in. None keeps float32 and float64; text and integers give float64.
    format, label, zero_based, text_labels
        For files, as in :func:`widemargin.data.read`.
    regression : bool, default=False
        Whether labels are targets, finite numbers, and not classes.
    report : callable, default=None
        Called after every block as ``report(done_bytes, total_bytes, rows)``: bytes of the source
        read so far, its size (None if not known), and rows. For batches, the bytes are those
        written to the spool.

    Returns
    -------
    SpooledRows
        The rows; close them, or use them in a ``with`` statement, to remove the spool.

    Raises
    ------
    DataFileError
        If a file is missing, damaged, cut off or malformed, with the line, row or byte.
    ValueError
        If rows, labels or weights cannot be used, with the batch and the row.
    OSError
        If the spool cannot be written, with the bytes needed.
    """
    if block_bytes < 1:
        raise ValueError(f"`block_bytes` must be at least 1; got {block_bytes}.")
    if n_features is not None and n_features < 1:
        raise ValueError(f"`n_features` must be at least 1; got {n_features}.")
    if spool_dir is not None and not Path(spool_dir).is_dir():
        raise FileNotFoundError(
            f"`spool_dir` must be a folder that exists; got {str(spool_dir)!r}."
        )
    if regression and classes is not None:
        raise ValueError("`classes` are those of a classification; got them with regression=True.")
    book = TargetBook() if regression else LabelBook(classes)
    options: dict[str, Any] = {"format": format, "label": label}
    options |= {"zero_based": zero_based, "text_labels": text_labels}
    directory = TemporaryDirectory(
        prefix="widemargin-spool-", dir=spool_dir, ignore_cleanup_errors=True
    )
    try:
        if isinstance(source, (str, PathLike)):
            options |= {"n_features": n_features, "dtype": dtype}
            blocks = file_source(source, Path(directory.name), block_bytes, **options)
        else:
            _refuse_file_options(options)
            blocks = memory_source(source, dtype=checked_dtype(dtype), block_bytes=block_bytes)
        writer = SpoolWriter(
            directory, book, blocks, n_features=n_features, block_bytes=block_bytes
        )
        with closing(writer):
            for block in blocks.blocks:
                _append(writer, block)
                if report is not None:
                    done = writer.nbytes if block.done_bytes is None else block.done_bytes
                    report(done, block.total_bytes, writer.n_rows)
            return writer.finish()
    except BaseException:  # Ctrl-C, too, must leave nothing behind.
        directory.cleanup()
        raise


def _append(writer: SpoolWriter, block: Block) -> None:
    """Write a block; if the disk is full, add to the error how much would be needed."""
    so_far = writer.nbytes + stored_bytes(block.X)
    try:
        writer.append(block)
    except SpoolFullError as error:
        if block.done_bytes is None or block.total_bytes is None:
            raise
        needed = int(so_far * block.total_bytes / block.done_bytes)
        raise SpoolFullError(
            error.errno, f"{error.strerror}; about {needed:,} bytes are needed in all"
        ) from error


def _refuse_file_options(options: dict[str, Any]) -> None:
    defaults = {"format": None, "label": None, "zero_based": "auto", "text_labels": False}
    for name, value in options.items():
        if value != defaults[name]:
            raise ValueError(f"`{name}` applies to files only; the source is not a path.")
