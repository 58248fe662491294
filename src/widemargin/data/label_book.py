"""Number labels block by block, before all classes are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .formats.blocks import Block, numbers_or_text

CODE_TYPE = np.dtype(np.int16)
_MOST_CLASSES = int(np.iinfo(CODE_TYPE).max)
_KINDS = {"b": "booleans", "U": "text"}


class LabelBook:
    """Numbers of the labels.

    Without `classes`, all labels that may occur, labels are numbered in the order of their first
    occurrence, and `finish` returns how to renumber them.
    """

    dtype = CODE_TYPE

    def __init__(self, classes: ArrayLike | None) -> None:
        self._given = None if classes is None else _checked_classes(classes)
        known = [] if self._given is None else self._given.tolist()
        self._number: dict[Any, int] = {label: number for number, label in enumerate(known)}
        self._dtype: np.dtype[Any] | None = None
        self._written = False

    def encode(self, block: Block) -> NDArray[np.int16]:
        """Return the number of each row's label."""
        written = isinstance(block.labels, list)
        labels, row_labels = np.asarray(block.labels), block.label_codes
        if row_labels is None:
            labels, row_labels = np.unique(labels, return_inverse=True)
        if self._given is None:
            self._note_type(labels.dtype, written, block)
            fractions = _fractions(labels)
            if fractions.size:
                row = int(np.flatnonzero(np.isin(row_labels, fractions))[0])
                raise block.origin.error(_continuous(labels[row_labels[row]]), row)
        table = np.empty(len(labels), dtype=CODE_TYPE)
        for position, label in enumerate(labels.tolist()):
            number = self._number.get(label)
            if number is None and self._given is not None and written:
                # Text of a file: "1.0" is the class 1 if the classes are numbers.
                number = self._number.get(numbers_or_text([label]).tolist()[0])
            if number is None:
                row = int(np.flatnonzero(row_labels == position)[0])
                number = self._add(label, row, block)
            table[position] = number
        codes: NDArray[np.int16] = table[row_labels]
        return codes

    def finish(self) -> tuple[NDArray[Any], NDArray[np.int16] | None]:
        """Return the classes in order, and the position of each number used so far among them."""
        if self._given is not None:
            return self._given, None
        seen = list(self._number)
        labels = numbers_or_text(seen) if self._written else np.array(seen, dtype=self._dtype)
        if self._written and _fractions(labels).size:  # Only now: a text may still have come.
            raise ValueError(_continuous(labels[_fractions(labels)[0]]))
        classes, positions = np.unique(labels, return_inverse=True)
        return classes, positions.astype(CODE_TYPE)

    def _add(self, label: Any, row: int, block: Block) -> int:
        if self._given is None and len(self._number) < _MOST_CLASSES:
            self._number[label] = len(self._number)
            return len(self._number) - 1
        if self._given is None:
            problem = (
                f"expected at most {_MOST_CLASSES:,} classes; the label {label!r} is one more. "
                "Are these classes, or numbers to be predicted?"
            )
        else:
            problem = (
                f"the label {label!r} is not in `classes`, {_listed(self._given)}. Name all "
                "classes, or leave `classes` out."
            )
        raise block.origin.error(problem, row)

    def _note_type(self, dtype: np.dtype[Any], written: bool, block: Block) -> None:
        self._written = written
        if self._dtype is None:
            self._dtype = dtype
        before, now = (_KINDS.get(kind, "numbers") for kind in (self._dtype.kind, dtype.kind))
        if before != now:
            raise block.origin.error(
                f"expected labels of one kind; got {now} after {before}. Convert the labels."
            )
        self._dtype = np.promote_types(self._dtype, dtype)


def _fractions(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of numbers that are not whole."""
    return np.flatnonzero(labels % 1) if labels.dtype.kind == "f" else np.empty(0, np.intp)


def _continuous(label: Any) -> str:
    return (
        f"unknown label type: continuous. A label must be text or a whole number; got {label}. If "
        "these are classes all the same, name them in `classes`."
    )


def _checked_classes(classes: ArrayLike) -> NDArray[Any]:
    given = np.asarray(classes)
    if given.dtype.kind == "O" and all(isinstance(label, str) for label in given.ravel()):
        given = given.astype(str)
    distinct = np.unique(given) if given.ndim == 1 and given.dtype.kind in "iubfU" else None
    if distinct is None or not 2 <= len(distinct) <= _MOST_CLASSES:
        raise ValueError(
            f"`classes` must list 2 to {_MOST_CLASSES:,} distinct numbers or texts; got "
            f"{_listed(given)}."
        )
    return distinct


def _listed(labels: NDArray[Any], at_most: int = 8) -> str:
    shown = ", ".join(repr(label) for label in labels.ravel()[:at_most].tolist())
    return f"[{shown}]" if labels.size <= at_most else f"[{shown}, …] ({labels.size:,} in all)"
