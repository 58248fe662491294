"""What a reader is asked for, what it returns, and what it raises."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["DataFileError", "Request", "Table", "excerpt", "integers_if_whole", "numbers_or_text"]


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


@dataclass(frozen=True)
class Table:
    """The contents of a data file.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features)
        Features, float64 or float32, all finite. Sparse from LIBSVM files and CSR archives.
    y : ndarray of shape (n_rows,) or None
        Labels: integers where every label is one, else floats, else text. None if not asked for.
    feature_names : tuple of str or None
        Column names, where the file has them.
    notes : tuple of str
        What the reader had to decide, e.g. which column holds the labels.
    """

    X: NDArray[Any] | csr_matrix
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """The arguments of `read`, checked, as every reader receives them."""

    path: Path
    label: str | int | None
    labelled: bool
    n_features: int | None
    feature_names: tuple[str, ...] | None
    zero_based: bool | Literal["auto"]
    text_labels: bool
    dtype: np.dtype[Any] | None

    @property
    def text_dtype(self) -> np.dtype[Any]:
        """Type of the features of a text file, which has none of its own."""
        return np.dtype(np.float64) if self.dtype is None else self.dtype


def excerpt(text: object, length: int = 40) -> str:
    """Quote a piece of a file, short enough for a message and safe for a terminal."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    quoted = repr(text)
    return quoted if len(quoted) <= length else quoted[: length - 1] + "…"


def numbers_or_text(texts: list[str]) -> NDArray[Any]:
    """Convert labels written as text: to integers if all are, else floats, else leave them.

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
