"""The contents of a data file, and the error that a bad file raises."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "DataFileError",
    "Table",
    "excerpt",
    "first_line",
    "integers_if_whole",
    "numbers_or_text",
]


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
        Labels: integers where every label is one, else floats, else text. None if not requested.
    feature_names : tuple of str or None
        Column names, where the file has them.
    notes : tuple of str
        Decisions of the reader, e.g. which column holds the labels.
    """

    X: NDArray[Any] | csr_matrix
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


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
