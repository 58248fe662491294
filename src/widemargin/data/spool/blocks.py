"""A block of rows on its way to the spool, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats import DataFileError

__all__ = ["Block", "BlockSource", "Place"]


@dataclass(frozen=True)
class Place:
    """Where rows come from, as messages name it.

    Attributes
    ----------
    path : Path or None
        The file; None if the rows come from the caller's own arrays.
    batch : int or None
        Number of the batch, from 1; None if there are no batches.
    first_row : int
        Number of the first row in the file, batch or array, from 1.
    """

    path: Path | None = None
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


@dataclass(frozen=True)
class Block:
    """Rows that are checked and of bounded size.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Features, float32 or float64, all finite: C-ordered, or in canonical CSR format.
    labels : ndarray, or list of str
        Distinct labels. A list holds texts of a file, which are numbers if all of the file's are.
    label_codes : ndarray of shape (n_rows,)
        Position of each row's label in ``labels``.
    place : Place
        Where the rows come from.
    weights : ndarray of shape (n_rows,), default=None
        Weights of the rows, finite and not negative.
    first_column : int, default=0
        What the indices of a CSR block call the first column. Only LIBSVM files may use another
        number than 0, and may turn out late not to.
    n_features : int, default=None
        Number of features; None if only the last block will tell.
    feature_names : tuple of str, default=None
        Column names of a data frame; those of a file are its source's.
    done_bytes, total_bytes : int, default=None
        How far the source has been read, and its size, where that is known.
    """

    X: Any
    labels: NDArray[Any] | list[str]
    label_codes: NDArray[Any]
    place: Place
    weights: NDArray[np.float64] | None = None
    first_column: int = 0
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    done_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True)
class BlockSource:
    """The blocks of one source.

    Attributes
    ----------
    blocks : iterator of Block
        All rows, in order.
    X : ndarray or csr_matrix, default=None
        The same rows, if they can be used where they are; the blocks then serve to check them.
    feature_names : tuple of str, default=None
        Column names, where the source has them before the first block.
    notes : list of str
        What was decided on the way, complete after the last block.
    """

    blocks: Iterator[Block]
    X: Any = None
    feature_names: tuple[str, ...] | None = None
    notes: list[str] = field(default_factory=list)
