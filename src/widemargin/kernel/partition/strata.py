r"""Strata dealt out evenly, so that every part looks like the whole.

The strata are those of landmarks in the kernel's space (SODM, DiODM), clusters of k-means in input
space (DiP-SVM), or a single one, which makes random parts (Cascade SVM).

Landmarks are chosen to span the data: the next one has the largest Schur complement
:math:`\kappa(z,z) - K_{z,s}^\top K_{s,s}^{-1} K_{z,s}` given those before it (SODM Eqn. 8, DiODM
Eqn. 5), which is greedy pivoted Cholesky. A row belongs to the stratum of its nearest landmark
(SODM Eqn. 7).

Landmarks cost :math:`O(M S)` kernel values and :math:`O(M S^2)` multiply-adds; memory
:math:`O(M S)`, where they are chosen among at most ``CANDIDATE_BYTES`` / 8S rows drawn at random.

With ``printed``, divisions are those of the papers: landmarks are chosen among all rows, and
k-means runs on all rows from centres drawn at random; strata are dealt out whatever the labels.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.rows import as_rows
from ...engines import Engine
from ..cholesky import pivoted_cholesky
from ..kernels import Kernel
from ..samples import Part
from .dealing import deal_out
from .division import Divided, Drawn, draw
from .kernel_kmeans import PRINTED_STEPS, cluster_rows
from .nearest_group import NearestGroup, Numbers, nearest_landmark

CANDIDATE_BYTES = 1 << 22
ALL_ROWS = sys.maxsize


@dataclass(frozen=True)
class LandmarkStrata:
    """Deal out the strata of ``n_strata`` landmarks.

    As printed, the first landmark is the first row where κ(x, x) is constant. SODM's Eqn. 8 assumes
    that it is; where it varies, the rule is DiODM's Eqn. 5, which maximises the same determinant.
    """

    n_strata: int
    printed: bool = False

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        nearest = self.strata(engine, parts, n_from, random)
        stratum = partial(_stratum, nearest, engine.share(1).threads)
        return deal_out(engine, parts, n_to, stratum, random, by_label=not self.printed)

    def strata(
        self, engine: Engine, parts: Any, n_from: int, random: np.random.Generator
    ) -> NearestGroup:
        """Find the landmarks."""
        candidates = ALL_ROWS if self.printed else CANDIDATE_BYTES // (8 * self.n_strata)
        drawn, kernel = draw(engine, parts, n_from, candidates, random)
        return landmarks(kernel, drawn, self.n_strata, engine.share(1).threads)


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
    printed: bool = False

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        nearest = self.strata(engine, parts, n_from, random)
        stratum = partial(_stratum, nearest, 1)
        return deal_out(engine, parts, n_to, stratum, random, by_label=not self.printed)

    def strata(
        self, engine: Engine, parts: Any, n_from: int, random: np.random.Generator
    ) -> NearestGroup:
        """Find the clusters."""
        size = ALL_ROWS if self.printed else max(self.n_sample, 8 * self.n_strata)
        drawn, kernel = draw(engine, parts, n_from, size, random)
        if kernel.name == "precomputed":
            raise ValueError(
                "The distribution-preserving partition clusters the features themselves, which a "
                "kernel given as values or as a function does not show. Use strategy='stratified', "
                "'clustered' or 'cascade', or a kernel by name."
            )
        n_strata = min(self.n_strata, drawn.rows.size)
        if self.printed:
            return _means_of_all_rows(drawn.X, n_strata, random, engine.share(1).threads)
        return cluster_rows(Kernel("linear"), drawn, n_strata, random)


def _means_of_all_rows(
    X: Any, n_clusters: int, random: np.random.Generator, threads: int
) -> NearestGroup:
    """Run Lloyd's k-means from rows drawn at random; clusters that fall empty are dropped."""
    centres = X[np.sort(random.choice(X.shape[0], n_clusters, replace=False))]
    centres = np.asarray(centres.toarray() if sp.issparse(centres) else centres, dtype=np.float64)
    nearest = _nearest_centre(centres)
    group = np.full(X.shape[0], -1, dtype=np.int64)
    for _ in range(PRINTED_STEPS):
        moved = np.unique(nearest.assign(X, threads), return_inverse=True)[1].astype(np.int64)
        if np.array_equal(moved, group):
            break
        group = moved
        member = sp.csr_matrix((np.ones(group.size), (group, np.arange(group.size))))
        centres = np.asarray((member @ X).toarray() if sp.issparse(X) else member @ X)
        nearest = _nearest_centre(centres / np.bincount(group)[:, None])
    return nearest


def _nearest_centre(centres: Array) -> NearestGroup:
    squares = np.einsum("ij,ij->i", centres, centres)
    no_rows = np.full(len(centres), -1, dtype=np.int64)  # centres are no rows of the training set
    return nearest_landmark(Kernel("linear"), centres, no_rows, squares)


def _stratum(nearest: NearestGroup, threads: int, part: Part) -> Numbers:
    return nearest.assign_samples(part.source, part.rows, threads)


@dataclass(frozen=True)
class RandomParts:
    """Deal rows out at random; labels keep their shares, unless as printed."""

    printed: bool = False

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts into others."""
        by_label = not self.printed
        return deal_out(engine, parts, n_to, _one_stratum, random, by_label=by_label)


def _one_stratum(part: Part) -> Numbers:
    return np.zeros(part.n_rows, dtype=np.int64)
