"""Margins: how surely each row is classified rightly, and which margins a loss wants."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC, NuSVC

from ..estimators.kernel_machine import KernelMachine
from ..estimators.linear_machine import LinearMachine

__all__ = ["Interval", "final_estimator", "signed_margins", "wanted_margins"]

Interval: TypeAlias = tuple[float, float]


def final_estimator(estimator: Any) -> Any:
    """Look through pipelines and searches."""
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def wanted_margins(classifier: Any) -> Interval | None:
    """Margins that a classifier's loss leaves unpunished, if they are known."""
    if isinstance(classifier, KernelMachine | LinearMachine):
        terms = classifier._loss().terms(np.ones(1))
        return terms.lower_margin, terms.upper_margin
    if isinstance(classifier, SVC | NuSVC | LinearSVC):
        return 1.0, np.inf
    return None


def signed_margins(y: ArrayLike, decision: ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Margins of rows, given their labels and decisions."""
    labels, values = np.asarray(y), np.asarray(decision, dtype=np.float64)
    if labels.ndim != 1 or values.shape[:1] != labels.shape:
        raise ValueError(
            "Labels must be one-dimensional, with one decision (row) each; got labels of shape "
            f"{labels.shape} and decisions of shape {values.shape}."
        )
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed; got {len(classes)}.")
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        raise ValueError(f"y holds labels that the classifier does not know: {unknown.tolist()}.")
    if len(classes) == 2 and values.ndim == 1:
        return np.where(labels == classes[1], values, -values)
    if values.shape != (labels.size, len(classes)) or len(classes) == 2:
        wanted = (labels.size,) if len(classes) == 2 else (labels.size, len(classes))
        raise ValueError(
            f"Decisions for {len(classes)} classes must have shape {wanted}; got {values.shape}."
        )
    own = np.searchsorted(classes, labels)
    rows = np.arange(labels.size)
    others = values.copy()
    others[rows, own] = -np.inf
    return np.asarray(values[rows, own] - others.max(axis=1))
