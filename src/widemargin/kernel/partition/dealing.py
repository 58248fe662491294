"""Deal strata out over parts, so that every part looks like the whole.

Rows are ordered by stratum, label and chance, then dealt out in turns. So parts differ by at most
one row in size, in each stratum, and in each label of each stratum; the papers deal strata out
without looking at labels, as ``by_label=False`` does. A row's turn follows from how many rows of
its stratum and label come before it, which counts of the parts before tell, and from a shuffle of
these numbers that needs no list of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.random_draws import shuffled
from ...engines import Engine
from ..samples import Part, join
from .division import Divided
from .nearest_group import Numbers

StrataOf = Callable[[Part], Numbers]


def deal(
    strata: NDArray[Any], label: NDArray[Any] | None, n_parts: int, random: np.random.Generator
) -> Numbers:
    """Return the part of every row, given all strata and labels; without labels, by strata only."""
    cell = strata if label is None else 2 * strata + (label > 0)
    counts = np.bincount(cell, minlength=1)
    return _dealt(cell, counts, 0 * counts, n_parts, int(random.integers(2**31)))


def deal_out(
    engine: Engine,
    parts: Any,
    n_to: int,
    strata_of: StrataOf,
    random: np.random.Generator,
    *,
    by_label: bool = True,
) -> Divided:
    """Divide parts by dealing out the strata that ``strata_of(part)`` returns."""
    seed = int(random.integers(2**31))
    cells = _Cells(strata_of, by_label)
    found = engine.reduce(parts, partial(_counted, cells), operator.add)
    counts = np.zeros((len(found), max(each.size for each in found)), dtype=np.int64)
    for number, each in enumerate(found):
        counts[number, : each.size] = each
    split = _Turns(cells, counts.sum(axis=0), np.cumsum(counts, axis=0) - counts, n_to, seed)
    return Divided(engine.regroup(parts, split, join, n_to), n_to)


def _counted(cells: _Cells, part: Part) -> list[Numbers]:
    return [np.bincount(cells(part), minlength=1).astype(np.int64)]


@dataclass(frozen=True)
class _Cells:
    """Gives every stratum, or every stratum and label, a number."""

    strata_of: StrataOf
    by_label: bool

    def __call__(self, part: Part) -> Numbers:
        strata = self.strata_of(part)
        return 2 * strata + (part.source.labels(part.rows) > 0) if self.by_label else strata


@dataclass(frozen=True)
class _Turns:
    """Sends rows to the part whose turn it is."""

    cells: _Cells
    total: Numbers  # rows of every cell
    before: Numbers  # those in the parts before a part
    n_parts: int
    seed: int

    def __call__(self, number: int, part: Part) -> list[tuple[int, Part]]:
        cell = self.cells(part)
        return part.pieces(_dealt(cell, self.total, self.before[number], self.n_parts, self.seed))


def _dealt(cell: Numbers, total: Numbers, before: Numbers, n_parts: int, seed: int) -> Numbers:
    start = np.cumsum(total) - total
    turn = np.empty(cell.size, dtype=np.int64)
    order = np.argsort(cell, kind="stable")
    for here in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
        if here.size:
            own = cell[here[0]]
            place = before[own] + np.arange(here.size)
            turn[here] = start[own] + shuffled(place, int(total[own]), [seed, int(own)])
    return turn % n_parts
