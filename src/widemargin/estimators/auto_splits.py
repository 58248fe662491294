"""Training and validation rows of a search that begins on few rows.

Training rows stand in an order whose every beginning is stratified, so that the first rows of a
split are a smaller copy of it. Validation rows are the same for every number of training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

Indices = NDArray[np.int64]

# Up to this many rows, they are divided into folds; beyond, some are held out.
FOLDED_ROWS = 10_000
FOLDS = 5
# Up to this many rows, folds are drawn several times: a fold has few rows to score on.
REPEATED_ROWS, REPEATS = 600, 3
# Share of the rows that is held out, and bounds of their number.
HELD_OUT, LEAST_HELD_OUT, MOST_HELD_OUT = 0.2, 2_000, 10_000
# Training rows of the first rung, and about how many times as many the next one has.
FIRST_ROWS, GROWTH = 300, 3.0
# Splits that suffice to see which candidates are far behind.
FEW_SPLITS = 2


@dataclass(frozen=True)
class Rung:
    """A number of training rows, and of splits to score on."""

    rows: int
    splits: int


@dataclass(frozen=True)
class Splits:
    """Splits of the rows, the first ones most used.

    Attributes
    ----------
    parts : list of (array, array)
        Training rows in stratified order, and validation rows.
    ladder : list of Rung
        The rungs of a search, from few rows to all.
    """

    parts: list[tuple[Indices, Indices]]
    ladder: list[Rung]

    @property
    def validation_rows(self) -> float:
        """Mean number of validation rows."""
        return float(np.mean([len(test) for _, test in self.parts]))


def splits_of(cv: Any, y: NDArray[Any], row_of: Indices, codes: Indices, seed: int) -> Splits:
    """Split the rows.

    Parameters
    ----------
    cv : int, cross-validation generator, iterable or None
        How to split them; None decides by the number of rows.
    y : array of shape (n_given,)
        Labels as they were given, for a generator.
    row_of : array of shape (n_given,)
        The row that each row given has become; -1 for none.
    codes : array of shape (n_rows,)
        Number of the class of each row.
    seed : int
        Decides what is drawn.
    """
    random = np.random.default_rng([seed, 0xA070])
    rows = np.arange(len(codes))
    repeats, given = 1, []
    if cv is None and len(codes) > FOLDED_ROWS:
        given = [_held_out(codes, random)]
    elif cv is None or isinstance(cv, int):
        repeats = REPEATS if cv is None and len(codes) <= REPEATED_ROWS else 1
        n_folds = FOLDS if cv is None else cv
        given = [test for _ in range(repeats) for test in _folds(codes, n_folds, random)]
    pairs = [(np.setdiff1d(rows, test), test) for test in given]
    if not (cv is None or isinstance(cv, int)):
        chosen = check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y)
        pairs = [(_became(train, row_of), _became(test, row_of)) for train, test in chosen]
        _check(pairs, codes)
    parts = [(stratified_order(train, codes, random), test) for train, test in pairs]
    smallest = min((len(train) for train, _ in parts), default=0)
    return Splits(parts, ladder_of(smallest, len(parts) // repeats, repeats) if parts else [])


def _became(given: NDArray[Any], row_of: Indices) -> Indices:
    """Return what rows given have become, each once."""
    rows = np.unique(row_of[given])
    return rows[rows >= 0]


def _check(pairs: list[tuple[Indices, Indices]], codes: Indices) -> None:
    """Raise ValueError if a split cannot be trained on or scored."""
    for k, (train, test) in enumerate(pairs):
        if len(np.unique(codes[train])) < 2 or len(test) == 0:
            raise ValueError(
                "`cv` must leave training rows of two classes or more, and a row to score on, of "
                f"positive weight; split {k} has {len(np.unique(codes[train]))} classes and "
                f"{len(test)} rows to score on. Use fewer folds, or stratified ones."
            )


def ladder_of(n_rows: int, n_splits: int, repeats: int = 1) -> list[Rung]:
    """Return rungs up to all training rows: more of them, then more splits."""
    steps = round(np.log(max(1.0, n_rows / FIRST_ROWS)) / np.log(GROWTH))
    rows = [round(n_rows * GROWTH ** (k - steps)) for k in range(steps + 1)]
    few = min(FEW_SPLITS, n_splits)
    rungs = [Rung(each, few) for each in rows]
    rungs.append(Rung(n_rows, n_splits))
    rungs.append(Rung(n_rows, n_splits * repeats))
    kept = [a for a, b in pairwise(rungs) if a != b]
    return [*kept, rungs[-1]]


def _folds(codes: Indices, n_folds: int, random: np.random.Generator) -> Iterator[Indices]:
    """Yield the validation rows of stratified folds; the only row of a class is in none."""
    fold = np.full(len(codes), -1)
    first = 0
    for code in np.unique(codes):
        rows = random.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            # The next class goes on where this one ended, so that folds are of equal size.
            fold[rows] = (first + np.arange(len(rows))) % n_folds
            first += len(rows)
    for k in range(n_folds):
        if (fold == k).any():
            yield np.flatnonzero(fold == k)


def _held_out(codes: Indices, random: np.random.Generator) -> Indices:
    """Return validation rows, as many of each class as its share; the first of a class is none."""
    share = np.clip(HELD_OUT * len(codes), LEAST_HELD_OUT, MOST_HELD_OUT) / len(codes)
    order = stratified_order(np.arange(len(codes)), codes, random)
    n_classes = len(np.unique(codes))
    return np.sort(order[n_classes:][: round(share * len(codes))])


def stratified_order(rows: Indices, codes: Indices, random: np.random.Generator) -> Indices:
    """Order rows so that every beginning has the classes in their shares; one of each comes first.

    Parameters
    ----------
    rows : array
        Numbers of the rows.
    codes : array
        Class of every row of the set.
    random : Generator
        Draws the order within a class.
    """
    rows = random.permutation(rows)
    of_row = codes[rows]
    order = np.argsort(of_row, kind="stable")
    counts = np.bincount(of_row)
    starts = np.cumsum(counts) - counts
    rank = np.empty(len(rows))
    rank[order] = np.arange(len(rows)) - np.repeat(starts, counts)
    place = (rank + 0.5) / counts[of_row]
    place[rank == 0] = -1.0
    return np.asarray(rows[np.argsort(place, kind="stable")], dtype=np.int64)
