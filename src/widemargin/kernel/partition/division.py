"""The form of all divisions, and the samples of rows that they look at.

A division looks at rows by their numbers in the whole training set, and not by where they lie: the
same rows make the same parts, from one part that holds them all or from many on a cluster. Rows
stay where they are until they are sent to their new part, and so does what is known of each; here
come samples and counts.
"""

from __future__ import annotations

import operator
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

# From so many parts on, rows are counted before some of them are drawn.
MANY_PARTS = 64

Numbers = NDArray[np.int64]
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


def together(engine: Engine, parts: Any) -> Any:
    """Put all rows into one part."""
    return engine.regroup(parts, _to_the_first, join, 1)


def _to_the_first(number: int, part: Part) -> list[tuple[int, Part]]:
    return [(0, part)]


@dataclass(frozen=True)
class Drawn:
    """Rows drawn at random from all parts, in ascending order."""

    rows: Numbers  # (n_drawn,): row numbers in the whole training set
    X: Any  # the rows; the kernel matrix among them when the kernel is precomputed
    pairwise: bool = False  # whether it is the kernel matrix


class Tally(NamedTuple):
    """Rows counted, and those of the smallest keys: of all rows, and of those with a dual."""

    n_rows: int
    every: Lowest
    support: Lowest


def draw(
    engine: Engine, parts: Any, n_from: int, size: int, random: np.random.Generator
) -> tuple[Drawn, Kernel]:
    """Draw rows without replacement, wherever they lie, and bring them and the kernel here."""
    rows, _ = draw_numbers(engine, parts, n_from, size, random)
    return fetch(engine, parts, rows)


def draw_numbers(
    engine: Engine,
    parts: Any,
    n_from: int,
    size: int,
    random: np.random.Generator,
    *,
    support: bool = False,
    or_fewer: bool = False,
) -> tuple[Numbers, int]:
    """Draw numbers of rows without replacement, in ascending order; count all rows, too.

    Every row has a key by chance, and the smallest keys win; so the draw does not depend on how
    rows are spread over parts.

    Parameters
    ----------
    engine, parts, n_from
        The rows to draw from, and the number of parts.
    size : int
        Rows to draw, or all if there are fewer.
    random : Generator
        Chance.
    support : bool
        Whether to draw among rows with a dual, if these are enough.
    or_fewer : bool
        Whether any number of rows with a dual is enough.
    """
    seed = int(random.integers(2**31))
    shares = (1.0, 1.0)
    if n_from > MANY_PARTS:  # each of them would offer as many rows as are wanted
        counts = engine.reduce(parts, _sizes, np.add)
        shares = share_for(size, int(counts[0])), share_for(size, int(counts[1]))
    tally = engine.reduce(parts, partial(_tally, size, seed, shares), partial(_tallied, size))
    n_support = tally.support[1].size
    enough = n_support == size or (or_fewer and n_support > 0)
    found = tally.support if support and enough else tally.every
    return np.sort(found[1]), tally.n_rows


def drawn_among(rows: Numbers, size: int, random: np.random.Generator) -> Numbers:
    """Draw up to ``size`` of some rows' numbers, in the same way; they come in ascending order."""
    return np.sort(lowest(rows, size, int(random.integers(2**31)))[1])


def _sizes(part: Part) -> Numbers:
    return np.array([part.n_rows, np.count_nonzero(part.net_dual)])


def share_for(size: int, of: int) -> float:
    """Return the share of rows, those of the smallest keys, that surely has so many of them."""
    return min(1.0, (2.0 * size + 64.0) / max(1, of))


def below(rows: Numbers, share: float | NDArray[np.float64], seed: int) -> NDArray[np.bool_]:
    """Return which rows are among a share of those with the smallest keys."""
    # 53 bits of a key are a number below 1 that float64 tells apart.
    place = (row_keys(rows, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.asarray(place < share)


def _tally(size: int, seed: int, shares: tuple[float, float], part: Part) -> Tally:
    offered = []
    for rows, share in zip((part.rows, part.rows[part.net_dual != 0]), shares, strict=True):
        some = rows if share == 1.0 else rows[below(rows, share, seed)]
        offered.append(lowest(some, size, seed))
    return Tally(part.n_rows, *offered)


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


def drawn_in(part: Part, rows: Numbers) -> Drawn:
    """Take some rows of a part, where it is."""
    source = part.source
    X = source.values(rows, rows) if source.pairwise else source.take(rows).X
    return Drawn(rows, X, source.pairwise)


def _rows_among(wanted: Numbers, part: Part) -> list[tuple[Numbers, Any, Kernel]]:
    source = part.source
    own = part.rows[np.isin(part.rows, wanted)]
    return [(own, None if source.pairwise else source.take(own).X, source.kernel)]


def _values_among(part: Part, rows: Any) -> Any:
    return part.source.values(rows, rows)


def row_keys(rows: Numbers, seed: int) -> NDArray[np.uint64]:
    """Scramble row numbers: equal seeds, equal keys."""
    return scrambled(rows.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64))
