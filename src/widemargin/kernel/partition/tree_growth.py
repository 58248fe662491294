"""Grow a tree of clusters until none is too large, where the rows are.

At most ``MOST_CLUSTERS`` are found on one sample. More are a tree: a few are found first, and each
is split by clusters of its own rows. So is a cluster above ``LARGEST`` times the mean; rows that
coincide are dealt out.

Every step is bounded, whatever the number of rows: clusters are counted, those above their share
are split by clusters of a sample of their own rows, and rows go to their part. Rows, samples and
the work on them stay with the engine's parts; here come the counts and the tree, which grow with
the number of clusters.

Where a row is in the tree is a function of the row. The process that looked remembers it, four
bytes a row, so that the next step begins there; a process that has not looked begins at the root.
"""

from __future__ import annotations

import math
import operator
import uuid
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines import Engine
from ..samples import Part, join
from .cluster_tree import NO_NODE, ClusterTree
from .division import Divided, below, drawn_in, lowest, share_for
from .kernel_kmeans import cluster_rows
from .nearest_group import NearestGroup, Numbers

# Clusters that are found on one sample, its rows for each of them, and in all.
MOST_CLUSTERS, ROWS_PER_CLUSTER, LARGEST_SAMPLE = 1024, 8, 4096
# Largest cluster of a sample, as a multiple of the mean.
SLACK = 1.5
# Largest part of the rows, as a multiple of the mean.
LARGEST = 2.0
# Rows that a piece of a cluster is found on: many while there is room for them, few where pieces
# are thousands, because the tree goes to every task and is part of the model.
MOST_ROWS_PER_PIECE, FEWEST_ROWS_PER_PIECE, ROOM_FOR_PIECES = 32, 4, 1 << 14
# Rounds of splitting clusters that turned out too large, after those that were planned.
ROUNDS = 4
# Counts that parts send here; where these are more, they are added up in ranges before.
MOST_COUNTS, RANGES = 1 << 20, 64
# Divisions that a process remembers its rows' places of.
MOST_REMEMBERED = 4

_remembered: dict[str, dict[int, NDArray[np.int32]]] = {}


def levels_of(n_clusters: int) -> int:
    """Return the levels of nodes that so many clusters need."""
    levels = 1
    while MOST_CLUSTERS**levels < n_clusters:
        levels += 1
    return levels


def found_at_once(n_clusters: int) -> int:
    """Return the clusters of a node that leads to so many: as many on every level."""
    root: float = n_clusters ** (1.0 / levels_of(n_clusters))
    return math.ceil(root - 1e-9)


def grown(
    engine: Engine,
    parts: Any,
    n_from: int,
    root: NearestGroup,
    n_to: int,
    n_rows: int,
    random: np.random.Generator,
    *,
    largest: int | None = None,
) -> Divided:
    """Divide parts by the clusters of a root and by further ones, about ``n_to`` in all.

    ``largest`` limits the rows of a part; None is ``LARGEST`` times the mean.
    """
    seed = int(random.integers(2**31))
    largest = int(LARGEST * n_rows / n_to) if largest is None else largest
    places = Places(uuid.uuid4().hex, ClusterTree.of(root), engine.share(1).threads)
    try:
        counts = places.counts(engine, parts, n_from)
        for step in range(levels_of(n_to) - 1 + ROUNDS):
            if counts.max() <= largest:
                break
            split = _Splits.of(counts, largest, n_to / n_rows, (seed, step))
            places = _with_nodes(engine, parts, places, split)
            counts = places.counts(engine, parts, n_from)
        return _sent(engine, parts, places, counts, largest)
    finally:
        _remembered.pop(places.token, None)  # in this process; others are bounded


@dataclass(frozen=True)
class Places:
    """Where rows are in a tree."""

    token: str  # of the division, for what processes remember
    tree: ClusterTree
    threads: int

    def leaves(self, part: Part) -> Numbers:
        """Return the number of the leaf of every row of a part."""
        return self.tree.leaf_number[self._positions(part)]

    def counts(self, engine: Engine, parts: Any, n_from: int) -> Numbers:
        """Count the rows of every leaf."""
        n_leaves = self.tree.n_groups
        if n_from * n_leaves <= MOST_COUNTS:
            return engine.reduce(parts, self._counted, operator.add)
        # Added up where the parts are, a range of leaves at a time.
        bounds = np.linspace(0, n_leaves, min(n_leaves, RANGES) + 1).astype(np.int64)
        split = partial(self._counted_ranges, bounds)
        ranges = engine.regroup(parts, split, sum, len(bounds) - 1)
        found = engine.reduce(ranges, lambda counts: [counts], operator.add)
        engine.release(ranges)
        return np.concatenate(found)

    def _counted(self, part: Part) -> Numbers:
        return np.bincount(self.leaves(part), minlength=self.tree.n_groups).astype(np.int64)

    def _counted_ranges(
        self, bounds: Numbers, number: int, part: Part
    ) -> list[tuple[int, Numbers]]:
        return list(enumerate(np.split(self._counted(part), bounds[1:-1])))

    def _positions(self, part: Part) -> Numbers:
        tree, rows = self.tree, part.rows
        if rows.size == 0:
            return np.zeros(0, dtype=np.int64)
        known = _memory_of(self.token)
        at = known.get(int(rows[0]))
        if at is None or at.size != rows.size or at.max() >= tree.child.size:
            # Nothing is known, or a later tree has been here: a task is run again.
            found = tree.positions_of(part.source, rows, None, self.threads)
        else:
            found = at.astype(np.int64)
            lost = np.flatnonzero(tree.child[found] != NO_NODE)
            if lost.size:
                found[lost] = tree.positions_of(part.source, rows[lost], found[lost], self.threads)
        known[int(rows[0])] = found.astype(np.int32)
        return found


def _memory_of(token: str) -> dict[int, NDArray[np.int32]]:
    if token not in _remembered:
        while len(_remembered) >= MOST_REMEMBERED:
            _remembered.pop(next(iter(_remembered)), None)
        _remembered[token] = {}
    return _remembered[token]


@dataclass(frozen=True)
class _Splits:
    """Leaves to split, and the samples that their pieces are found on."""

    leaves: Numbers  # ascending
    pieces: Numbers  # of each
    sizes: Numbers  # rows of its sample
    shares: NDArray[np.float64]  # share of its rows that is looked at
    seed: tuple[int, int]

    @classmethod
    def of(cls, counts: Numbers, largest: int, per_row: float, seed: tuple[int, int]) -> _Splits:
        leaves = np.flatnonzero(counts > largest)
        wanted = np.ceil(per_row * counts[leaves]).astype(np.int64)
        pieces = np.array([found_at_once(max(2, int(each))) for each in wanted])
        room = max(FEWEST_ROWS_PER_PIECE, ROOM_FOR_PIECES // int(pieces.sum()))
        sizes = np.minimum(
            min(MOST_ROWS_PER_PIECE, room) * pieces, ROWS_PER_CLUSTER * MOST_CLUSTERS
        )
        of = zip(sizes, counts[leaves], strict=True)
        shares = np.array([share_for(int(size), int(count)) for size, count in of])
        return cls(leaves, pieces, sizes, shares, seed)

    @property
    def chance(self) -> int:
        """Seed of the rows' keys."""
        return int(np.random.default_rng(self.seed).integers(2**31))

    def sampled(self, places: Places, number: int, part: Part) -> list[tuple[int, Part]]:
        """Address rows with small keys to the leaf they may stand for."""
        leaf = places.leaves(part)
        which = np.minimum(np.searchsorted(self.leaves, leaf), self.leaves.size - 1)
        chosen = self.leaves[which] == leaf
        chosen &= below(part.rows, self.shares[which], self.chance)
        return part.keep(chosen).pieces(which[chosen])

    def node(self, places: Places, part: Part) -> list[tuple[int, NearestGroup]]:
        """Cluster the sample of a leaf: its position among those to split, and its groups."""
        tree = places.tree
        leaf = int(tree.assign_samples(part.source, part.rows[:1])[0])
        k = int(np.searchsorted(self.leaves, leaf))
        rows = np.sort(lowest(part.rows, int(self.sizes[k]), self.chance)[1])
        drawn, random = drawn_in(part, rows), np.random.default_rng([*self.seed, leaf])
        return [(k, cluster_rows(tree.kernel, drawn, int(self.pieces[k]), random, slack=SLACK))]


def _with_nodes(engine: Engine, parts: Any, places: Places, splits: _Splits) -> Places:
    """Split leaves by clusters of samples, which never leave the engine."""
    n_leaves = int(splits.leaves.size)
    samples = engine.regroup(parts, partial(splits.sampled, places), join, n_leaves)
    found = engine.reduce(samples, partial(splits.node, places), operator.add)
    engine.release(samples)
    # Rows that coincide make one group, which would divide nothing.
    nodes = {k: node for k, node in found if node.n_groups > 1}
    which = np.array(sorted(nodes), dtype=np.int64)
    tree = places.tree.split(splits.leaves[which], [nodes[k] for k in which])
    return replace(places, tree=tree)


def _sent(engine: Engine, parts: Any, places: Places, counts: Numbers, largest: int) -> Divided:
    """Send rows to the part of their leaf.

    Part g is leaf g of the router; empty leaves are dropped, and rows of a leaf that no split could
    divide are dealt out over further parts, after those of the router.
    """
    occupied = counts > 0
    dealt = np.ceil(counts[occupied] / largest).astype(np.int64)
    addresses = _Addresses(places, np.cumsum(occupied) - 1, dealt)
    if dealt.max() > 1:
        before = engine.reduce(parts, addresses.counted, operator.add)
        addresses = replace(addresses, counts=np.array(before))
    n_parts = int(dealt.sum())
    divided = engine.regroup(parts, addresses, join, n_parts)
    return Divided(divided, n_parts, places.tree.only(occupied))


@dataclass(frozen=True)
class _Addresses:
    """The new part of every row."""

    places: Places
    part_of_leaf: Numbers
    dealt: Numbers  # parts that every leaf with rows becomes
    counts: Numbers | None = None  # rows of leaves to deal out: (parts, leaves, labels)

    def __call__(self, number: int, part: Part) -> list[tuple[int, Part]]:
        target = self.part_of_leaf[self.places.leaves(part)]
        if self.counts is not None:
            self._deal(number, part, target)
        return part.pieces(target)

    def counted(self, part: Part) -> list[Numbers]:
        """Count a part's rows of leaves to deal out, by label."""
        target = self.part_of_leaf[self.places.leaves(part)]
        positive = part.source.labels(part.rows) > 0
        cell = 2 * target + positive
        counts = np.bincount(cell, minlength=2 * self.dealt.size).reshape(-1, 2)
        return [counts[self.dealt > 1].astype(np.int64)]

    def _deal(self, number: int, part: Part, target: Numbers) -> None:
        """Deal out rows in turns, of every label to each part; in the order of the old parts."""
        assert self.counts is not None
        further = self.dealt.size + np.cumsum(self.dealt - 1) - self.dealt
        label = (part.source.labels(part.rows) > 0).astype(np.int64)
        before = self.counts[:number].sum(axis=0)
        before[:, 1] += self.counts[:, :, 0].sum(axis=0)  # those of the other label come first
        for k, group in enumerate(np.flatnonzero(self.dealt > 1)):
            for value in (0, 1):
                here = np.flatnonzero((target == group) & (label == value))
                turn = (before[k, value] + np.arange(here.size)) % self.dealt[group]
                # Dealt rows get numbers of further parts, which no later group has.
                target[here] = np.where(turn == 0, group, further[group] + turn)
