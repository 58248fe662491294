r"""Kernel k-means on a sample of rows, by Lloyd's steps in the kernel's space.

Departures from DC-SVM:

1. Centres start by k-means++ instead of at random, and no cluster of the sample may hold more than
   ``slack`` times its share: centres gather where rows are many, which balances the parts.
2. A radial kernel much narrower than the data is widened for clustering to the median distance of
   the sample; nearly all its values vanish otherwise, and one cluster swallows the rest (covtype,
   γ = 32: 28,098 of 40,000 rows in one of 64 clusters).

With ``printed`` neither is done: rows of the sample begin in clusters drawn at random, and Lloyd's
steps go on until none moves. The paper says "random initialization" and no more; kernel k-means
keeps its centres as the rows assigned to them, so it is these that are random.

A sample of m rows costs :math:`O(m^2)` kernel values and memory.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from ...core.arrays import Array
from ...core.rows import as_rows
from ..kernels import Kernel
from .division import Drawn
from .nearest_group import NearestGroup, Numbers, group_sums, nearest_mean

STEPS = 30
# Steps as printed: until no row moves. The limit is for rounding, which may let rows move for ever.
PRINTED_STEPS = 1000
ROWS_FOR_MEDIAN = 200


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
    printed: bool = False,
) -> NearestGroup:
    """Cluster a sample by Lloyd's steps in the kernel's space.

    There are fewer clusters if rows coincide or, as printed, if a cluster loses all its rows.
    """
    if kernel.name == "precomputed":
        gram = np.asarray(drawn.X, dtype=np.float64)
    else:
        rows = as_rows(drawn.X)
        gram = kernel.block(rows, rows).astype(np.float64, copy=False)
    if printed:
        group = _numbered(random.integers(n_clusters, size=len(gram)))
    else:
        seeds = _spread(gram, n_clusters, random)
        group = _assignment(2.0 * gram[:, seeds] - gram.diagonal()[seeds], slack)
    for _ in range(PRINTED_STEPS if printed else STEPS):
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
    return _numbered(group)


def _numbered(group: Numbers) -> Numbers:
    """Return the same groups, numbered without gaps."""
    return np.unique(group, return_inverse=True)[1].astype(np.int64)
