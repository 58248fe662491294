"""The form of all divisions, and what they share: samples of rows, dealing strata out.

A division looks at rows by their numbers in the whole training set, and not by where they lie: the
same rows make the same parts, from one part that holds them all or from many on a cluster. What
decides is a few bytes per row, which come here; rows stay where they are until they are sent to
their new part.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.random_draws import scrambled
from ...engines import Engine
from ..kernels import Kernel
from ..samples import Part, join
from .nearest_group import NearestGroup

Numbers = NDArray[np.int64]
NumberOfRows = tuple[Numbers, NDArray[np.int32]]
Lowest = tuple[NDArray[np.uint64], Numbers]  # keys and the rows that have them


class Divided(NamedTuple):
    """New parts, and how unseen rows find theirs if parts are clusters.

    Attributes
    ----------
    parts : the engine's parts
        In the order of their numbers.
    n_parts : int
        Number of parts; clusters may be more than were requested.
    router : NearestGroup or None
        Finds the cluster of a row.
    """

    parts: Any
    n_parts: int
    router: NearestGroup | None = None


class Division(Protocol):
    """Turns some parts into others."""

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide ``n_from`` parts into ``n_to`` others."""
        ...


def deal(
    strata: NDArray[Any], label: NDArray[Any], n_parts: int, random: np.random.Generator
) -> Numbers:
    """Deal every stratum out over the parts, by label within the stratum.

    Rows are ordered by stratum, label and chance, then dealt out in turns. So parts differ by at
    most one row in size, in each stratum, and in each label of each stratum.
    """
    order = np.lexsort((random.random(strata.size), label, strata))
    target = np.empty(strata.size, dtype=np.int64)
    target[order] = np.arange(strata.size) % n_parts
    return target


def deal_out(
    engine: Engine,
    parts: Any,
    n_to: int,
    strata_of: Callable[[Part], Numbers],
    random: np.random.Generator,
) -> Divided:
    """Divide parts by dealing out the strata that ``strata_of(part)`` returns."""
    seed = int(random.integers(2**31))
    cell = per_row(engine, parts, partial(_cell, strata_of))
    target = deal(cell // 2, cell % 2, n_to, np.random.default_rng([seed, 0]))
    return Divided(send(engine, parts, target, n_to), n_to)


def _cell(strata_of: Callable[[Part], Numbers], part: Part) -> NumberOfRows:
    """Give every stratum and label a number."""
    positive = part.source.labels(part.rows) > 0
    return part.rows, (2 * strata_of(part) + positive).astype(np.int32)


def per_row(engine: Engine, parts: Any, fn: Callable[[Any], NumberOfRows]) -> NDArray[np.int32]:
    """Bring a number of every row here, in the order of the rows' numbers.

    ``fn`` gives them for a part's rows or for some of these, as (rows, numbers); rows it leaves
    out have −1.
    """
    answers = engine.reduce(parts, lambda part: [fn(part)], operator.add)
    out = np.full(max(int(rows.max(initial=-1)) for rows, _ in answers) + 1, -1, dtype=np.int32)
    for rows, values in answers:
        out[rows] = values
    return out


def send(engine: Engine, parts: Any, target: NDArray[Any], n_to: int) -> Any:
    """Send every row to its new part: ``target`` is by the rows' numbers."""
    return engine.regroup(parts, partial(_addressed, target.astype(np.int32)), join, n_to)


def together(engine: Engine, parts: Any) -> Any:
    """Put all rows into one part."""
    return engine.regroup(parts, _to_the_first, join, 1)


def _to_the_first(number: int, part: Part) -> list[tuple[int, Part]]:
    return [(0, part)]


def _addressed(target: NDArray[np.int32], number: int, part: Part) -> list[tuple[int, Part]]:
    return part.pieces(target[part.rows].astype(np.int64))


@dataclass(frozen=True)
class Drawn:
    """Rows drawn at random from all parts, in ascending order."""

    rows: Numbers  # (n_drawn,): row numbers in the whole training set
    X: Any  # the rows; the kernel matrix among them when the kernel is precomputed
    pairwise: bool = False  # whether it is the kernel matrix

    def only(self, rows: Numbers) -> Drawn:
        """Return some of them, by their numbers in ascending order."""
        which = np.searchsorted(self.rows, rows)
        X = self.X[np.ix_(which, which)] if self.pairwise else self.X[which]
        return Drawn(rows, X, self.pairwise)


class Tally(NamedTuple):
    """Rows counted, and those of the smallest keys: of all rows, and of those with a dual."""

    n_rows: int
    every: Lowest
    support: Lowest


def draw(
    engine: Engine,
    parts: Any,
    size: int,
    random: np.random.Generator,
    *,
    support: bool = False,
) -> tuple[Drawn, Kernel, int]:
    """Draw rows without replacement, wherever they lie; return the kernel and count all rows, too.

    Every row has a key by chance, and the smallest keys win; so the draw does not depend on how
    rows are spread over parts. Keys come here first, then the rows that won.

    Parameters
    ----------
    engine, parts
        The rows to draw from.
    size : int
        Rows to draw, or all if there are fewer.
    random : Generator
        Chance.
    support : bool
        Whether to draw among rows with a dual, if these are enough.
    """
    seed = int(random.integers(2**31))
    tally = engine.reduce(parts, partial(_tally, size, seed), partial(_tallied, size))
    found = tally.support if support and tally.support[1].size == size else tally.every
    return *fetch(engine, parts, np.sort(found[1])), tally.n_rows


def drawn_among(rows: Numbers, size: int, random: np.random.Generator) -> Numbers:
    """Draw up to ``size`` of some rows' numbers, in the same way; they come in ascending order."""
    return np.sort(lowest(rows, size, int(random.integers(2**31)))[1])


def _tally(size: int, seed: int, part: Part) -> Tally:
    support = part.rows[part.net_dual != 0]
    return Tally(part.n_rows, lowest(part.rows, size, seed), lowest(support, size, seed))


def _tallied(size: int, a: Tally, b: Tally) -> Tally:
    return Tally(
        a.n_rows + b.n_rows, _merged(size, a.every, b.every), _merged(size, a.support, b.support)
    )


def lowest(rows: Numbers, size: int, seed: int) -> Lowest:
    """Return the smallest keys of some rows, and the rows that have them."""
    keys = row_keys(rows, seed)
    if rows.size > size:
        chosen = np.argpartition(keys, size)[:size]
        rows, keys = rows[chosen], keys[chosen]
    return keys, rows


def _merged(size: int, a: Lowest, b: Lowest) -> Lowest:
    keys, rows = np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])
    chosen = np.argsort(keys)[:size]
    return keys[chosen], rows[chosen]


def fetch(engine: Engine, parts: Any, rows: Numbers) -> tuple[Drawn, Kernel]:
    """Bring some rows and the kernel here, given the rows' numbers in ascending order."""
    found = engine.reduce(parts, partial(_rows_among, rows), operator.add)
    kernel: Kernel = found[0][2]
    if kernel.name == "precomputed":  # values among the rows, which may lie in several parts
        X = engine.visit(parts, 0, _values_among, rows)
        return Drawn(rows, X, pairwise=True), kernel
    blocks = [X for _, X, _ in found]
    stack = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    order = np.argsort(np.concatenate([numbers for numbers, _, _ in found]))
    return Drawn(rows, stack[order]), kernel


def _rows_among(wanted: Numbers, part: Part) -> list[tuple[Numbers, Any, Kernel]]:
    source = part.source
    own = part.rows[np.isin(part.rows, wanted)]
    return [(own, None if source.pairwise else source.take(own).X, source.kernel)]


def _values_among(part: Part, rows: Any) -> Any:
    return part.source.values(rows, rows)


def row_keys(rows: Numbers, seed: int) -> NDArray[np.uint64]:
    """Scramble row numbers: equal seeds, equal keys."""
    return scrambled(rows.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64))
