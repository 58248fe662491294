"""The binary problem and the strategy of an estimator that is not fitted."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ...core.training_set import training_set
from ...estimators.kernel_machine import KernelMachine
from ...kernel.divide.driver import resolve_strategy
from ...kernel.divide.strategies import Strategy
from ...kernel.samples import Samples


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
    kernel, rows = model._kernel_and_rows(training.X, training.weights)
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
