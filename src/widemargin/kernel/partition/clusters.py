r"""Clusters as parts (DC-SVM): cluster a sample, then give every row its nearest centre.

A departure from the paper: clusters are split until none is too large (:mod:`.tree_growth`), and
more than a sample shows come about in the same way. A row meets the samples of the nodes on its
way, :math:`O(\sqrt[d]{n})` rows each in a tree of n clusters and d levels.

With ``printed`` it is the paper's two-step kernel k-means: as many rows as were asked for, all
clusters found on them at once with the kernel of the problem, random initialisation, no balancing;
on levels other than the leaves, support vectors only, however few there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...engines import Engine
from ..samples import Part, join
from .division import Divided, draw_numbers, drawn_in, together
from .kernel_kmeans import cluster_rows, clustering_kernel
from .nearest_group import NearestGroup, Numbers
from .tree_growth import LARGEST_SAMPLE, ROWS_PER_CLUSTER, SLACK, found_at_once, grown


@dataclass(frozen=True)
class Clusters:
    """Divide by clusters found on ``n_sample`` rows; on support vectors once there are some."""

    n_sample: int = 500
    printed: bool = False

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        if n_to == 1:
            return Divided(together(engine, parts), 1)
        first = n_to if self.printed else found_at_once(n_to)
        size = min(max(self.n_sample, ROWS_PER_CLUSTER * first), LARGEST_SAMPLE)
        if self.printed:
            size = self._sample_for(n_to)
        rows, n_rows = draw_numbers(
            engine, parts, n_from, size, random, support=True, or_fewer=self.printed
        )
        if n_rows < 2 * n_to:
            raise ValueError(
                f"{n_to} clusters need a set of at least {2 * n_to} rows; got {n_rows}. Lower "
                "`levels` or `fan_in`."
            )
        sample = engine.regroup(parts, partial(_only, rows), join, 1)
        cluster = partial(_clustered, first, int(random.integers(2**31)), self.printed)
        root: NearestGroup = engine.visit(sample, 0, cluster, None)
        engine.release(sample)
        largest = n_rows if self.printed else None
        return grown(engine, parts, n_from, root, n_to, n_rows, random, largest=largest)

    def _sample_for(self, n_clusters: int) -> int:
        if self.n_sample < n_clusters:
            raise ValueError(
                f"As printed, all {n_clusters} clusters are found on `n_sample` rows, which must "
                f"be at least as many; got {self.n_sample}. Raise `n_sample`, or lower `levels` or "
                "`fan_in`."
            )
        return self.n_sample


def _only(rows: Numbers, number: int, part: Part) -> list[tuple[int, Part]]:
    own = np.isin(part.rows, rows)
    return [(0, part.keep(own))] if own.any() else []


def _clustered(n_clusters: int, seed: int, printed: bool, sample: Part, _: Any) -> NearestGroup:
    drawn, random = drawn_in(sample, sample.rows), np.random.default_rng(seed)
    if printed:
        kernel = replace(sample.source.kernel, constant=0.0)  # an intercept moves no row
        return cluster_rows(kernel, drawn, n_clusters, random, printed=True)
    kernel = clustering_kernel(sample.source.kernel, drawn)
    return cluster_rows(kernel, drawn, n_clusters, random, slack=SLACK)
