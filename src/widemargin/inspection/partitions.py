"""The leaves that a fit would divide its training set into, without solving anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.resources import thread_count
from ..core.training_set import training_set
from ..engines import LocalEngine
from ..estimators.kernel_machine import KernelMachine
from ..kernel.divide.driver import resolve_strategy
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import Kernel
from ..kernel.partition import InputSpaceStrata, LandmarkStrata, NearestGroup
from ..kernel.partition.nearest_group import Numbers
from ..kernel.samples import Samples, whole_set


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

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import ODMClassifier, Stratified
    >>> from widemargin.inspection import leaf_partition
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
    groups = None
    if isinstance(division, LandmarkStrata | InputSpaceStrata):  # which do not keep their strata
        groups = division.strata(engine, whole, 1, np.random.default_rng(seed))
    stratum = None if groups is None else groups.assign_samples(samples, np.arange(samples.n_rows))
    return Partition(part, stratum, divided.router if groups is None else groups, kernel)


def binary_samples(estimator: Any, X: Any, y: Any) -> Samples:
    """Pose the problem that an estimator would solve on rows of two classes."""
    model = clone(checked_classifier(estimator))
    model._validate_params()
    X, y = model._checked_training_data(X, y)
    training = training_set(
        X, y, None, pairwise=model._pairwise, estimator=type(estimator).__name__
    )
    if len(training.classes) != 2:
        raise ValueError(
            f"A division is examined on one binary problem; got {len(training.classes)} classes. "
            "Pass the labels of one problem, such as y == y[0] for one class against the rest."
        )
    kernel, rows = model._kernel_and_rows(training)
    samples: Samples = model._pose(training, kernel, rows).samples(0)
    return samples


def dividing_strategy(estimator: Any, n_rows: int) -> Strategy:
    """Return the strategy by which an estimator divides this number of rows."""
    model = checked_classifier(estimator)
    model._validate_params()
    strategy = resolve_strategy(model.strategy, n_rows, type(model).__name__)
    if strategy is None:
        raise ValueError(
            f"`estimator` must divide its training set; got strategy={model.strategy!r}, which "
            f"solves {n_rows} rows as a whole. Set strategy='sodm' or 'dc', or an object such as "
            "Clustered(levels=3)."
        )
    return strategy


def checked_classifier(estimator: Any) -> KernelMachine:
    """Raise unless the estimator is a kernel classifier of this library."""
    if not isinstance(estimator, KernelMachine):
        raise TypeError(
            "`estimator` must be an ODMClassifier or an SVMClassifier; got "
            f"{type(estimator).__name__}. Of a pipeline, pass the last step and transformed rows."
        )
    return estimator
