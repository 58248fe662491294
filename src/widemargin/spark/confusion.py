"""Metrics of predictions, from the weights of rows by label and prediction.

Spark sums these weights in one job; the formulas, which are those of MLlib's ``MulticlassMetrics``,
take no further one. MLlib's evaluators, which alone work over Spark Connect too, would take one for
each metric and label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array


@dataclass(frozen=True)
class Confusion:
    """Weights of rows by label and prediction."""

    classes: Array  # (n,): labels and predictions that occur, ascending
    weights: Array  # (n, n): by label, then by prediction

    @classmethod
    def of(cls, rows: list[tuple[float, float, float]]) -> Confusion:
        """Make it of (label, prediction, weight)."""
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        classes = np.unique(table[:, :2])
        weights = np.zeros((classes.size, classes.size))
        at = np.searchsorted(classes, table[:, :2])
        np.add.at(weights, (at[:, 0], at[:, 1]), table[:, 2])
        return cls(classes, weights)

    @cached_property
    def known(self) -> NDArray[np.intp]:
        """Places of the classes that occur as labels, of which metrics tell."""
        return np.flatnonzero(self.weights.sum(axis=1) > 0)

    @property
    def labels(self) -> Array:
        """Labels that occur."""
        return self.classes[self.known]

    @property
    def of_label(self) -> Array:
        """Weight of the rows of each label."""
        return np.asarray(self.weights.sum(axis=1)[self.known])

    @property
    def right(self) -> Array:
        """Weight of the rows of each label that are predicted right."""
        return np.diagonal(self.weights)[self.known]

    @property
    def predicted(self) -> Array:
        """Weight of the rows that each label is predicted for."""
        return np.asarray(self.weights.sum(axis=0)[self.known])

    @property
    def accuracy(self) -> float:
        """Share of the rows that are predicted right."""
        return float(_divided(self.right.sum(), self.weights.sum()))

    def recall(self) -> Array:
        """Return the share of each label's rows that are predicted right."""
        return _divided(self.right, self.of_label)

    def false_positives(self) -> Array:
        """Return the share of the other rows that each label is predicted for."""
        return _divided(self.predicted - self.right, self.weights.sum() - self.of_label)

    def precision(self) -> Array:
        """Return the share of the rows that each label is predicted for which have it."""
        return _divided(self.right, self.predicted, otherwise=0.0)

    def f_measure(self, beta: float) -> Array:
        """Return the weighted harmonic mean of precision and recall."""
        precision, recall = self.precision(), self.recall()
        return _divided(
            (1 + beta**2) * precision * recall, beta**2 * precision + recall, otherwise=0.0
        )

    def weighted(self, by_label: Array) -> float:
        """Return the mean of a metric over the labels, by the weight of their rows."""
        return float(_divided(by_label @ self.of_label, self.weights.sum()))


def _divided(a: Array | float, b: Array | float, otherwise: float = np.nan) -> Array:
    """Divide; where the divisor is zero, the result is ``otherwise``."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.where(b == 0, otherwise, a / np.where(b == 0, 1.0, b))
