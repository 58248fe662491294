"""Strata by k-means in input space, dealt out evenly (DiP-SVM)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...engines import Engine
from ..kernels import Kernel
from ..samples import Part
from .division import Divided, deal_out, draw
from .kernel_kmeans import cluster_rows
from .nearest_group import NearestGroup, Numbers


@dataclass(frozen=True)
class InputSpaceStrata:
    """Deal out ``n_strata`` clusters, found on ``n_sample`` rows.

    K-means in input space is kernel k-means with the linear kernel.
    """

    n_strata: int
    n_sample: int = 1000

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts anew."""
        drawn, kernel, _ = draw(engine, parts, max(self.n_sample, 8 * self.n_strata), random)
        if kernel.name == "precomputed":
            raise ValueError(
                "The distribution-preserving partition clusters the features themselves, which a "
                "kernel given as values or as a function does not show. Use strategy='stratified', "
                "'clustered' or 'cascade', or a kernel by name."
            )
        n_strata = min(self.n_strata, drawn.rows.size)
        nearest = cluster_rows(Kernel("linear"), drawn, n_strata, random)
        return deal_out(engine, parts, n_to, partial(_stratum, nearest), random)


def _stratum(nearest: NearestGroup, part: Part) -> Numbers:
    return nearest.assign_samples(part.source, part.rows)
