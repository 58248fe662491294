"""Rows by the problems that they take part in: those with the same ones need the same products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.losses import LossTerms


@dataclass(frozen=True)
class SharedProblem:
    """One of several binary problems with a common kernel: its rows, labels and loss."""

    label: Array  # +1.0 or −1.0 for each of its rows
    terms: LossTerms  # the loss, weights included
    rows: NDArray[np.int64] | None = None  # the rows that take part, ascending; None means all

    def places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find rows in the problem: return which of them it has, and their own numbers there."""
        if self.rows is None:
            return np.arange(len(rows)), rows
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        found = np.flatnonzero(self.rows[place] == rows)
        return found, place[found]


@dataclass(frozen=True)
class RowGroup:
    """Rows that take part in the same problems."""

    rows: NDArray[np.int64] | None  # None means all
    problems: NDArray[np.int64]  # numbers of the problems
    places: list[NDArray[np.int64] | slice]  # the group's rows in each problem's own numbering


def row_groups(problems: Sequence[SharedProblem], n_rows: int) -> list[RowGroup]:
    """Group the rows; the classes if the problems are pairs of classes."""
    if all(each.rows is None for each in problems):
        return [RowGroup(None, np.arange(len(problems)), [slice(None)] * len(problems))]
    # Rows with the same problems have the same sum of the problems' random numbers.
    key = np.zeros(n_rows, dtype=np.uint64)
    numbers = np.random.default_rng(0).integers(2**63, size=len(problems), dtype=np.uint64)
    for problem, number in zip(problems, numbers, strict=True):
        key[slice(None) if problem.rows is None else problem.rows] += number
    order = np.argsort(key, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    groups = []
    for rows in parts:
        among = [p for p, each in enumerate(problems) if len(each.places(rows[:1])[0])]
        if among:
            places: list[NDArray[np.int64] | slice] = [problems[p].places(rows)[1] for p in among]
            groups.append(RowGroup(rows, np.array(among), places))
    return groups
