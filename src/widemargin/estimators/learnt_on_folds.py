"""What folds learn, classes or targets: the problems on shared rows, and the models to score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..core.arrays import Array
from ..core.regression_set import RegressionSet
from ..core.training_set import TrainingSet, class_weights
from ..kernel.kernels import Kernel
from ..kernel.problems import BinaryTask, binary_tasks, one_task
from .search_grid import Folds


class KnownDecisions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose decisions on the rows to score are known already."""

    def __init__(self, classes: NDArray[Any], decisions: Array) -> None:
        self.classes, self.decisions = classes, decisions
        self.classes_ = classes

    def decision_function(self, X: Any) -> Array:
        """Return the known decisions, whatever X is."""
        return self.decisions[:, 0] if len(self.classes) == 2 else self.decisions

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that the decisions imply."""
        if len(self.classes) == 2:
            return np.asarray(self.classes[(self.decisions[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes[np.argmax(self.decisions, axis=1)])


class KnownPredictions(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose predictions on the rows to score are known already."""

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> Array:
        """Return the known predictions, whatever X is."""
        return self.predictions


class LearntClasses:
    """The labels of a classification: a binary problem or several."""

    def __init__(self, machine: Any, folds: Folds) -> None:
        self.machine, self.folds = machine, folds
        self.classes, self.codes = np.unique(folds.y, return_inverse=True)
        n_classes = len(self.classes)
        self.tasks = binary_tasks(self.codes, n_classes, machine._scheme(n_classes))
        self.everything = TrainingSet(
            folds.X, self.classes, self.codes, folds.weight, None, len(self.codes)
        )

    def kinds(self, task: BinaryTask) -> NDArray[Any]:
        """Return a number for each row, the same where copies of a row learn the same."""
        return task.label

    def weights(self, inside: NDArray[np.int64]) -> Array:
        """Return the weights of a fold's training rows at C = 1."""
        weight, codes = self.folds.weight[inside], self.codes[inside]
        training = TrainingSet(None, self.classes, codes, weight, None, len(self.codes))
        return weight * class_weights(self.machine.class_weight, training)

    def middle(self, inside: NDArray[np.int64], kernel: Kernel) -> float:
        """Return what a fold's decisions are measured from."""
        return 0.0

    def offset(self, first: NDArray[np.int64], middle: float) -> Array | None:
        """Return what the margins of rows are moved by in a fold."""
        return None

    def known(self, decisions: Array) -> KnownDecisions:
        """Return a model of which only decisions are known, (rows, problems)."""
        return KnownDecisions(self.classes, decisions)


class LearntTargets:
    """The targets of a regression, which each fold measures from their middle."""

    def __init__(self, machine: Any, folds: Folds) -> None:
        self.machine, self.folds = machine, folds
        self.targets = np.asarray(folds.y, dtype=np.float64)
        self.tasks = one_task(len(self.targets))
        self.everything = RegressionSet(
            folds.X, self.targets, folds.weight, None, len(self.targets)
        )

    def kinds(self, task: BinaryTask) -> NDArray[Any]:
        """Return a number for each row, the same where copies of a row learn the same."""
        return np.unique(self.targets, return_inverse=True)[1]

    def weights(self, inside: NDArray[np.int64]) -> Array:
        """Return the weights of a fold's training rows at C = 1."""
        return self.folds.weight[inside]

    def middle(self, inside: NDArray[np.int64], kernel: Kernel) -> float:
        """Return what a fold's predictions are measured from."""
        targets, weight = self.targets[inside], self.folds.weight[inside]
        training = RegressionSet(None, targets, weight, None, len(targets))
        return float(self.machine._centre(training, kernel))

    def offset(self, first: NDArray[np.int64], middle: float) -> Array | None:
        """Return what the margins of rows are moved by in a fold."""
        return self.targets[first] - middle

    def known(self, decisions: Array) -> KnownPredictions:
        """Return a model of which only predictions are known, (rows, 1)."""
        return KnownPredictions(decisions[:, 0])
