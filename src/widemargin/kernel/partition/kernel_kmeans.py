r"""Two-step kernel k-means (DC-SVM): cluster a sample, then give every row its nearest centre.

Departures from the paper:

1. Centres start by k-means++ instead of at random, and in the sample no cluster may hold more
   than ``SLACK`` times its share: centres gather where rows are many, which balances the parts.
2. A radial kernel much narrower than the data is widened for clustering to the median distance of
   the sample; nearly all its values vanish otherwise, and one cluster swallows the rest (covtype,
   γ = 32: 28,098 of 40,000 rows in one of 64 clusters).
3. A part above ``LARGEST`` times the mean is split where its rows are; rows that coincide
   are dealt out. More clusters than a sample of ``LARGEST_SAMPLE`` rows shows come about in the
   same way: a few hundred are found first and then split.

Costs :math:`O(M m)` kernel values for a sample of m rows, and :math:`O(m^2)` memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from ...core.arrays import Array
from ...core.rows import as_rows
from ...engines import Engine
from ..kernels import Kernel
from ..samples import Part
from .division import (
    Divided,
    Drawn,
    NumberOfRows,
    draw,
    drawn_among,
    fetch,
    per_row,
    send,
    together,
)
from .nearest_group import NearestGroup, Numbers, group_sums, nearest_mean

# Largest cluster of the sample, as a multiple of the mean.
SLACK = 1.5
# Largest part of the rows, as a multiple of the mean.
LARGEST = 2.0
STEPS = 30
ROWS_PER_CLUSTER, LARGEST_SAMPLE = 8, 4096
# Rows that a piece of a cluster is found on: many while there is room for them, as every row to be
# sent meets all of them; few where pieces are thousands.
MOST_ROWS_PER_PIECE, FEWEST_ROWS_PER_PIECE, ROOM_FOR_PIECES = 32, 4, 1 << 14
# Rounds of splitting clusters that turned out too large.
ROUNDS = 4
ROWS_FOR_MEDIAN = 200


@dataclass(frozen=True)
class Clusters:
    """Divide by clusters found on ``n_sample`` rows; on support vectors once there are some."""

    n_sample: int = 500

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        if n_to == 1:
            return Divided(together(engine, parts), 1)
        size = min(max(self.n_sample, ROWS_PER_CLUSTER * n_to), LARGEST_SAMPLE)
        # Two rows for a cluster are the fewest that make a mean.
        first = n_to if 2 * n_to <= LARGEST_SAMPLE else LARGEST_SAMPLE // ROWS_PER_CLUSTER
        drawn, kernel, n_rows = draw(engine, parts, size, random, support=True)
        if drawn.rows.size < 2 * first or n_rows < 2 * n_to:
            raise ValueError(
                f"{n_to} clusters need a set of at least {2 * n_to} rows; got {n_rows}. Lower "
                "`levels` or `fan_in`."
            )
        router = cluster_rows(clustering_kernel(kernel, drawn), drawn, first, random, slack=SLACK)
        return _split_by(engine, parts, router, int(LARGEST * n_rows / n_to), random)


def _split_by(
    engine: Engine, parts: Any, router: NearestGroup, largest: int, random: np.random.Generator
) -> Divided:
    """Send rows to their nearest centre, with more centres where too many rows go."""
    threads = engine.share(1).threads
    group = per_row(engine, parts, partial(_assigned, router=router, threads=threads))
    for _ in range(ROUNDS):
        counts = np.bincount(group[group >= 0], minlength=router.n_groups)
        if counts.max() <= largest:
            break
        router = _split_groups(engine, parts, group, router, counts, largest, random)
        # Rows of other groups stay: new centres are far from them.
        lost = (group >= 0) & (counts > largest)[group]
        renumbered = (np.cumsum(counts <= largest) - 1)[group]
        group = np.where(lost | (group < 0), -1, renumbered).astype(np.int32)
        again = partial(_assigned, router=router, threads=threads, lost=lost)
        found = per_row(engine, parts, again)
        group[: found.size] = np.where(found >= 0, found, group[: found.size])
    counts = np.bincount(group[group >= 0], minlength=router.n_groups)
    # Part g is group g of the router; empty groups are dropped, and rows of a group that
    # no split could divide are dealt out over further parts, after those of the router.
    occupied = counts > 0
    target = np.where(group >= 0, (np.cumsum(occupied) - 1)[group], -1)
    dealt = np.ceil(counts[occupied] / largest).astype(np.int64)
    _deal_large_groups(engine, parts, target, dealt)
    divided = send(engine, parts, target, int(dealt.sum()))
    return Divided(divided, int(dealt.sum()), router.only(occupied))


def _assigned(
    part: Part, router: NearestGroup, threads: int, lost: NDArray[np.bool_] | None = None
) -> NumberOfRows:
    """Find the groups of a part's rows, or of those among them that have lost theirs."""
    rows = part.rows if lost is None else part.rows[lost[part.rows]]
    return rows, router.assign_samples(part.source, rows, threads).astype(np.int32)


def _deal_large_groups(engine: Engine, parts: Any, target: Numbers, dealt: Numbers) -> None:
    """Deal out rows of groups that are to be several parts, in place; of every label to each."""
    large = np.flatnonzero(dealt > 1)
    if large.size == 0:
        return
    further = dealt.size + np.cumsum(dealt - 1) - dealt
    positive = per_row(engine, parts, _positive)
    for group in large:
        here = np.flatnonzero(target == group)
        here = here[np.argsort(positive[here], kind="stable")]
        turn = np.arange(here.size) % dealt[group]
        target[here] = np.where(turn == 0, group, further[group] + turn)


def _positive(part: Part) -> NumberOfRows:
    return part.rows, (part.source.labels(part.rows) > 0).astype(np.int32)


def _split_groups(
    engine: Engine,
    parts: Any,
    group: NDArray[np.int32],
    router: NearestGroup,
    counts: Numbers,
    largest: int,
    random: np.random.Generator,
) -> NearestGroup:
    """Replace every group that is too large by several, found among its own rows.

    The rows of all groups are fetched at once.
    """
    large = np.flatnonzero(counts > largest)
    pieces = np.ceil(LARGEST * counts[large] / largest).astype(np.int64)
    room = max(FEWEST_ROWS_PER_PIECE, ROOM_FOR_PIECES // int(pieces.sum()))
    sizes = np.minimum(min(MOST_ROWS_PER_PIECE, room) * pieces, LARGEST_SAMPLE)
    chosen = [
        drawn_among(np.flatnonzero(group == number), int(size), random)
        for number, size in zip(large, sizes, strict=True)
    ]
    drawn, _ = fetch(engine, parts, np.sort(np.concatenate(chosen)))
    new = [
        cluster_rows(router.kernel, drawn.only(rows), int(number), random, slack=SLACK)
        for rows, number in zip(chosen, pieces, strict=True)
    ]
    kept = np.ones(router.n_groups, dtype=np.bool_)
    kept[large] = False
    return router.only(kept).joined(new)


def clustering_kernel(kernel: Kernel, drawn: Drawn) -> Kernel:
    """Return the kernel to cluster with: no constant, and not much narrower than the data."""
    kernel = replace(kernel, constant=0.0)
    if kernel.name not in ("rbf", "laplacian"):
        return kernel
    rows = drawn.X[:: max(1, drawn.rows.size // ROWS_FOR_MEDIAN)]
    metric = "sqeuclidean" if kernel.name == "rbf" else "manhattan"
    if sp.issparse(rows) and metric == "sqeuclidean":
        distances = pairwise_distances(rows, metric="euclidean") ** 2
    else:
        distances = pairwise_distances(rows, metric=metric)
    median = float(np.median(distances[np.triu_indices(rows.shape[0], 1)]))
    return replace(kernel, gamma=min(kernel.gamma, 1.0 / median)) if median > 0 else kernel


def cluster_rows(
    kernel: Kernel,
    drawn: Drawn,
    n_clusters: int,
    random: np.random.Generator,
    *,
    slack: float | None = None,
) -> NearestGroup:
    """Cluster a sample by Lloyd's steps in the kernel's space; fewer clusters if rows coincide."""
    if kernel.name == "precomputed":
        gram = np.asarray(drawn.X, dtype=np.float64)
    else:
        rows = as_rows(drawn.X)
        gram = kernel.block(rows, rows).astype(np.float64)
    seeds = _spread(gram, n_clusters, random)
    group = _assignment(2.0 * gram[:, seeds] - gram.diagonal()[seeds], slack)
    for _ in range(STEPS):
        moved = _assignment(_scores(gram, group), slack)
        if np.array_equal(moved, group):
            break
        group = moved
    basis = None if kernel.name == "precomputed" else drawn.X
    return nearest_mean(kernel, basis, drawn.rows, group, gram)


def _spread(gram: Array, n_clusters: int, random: np.random.Generator) -> Numbers:
    """Choose rows far from each other by chance, as k-means++ does."""
    diagonal = gram.diagonal()
    seeds = [int(random.integers(len(gram)))]
    distance = np.full(len(gram), np.inf)
    while len(seeds) < n_clusters:
        last = seeds[-1]
        apart = np.maximum(diagonal + diagonal[last] - 2.0 * gram[last], 0.0)
        distance = np.minimum(distance, apart)
        distance[seeds] = 0.0
        chance = np.cumsum(distance)
        if not chance[-1] > 1e-12 * np.abs(diagonal).max():
            break  # every row left coincides with a seed
        seeds.append(int(np.searchsorted(chance, random.random() * chance[-1], side="right")))
    return np.array(seeds, dtype=np.int64)


def _scores(gram: Array, group: Numbers) -> Array:
    """Score every row with the mean of every cluster, as in :class:`NearestGroup`."""
    sums, within, counts = group_sums(gram, group)
    return np.asarray((2.0 / counts * sums.T) - within / counts**2.0)


def _assignment(scores: Array, slack: float | None) -> Numbers:
    """Give each row its best cluster, or the best one with room; number the clusters in use."""
    group = np.argmax(scores, axis=1)
    n_rows, n_groups = scores.shape
    if slack is not None:
        share = int(np.ceil(slack * n_rows / n_groups))
        if np.bincount(group, minlength=n_groups).max() > share:
            best, room = group.tolist(), [share] * n_groups  # lists: one entry at a time
            for row in np.argsort(-scores.max(axis=1), kind="stable").tolist():  # the surest first
                if room[best[row]] == 0:
                    choices = np.argsort(-scores[row], kind="stable").tolist()
                    best[row] = next(choice for choice in choices if room[choice] > 0)
                room[best[row]] -= 1
            group = np.array(best)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)
