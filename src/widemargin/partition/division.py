"""What all divisions share: their form, samples of rows, and dealing strata out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..engines import Engine
from ..losses import Array
from ..samples import Part, join
from .nearest_group import NearestGroup

Numbers = NDArray[np.int64]


class Divided(NamedTuple):
    """New parts, and how unseen rows find theirs if parts are clusters.

    Attributes
    ----------
    parts : the engine's parts
        In the order of their numbers.
    n_parts : int
        How many there are; clusters may be more than were asked for.
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
        """Divide ``n_from`` parts anew into ``n_to``."""
        ...


def deal(
    strata: Numbers, label: Array, n_parts: int, random: np.random.Generator, first: int = 0
) -> Numbers:
    """Deal every stratum out over the parts, by label within the stratum.

    Rows are ordered by stratum, label and chance, then dealt out in turns, to part ``first`` first.
    So parts differ by at most one row in size, in each stratum, and in each label of each stratum.
    """
    order = np.lexsort((random.random(strata.size), label, strata))
    target = np.empty(strata.size, dtype=np.int64)
    target[order] = (first + np.arange(strata.size)) % n_parts
    return target


def deal_out(
    engine: Engine, parts: Any, n_to: int, strata_of: Any, random: np.random.Generator
) -> Divided:
    """Divide parts by dealing out the strata that ``strata_of(part)`` tells.

    Each part goes on dealing where the one before it ended, so that the new parts are even.
    """
    seed = int(random.integers(2**31))
    sizes = engine.reduce(parts, lambda part: [part.n_rows], lambda a, b: a + b)
    dealt_before = np.cumsum([0, *sizes])

    def split(number: int, part: Part) -> list[tuple[int, Part]]:
        chance = np.random.default_rng([seed, number])
        label, first = part.source.labels(part.rows), int(dealt_before[number])
        return part.pieces(deal(strata_of(part), label, n_to, chance, first))

    return Divided(engine.regroup(parts, split, join, n_to), n_to)


@dataclass(frozen=True)
class Drawn:
    """Rows drawn at random from all parts, in ascending order.

    Attributes
    ----------
    rows : array of shape (n_drawn,)
        Row numbers in the whole training set.
    X : array or CSR matrix
        The rows; the kernel matrix among them when the kernel is precomputed.
    """

    rows: Numbers
    X: Any


def draw(
    engine: Engine,
    parts: Any,
    size: int,
    random: np.random.Generator,
    *,
    support_only: bool = False,
) -> Drawn:
    """Draw up to ``size`` rows without replacement, wherever they lie.

    Every row has a key by chance, and the smallest keys win; so the draw does not depend on how
    rows are spread over parts, and each part sends no more than ``size`` rows.
    """
    seed = int(random.integers(2**31))
    take = partial(_smallest_keys, size=size, seed=seed, support_only=support_only)
    _, rows, X = engine.reduce(parts, take, partial(_merge_keys, size=size))
    order = np.argsort(rows)
    rows = rows[order]
    if X is None:  # precomputed: values among the rows drawn, which may lie in several parts
        X = engine.visit(parts, 0, lambda part, drawn: part.source.values(drawn, drawn), rows)
        return Drawn(rows, X)
    return Drawn(rows, X[order])


def _smallest_keys(part: Part, size: int, seed: int, support_only: bool) -> Any:
    rows = part.rows[part.net_dual != 0] if support_only else part.rows
    keys = _key(rows, seed)
    if rows.size > size:
        chosen = np.sort(np.argpartition(keys, size)[:size])
        rows, keys = rows[chosen], keys[chosen]
    return keys, rows, None if part.source.pairwise else part.source.take(rows).X


def _merge_keys(a: Any, b: Any, size: int) -> Any:
    keys, rows = np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])
    chosen = np.argsort(keys)[:size]
    if a[2] is None:
        return keys[chosen], rows[chosen], None
    stack = sp.vstack([a[2], b[2]], format="csr") if sp.issparse(a[2]) else np.vstack([a[2], b[2]])
    return keys[chosen], rows[chosen], stack[chosen]


def _key(rows: Numbers, seed: int) -> NDArray[np.uint64]:
    """Scramble row numbers (the finaliser of SplitMix64): equal seeds, equal keys."""
    x = rows.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
