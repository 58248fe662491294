"""The distinct texts of a column, and which of them stand for a missing value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Column

#: Beyond this, a float may no longer be written as the integer that it is.
LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True)
class Levels:
    """A column as numbers of its distinct texts; -1 where the value is missing."""

    texts: list[str]
    codes: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows that have each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    @property
    def n_missing(self) -> int:
        """Rows without a value."""
        return int(np.count_nonzero(self.codes < 0))

    def spread(self, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """Return, for every row, the value of its text, or `missing`."""
        table = np.append(values, np.array([missing], dtype=values.dtype))
        spread: NDArray[Any] = table[self.codes]  # the code -1 is the last entry
        return spread


def find_levels(column: Column, marks: frozenset[str]) -> Levels:
    """Find the distinct texts of a column, without the spaces around them."""
    import pandas

    try:
        codes, found = pandas.factorize(column.values)
    except TypeError as error:  # of cells without a hash: lists, dictionaries
        raise TypeError(
            f"Column {column.name!r} has cells that hold lists or the like; a cell must be text or "
            "a number. Take such cells apart into columns first."
        ) from error
    texts: dict[str, int] = {}
    place = np.full(len(found) + 1, -1, dtype=np.int64)
    for i, cell in enumerate(np.asarray(found).tolist()):
        text = _text(cell)
        if text.lower() not in marks:
            place[i] = texts.setdefault(text, len(texts))
    return Levels(list(texts), place[codes])


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bytes):
        return cell.decode(errors="replace").strip()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < LARGEST_WHOLE:
        return str(int(cell))  # whole numbers beside blanks are read as floats
    return str(cell)
