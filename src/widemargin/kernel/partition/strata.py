r"""Strata dealt out evenly, so that every part looks like the whole.

The strata are those of landmarks in the kernel's space (SODM, DiODM), clusters of k-means in input
space (DiP-SVM), or a single one, which makes random parts (Cascade SVM).

Landmarks are chosen to span the data: the next one has the largest Schur complement
:math:`\kappa(z,z) - K_{z,s}^\top K_{s,s}^{-1} K_{z,s}` given those before it (SODM Eqn. 8, DiODM
Eqn. 5), which is greedy pivoted Cholesky. A row belongs to the stratum of its nearest landmark
(SODM Eqn. 7).

Landmarks cost :math:`O(M S)` kernel values and :math:`O(M S^2)` multiply-adds; memory
:math:`O(M S)`, where they are chosen among at most ``CANDIDATE_BYTES`` / 8S rows drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...core.rows import as_rows
from ...engines import Engine
from ..cholesky import pivoted_cholesky
from ..kernels import Kernel
from ..samples import Part
from .dealing import deal_out
from .division import Divided, Drawn, draw
from .kernel_kmeans import cluster_rows
from .nearest_group import NearestGroup, Numbers, nearest_landmark

CANDIDATE_BYTES = 1 << 22


@dataclass(frozen=True)
class LandmarkStrata:
    """Deal out the strata of ``n_strata`` landmarks."""

    n_strata: int

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        drawn, kernel = draw(engine, parts, n_from, CANDIDATE_BYTES // (8 * self.n_strata), random)
        threads = engine.share(1).threads
        nearest = landmarks(kernel, drawn, self.n_strata, threads)
        return deal_out(engine, parts, n_to, partial(_stratum, nearest, threads), random)


def landmarks(kernel: Kernel, drawn: Drawn, n_strata: int, threads: int = 1) -> NearestGroup:
    """Choose landmarks among some rows; fewer if the kernel sees fewer distinct ones."""
    kernel = replace(kernel, constant=0.0)  # an intercept moves no row
    rows = as_rows(drawn.X)
    # Residuals below the precision of the values are rounding, not new directions.
    tol = 1e-12 if drawn.X.dtype == np.float64 else 1e-6
    pivots = pivoted_cholesky(kernel, rows, n_strata, tol=tol, threads=threads).pivots
    if pivots.size == 0:  # κ(x, x) is nowhere positive: one stratum
        pivots = np.zeros(1, dtype=np.int64)
    diagonal = kernel.diagonal(rows)[pivots]
    basis = None if kernel.name == "precomputed" else drawn.X[pivots]
    return nearest_landmark(kernel, basis, drawn.rows[pivots], diagonal)


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
        """Divide parts into others."""
        drawn, kernel = draw(engine, parts, n_from, max(self.n_sample, 8 * self.n_strata), random)
        if kernel.name == "precomputed":
            raise ValueError(
                "The distribution-preserving partition clusters the features themselves, which a "
                "kernel given as values or as a function does not show. Use strategy='stratified', "
                "'clustered' or 'cascade', or a kernel by name."
            )
        n_strata = min(self.n_strata, drawn.rows.size)
        nearest = cluster_rows(Kernel("linear"), drawn, n_strata, random)
        return deal_out(engine, parts, n_to, partial(_stratum, nearest, 1), random)


def _stratum(nearest: NearestGroup, threads: int, part: Part) -> Numbers:
    return nearest.assign_samples(part.source, part.rows, threads)


@dataclass(frozen=True)
class RandomParts:
    """Deal rows out at random; labels keep their shares."""

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        return deal_out(engine, parts, n_to, _one_stratum, random)


def _one_stratum(part: Part) -> Numbers:
    return np.zeros(part.n_rows, dtype=np.int64)
