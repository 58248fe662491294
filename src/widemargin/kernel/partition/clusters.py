r"""Clusters as parts (DC-SVM): cluster a sample, then give every row its nearest centre.

A departure from the paper: clusters are split until none is too large (:mod:`.tree_growth`), and
more than a sample shows come about in the same way. A row meets the samples of the nodes on its
way, :math:`O(\sqrt[d]{n})` rows each in a tree of n clusters and d levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engines import Engine
from .division import Divided, draw, together
from .kernel_kmeans import cluster_rows, clustering_kernel
from .tree_growth import ROWS_PER_CLUSTER, SLACK, found_at_once, grown


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
        first = found_at_once(n_to)
        size = max(self.n_sample, ROWS_PER_CLUSTER * first)
        drawn, kernel, n_rows = draw(engine, parts, size, random, support=True)
        if n_rows < 2 * n_to:
            raise ValueError(
                f"{n_to} clusters need a set of at least {2 * n_to} rows; got {n_rows}. Lower "
                "`levels` or `fan_in`."
            )
        root = cluster_rows(clustering_kernel(kernel, drawn), drawn, first, random, slack=SLACK)
        return grown(engine, parts, root, n_to, n_rows, random)
