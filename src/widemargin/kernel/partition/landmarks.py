r"""Strata around landmarks in the kernel's space, dealt out evenly (SODM, DiODM).

Landmarks are chosen to span the data: the next one has the largest Schur complement
:math:`\kappa(z,z) - K_{z,s}^\top K_{s,s}^{-1} K_{z,s}` given those before it (SODM Eqn. 8, DiODM
Eqn. 5), which is greedy pivoted Cholesky. A row belongs to the stratum of its nearest landmark
(SODM Eqn. 7), and each stratum is dealt out over the parts, so that every part looks like the
whole.

Costs :math:`O(M S)` kernel values and :math:`O(M S^2)` multiply-adds; memory :math:`O(M S)`, where
landmarks are chosen among at most ``CANDIDATE_BYTES`` / 8S rows drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...core.rows import as_rows
from ...engines import Engine
from ..kernels import Kernel
from ..pivoted_cholesky import pivoted_cholesky
from ..samples import Part
from .division import Divided, Drawn, deal_out, draw
from .nearest_group import NearestGroup, Numbers, nearest_landmark

CANDIDATE_BYTES = 1 << 22


@dataclass(frozen=True)
class LandmarkStrata:
    """Deal out the strata of ``n_strata`` landmarks."""

    n_strata: int

    def __call__(
        self, engine: Engine, parts: Any, n_from: int, n_to: int, random: np.random.Generator
    ) -> Divided:
        """Divide parts anew."""
        drawn, kernel, _ = draw(engine, parts, CANDIDATE_BYTES // (8 * self.n_strata), random)
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


def _stratum(nearest: NearestGroup, threads: int, part: Part) -> Numbers:
    return nearest.assign_samples(part.source, part.rows, threads)
