"""Blocks of rows: what every reader yields, whether a file is read whole or spooled to disk.

Also the contents of a whole file, the error that a bad file raises, and the labels of text files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: What to do about a missing value.
IMPUTE = "Impute missing values (widemargin.TablePreprocessor does), or remove the row."


class DataFileError(ValueError):
    """A data file that cannot be used, and why.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What was expected, what was found and what to do.
    line : int, default=None
        Line of a text file, counted from 1.
    """

    def __init__(self, path: str | PathLike[str], problem: str, line: int | None = None) -> None:
        # All arguments go to the base class so that the error survives pickling.
        super().__init__(path, problem, line)
        self.path = fspath(path)
        self.problem = problem
        self.line = line

    def __str__(self) -> str:
        where = "" if self.line is None else f", line {self.line}"
        return f"{self.path}{where}: {self.problem}"


class CellError(DataFileError):
    """A cell of a table that is not a number; :func:`read_frame` leaves such cells as they are."""


@dataclass(frozen=True)
class Table:
    """The contents of a data file.

    Attributes
    ----------
    X : ndarray, csr_matrix or pandas.DataFrame of shape (n_rows, n_features)
        Features, float64 or float32, all finite. Sparse from LIBSVM files and CSR archives. A data
        frame, with cells as they are, from `read_frame`.
    y : ndarray of shape (n_rows,) or None
        Labels: integers where every label is one, else floats, else text. None if not requested.
    feature_names : tuple of str or None
        Column names, where the file has them.
    notes : tuple of str
        Decisions of the reader, e.g. which column holds the labels.
    zero_based : bool or None
        Whether the feature indices of a LIBSVM file were taken to count from 0; None for other
        formats.
    label_name : str or None
        Name of the column of labels, from `read_frame`.
    """

    X: Any
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    zero_based: bool | None = None
    label_name: str | None = None


@dataclass(frozen=True)
class Request:
    """The arguments of `read`, checked, and the size of the blocks.

    Without `block_bytes`, a reader yields the whole file as one block. `unpack_dir` is where a
    format that cannot be read by blocks (NPZ) unpacks its arrays; None unpacks them in memory.
    """

    path: Path
    label: str | int | None
    labelled: bool
    n_features: int | None
    feature_names: tuple[str, ...] | None
    zero_based: bool | Literal["auto"]
    text_labels: bool
    dtype: np.dtype[Any] | None
    index_base: int | None = None
    block_bytes: int | None = None
    unpack_dir: Path | None = None

    @property
    def text_dtype(self) -> np.dtype[Any]:
        """Type of the features of a text file, which has none of its own."""
        return np.dtype(np.float64) if self.dtype is None else self.dtype

    def error(self, problem: str, line: int | None = None) -> DataFileError:
        """Return the error to raise about the file."""
        return DataFileError(self.path, problem, line)

    def cell_error(self, problem: str, line: int | None = None) -> CellError:
        """Return the error to raise about a cell that is not a number."""
        return CellError(self.path, problem, line)


@dataclass(frozen=True)
class Origin:
    """Where rows come from, for messages: a file, a batch, or the caller's own arrays."""

    path: Path | None = None
    #: Batches and rows are numbered from 1.
    batch: int | None = None
    first_row: int = 1

    def error(self, problem: str, row: int | None = None) -> ValueError:
        """Return the error to raise; `row` counts from 0 within the block."""
        where = [] if self.batch is None else [f"batch {self.batch:,}"]
        if row is not None:
            where.append(f"row {self.first_row + row:,}")
        message = ": ".join([", ".join(where), problem]) if where else problem
        if self.path is not None:
            return DataFileError(self.path, message)
        return ValueError(message[0].upper() + message[1:])

    def not_finite(self, dtype: np.dtype[Any], row: int, column: int, value: Any) -> ValueError:
        """Return the error about a value that is NaN or infinite, or too large for `dtype`."""
        if self.path is not None:
            cell = f"X[{self.first_row - 1 + row}, {column}]"
            return DataFileError(
                self.path,
                f"expected a finite value (as {dtype}) in {cell}, found {value}. {IMPUTE}",
            )
        return self.error(
            f"expected a finite value (as {dtype}) in feature {column} (counted from 0); got NaN "
            f"or infinity. {IMPUTE}",
            int(row),
        )


@dataclass(frozen=True)
class Block:
    """Rows that are checked and of bounded size."""

    #: Float32 or float64, all finite; a sparse matrix is in canonical CSR format.
    X: Any
    #: Label of each row or, with `label_codes`, the distinct labels. A list holds texts of a file,
    #: which are numbers if all of the file's are. None if labels are not requested.
    labels: NDArray[Any] | list[str] | None
    label_codes: NDArray[Any] | None
    origin: Origin
    #: Finite and not negative.
    weights: NDArray[np.float64] | None = None
    #: Index of the first column in a CSR block. Only LIBSVM files may count from 1, and the base
    #: is certain only after the last block.
    first_column: int = 0
    #: None if it is known only after the last block.
    n_features: int | None = None
    #: Of a data frame; those of a file are its source's.
    feature_names: tuple[str, ...] | None = None
    #: Bytes of the source read so far, and its size, where they are known.
    done_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True)
class BlockSource:
    """The blocks of one source, in order."""

    blocks: Iterator[Block]
    #: The same rows, if a solver can read them in place; the blocks then serve to check them.
    X: Any = None
    #: Where the source has them before the first block.
    feature_names: tuple[str, ...] | None = None
    #: Decisions of the reader, complete after the last block.
    notes: list[str] = field(default_factory=list)
    #: Whether indices of LIBSVM files count from 0: one entry after the last block.
    zero_based: list[bool] = field(default_factory=list)

    def table(self) -> Table:
        """Return the contents of a file that is read as one block."""
        (block,) = self.blocks
        labels: Any = block.labels
        if block.label_codes is not None:
            distinct = numbers_or_text(labels) if isinstance(labels, list) else labels
            labels = distinct[block.label_codes]
        base = self.zero_based[0] if self.zero_based else None
        return Table(_from_zero(block), labels, self.feature_names, tuple(self.notes), base)


def _from_zero(block: Block) -> Any:
    """Return the matrix of a block that is the whole file, with columns counted from 0."""
    X = block.X
    if block.first_column == 0 and block.n_features == X.shape[1]:
        return X
    from scipy.sparse import csr_matrix

    indices = X.indices - block.first_column if block.first_column else X.indices
    used = int(indices.max()) + 1 if indices.size else 0
    # A file of empty rows still needs a column for scikit-learn to accept it.
    shape = (X.shape[0], block.n_features or max(used, 1))
    return csr_matrix((X.data, indices, X.indptr), shape=shape)


def excerpt(text: object, length: int = 40) -> str:
    """Quote a piece of a file, short enough for a message and safe for a terminal."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    quoted = repr(text)
    return quoted if len(quoted) <= length else quoted[: length - 1] + "…"


def first_line(error: Exception) -> str:
    """Return the first line of another library's message, to be quoted in ours."""
    text = str(error).strip()
    return text.splitlines()[0][:120].rstrip(".") if text else type(error).__name__


def numbers_or_text(texts: list[str]) -> NDArray[Any]:
    """Convert labels written as text to integers if all are, else to floats, else to an array.

    Digit groups such as ``1_000`` stay text: as labels, ``1_0`` and ``10`` are two names.
    """
    try:
        if any("_" in text or not text.isascii() for text in texts):
            raise ValueError
        numbers = np.array([float(text) for text in texts], dtype=np.float64)
    except ValueError:
        return np.array(texts, dtype=str)
    if not np.isfinite(numbers).all():
        return np.array(texts, dtype=str)
    return integers_if_whole(numbers)


def integers_if_whole(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return `numbers` as integers if that changes none of them.

    LIBSVM files write ``+1`` and ``-1``; users expect to get these back, not ``1.0``.
    """
    if np.all(np.abs(numbers) < 2**53) and np.all(numbers == np.trunc(numbers)):
        return numbers.astype(np.int64)
    return numbers
