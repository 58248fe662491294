"""The leaves that a fit would divide its training set into, without solving anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.resources import thread_count
from ...engines import LocalEngine
from ...kernel.kernels import Kernel
from ...kernel.partition import InputSpaceStrata, LandmarkStrata, NearestGroup
from ...kernel.partition.division import draw
from ...kernel.partition.kernel_kmeans import cluster_rows
from ...kernel.partition.nearest_group import Numbers
from ...kernel.partition.strata import CANDIDATE_BYTES, landmarks
from ...kernel.samples import whole_set
from .binary_samples import binary_samples, dividing_strategy


@dataclass(frozen=True)
class Partition:
    """Result of dividing a training set.

    Attributes
    ----------
    part : array of shape (n_rows,)
        Part of each row.
    stratum : array of shape (n_rows,) or None
        Stratum of each row where strata were dealt out over the parts; None for clusters and for
        random parts.
    groups : NearestGroup or None
        What rows were assigned to: landmarks, centres of strata, or centres of clusters. None for
        random parts.
    kernel : Kernel
        The kernel of the problem, resolved, without an intercept.
    """

    part: Numbers
    stratum: Numbers | None
    groups: NearestGroup | None
    kernel: Kernel

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return int(self.part.max()) + 1


def leaf_partition(estimator: Any, X: Any, y: Any) -> Partition:
    """Divide rows into leaves as ``estimator.fit(X, y)`` does, and stop there.

    The same ``random_state`` gives the same leaves. All rows are divided: none are held out for
    ``validation_fraction``.

    Parameters
    ----------
    estimator : ODMClassifier or SVMClassifier
        With a ``strategy`` that divides; it is not changed, and need not be fitted.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Rows; the kernel matrix when ``kernel="precomputed"``.
    y : array-like of shape (n_rows,)
        Labels, of two classes.

    Returns
    -------
    Partition
        The leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import ODMClassifier, Stratified
    >>> from widemargin.inspection.diagnostics import leaf_partition
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> leaves = leaf_partition(ODMClassifier(strategy=Stratified(levels=1)), X, y)
    >>> np.bincount(leaves.part).tolist()
    [150, 150, 150, 150]
    """
    samples = binary_samples(estimator, X, y)
    strategy = dividing_strategy(estimator, samples.n_rows)
    division = strategy.row(samples.loss.name).partition
    plan = strategy.plan(samples.n_rows)
    kernel = replace(samples.kernel, constant=0.0)
    n_leaves = plan.parts(plan.levels)
    if n_leaves == 1:
        return Partition(np.zeros(samples.n_rows, dtype=np.int64), None, None, kernel)
    engine = LocalEngine(thread_count(estimator.n_jobs))
    whole = engine.scatter([whole_set(samples)])
    seed = [estimator._seed(), plan.levels]  # as the loop seeds the leaves
    divided = division(engine, whole, 1, n_leaves, np.random.default_rng(seed))
    part = np.empty(samples.n_rows, dtype=np.int64)
    for number, each in enumerate(divided.parts):
        part[each.rows] = number
    groups = _strata(division, engine, whole, kernel, np.random.default_rng(seed))
    stratum = None if groups is None else groups.assign_samples(samples, np.arange(samples.n_rows))
    return Partition(part, stratum, divided.router if groups is None else groups, kernel)


def _strata(
    division: Any, engine: LocalEngine, whole: Any, kernel: Kernel, random: np.random.Generator
) -> NearestGroup | None:
    """Compute the strata of a division again; the division does not keep them."""
    if isinstance(division, LandmarkStrata):
        drawn, _, _ = draw(engine, whole, CANDIDATE_BYTES // (8 * division.n_strata), random)
        return landmarks(kernel, drawn, division.n_strata, engine.threads)
    if isinstance(division, InputSpaceStrata):
        drawn, _, _ = draw(engine, whole, max(division.n_sample, 8 * division.n_strata), random)
        return cluster_rows(
            Kernel("linear"), drawn, min(division.n_strata, drawn.rows.size), random
        )
    return None
