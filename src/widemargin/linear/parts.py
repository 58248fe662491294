"""Rows of a linear problem divided into parts, or thinned to some of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..kernel.kernels import Kernel
from ..kernel.partition.division import Drawn, deal
from ..kernel.partition.strata import CANDIDATE_BYTES, landmarks
from .problem import LinearProblem

Numbers = NDArray[np.int64]

N_STRATA = 32


def divide(
    problem: LinearProblem, n_parts: int, partition: str, n_strata: int, seed: int
) -> list[tuple[Numbers, LinearProblem]]:
    """Divide the rows into parts that look like the whole: (row numbers, problem) of each.

    Classes keep their shares; with ``partition="stratified"`` so do the strata around landmarks
    (SODM Eqns. 7 and 8) in the space of the features.
    """
    if partition not in ("stratified", "random"):
        raise ValueError(f"`partition` must be 'stratified' or 'random'; got {partition!r}.")
    if n_parts < 1:
        raise ValueError(f"`n_parts` must be at least 1; got {n_parts}.")
    random = np.random.default_rng(seed)
    n_parts = min(n_parts, problem.n_rows)
    strata = np.zeros(problem.n_rows, dtype=np.int64)
    if partition == "stratified" and n_parts > 1:
        strata = _strata(problem, n_strata, random)
    target = deal(strata, problem.label, n_parts, random)
    each = [np.flatnonzero(target == k) for k in range(n_parts)]
    return [(rows, taken(problem, rows)) for rows in each]


def taken(problem: LinearProblem, rows: Numbers, weight: Array | None = None) -> LinearProblem:
    """Pose the problem on a copy of some rows, with other weights if given."""
    if weight is None and problem.weight is not None:
        weight = problem.weight[rows]
    return replace(
        problem,
        X=problem.X[rows],
        label=problem.label[rows],
        weight=weight,
        multiplier=None if problem.multiplier is None else problem.multiplier[rows],
        rows=None,
        evaluations=0.0,
    )


def _strata(problem: LinearProblem, n_strata: int, random: np.random.Generator) -> Numbers:
    candidates = np.arange(problem.n_rows)
    most = CANDIDATE_BYTES // (8 * n_strata)
    if problem.n_rows > most:
        candidates = np.sort(random.choice(problem.n_rows, most, replace=False))
    drawn = Drawn(candidates, problem.X[candidates])
    nearest = landmarks(Kernel("linear"), drawn, n_strata, problem.threads)
    return nearest.assign(problem.X, problem.threads)
