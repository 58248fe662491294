r"""What is computed from a fitted model, never reported by the solver itself.

The objective of a linear model with weights w, every row having a last feature 1 whose weight is
the intercept, is

.. math:: P(w) = \tfrac12 \lVert w \rVert^2 + C \sum_i ℓ(y_i w^\top x_i).

A classifier of any kind is scored by its accuracy on test rows and by the seconds it took.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import DataSet
from .processes import peak_mb
from .store import Cell


@dataclass(frozen=True)
class Loss:
    """A loss: its value at a margin, what a dual adds to the dual objective, the duals' box."""

    primal: Callable[[np.ndarray], np.ndarray]
    dual: Callable[[np.ndarray], np.ndarray]
    lower: float
    upper: float


def loss_of(name: str, C: float, upsilon: float = 0.5, theta: float = 0.2) -> Loss:
    """Return a loss by name: hinge, squared_hinge or odm."""
    if name == "hinge":
        return Loss(lambda m: C * _positive(1.0 - m), lambda g: g, 0.0, C)
    if name == "squared_hinge":
        return Loss(
            lambda m: C * _positive(1.0 - m) ** 2, lambda g: g - g**2 / (4.0 * C), 0.0, np.inf
        )
    if name != "odm":
        raise ValueError(f"`name` must be 'hinge', 'squared_hinge' or 'odm'; got {name!r}.")

    def primal(m: np.ndarray) -> np.ndarray:
        below, above = _positive(1.0 - theta - m), _positive(m - 1.0 - theta)
        return np.asarray(0.5 * C * (below**2 + upsilon * above**2))

    def dual(g: np.ndarray) -> np.ndarray:
        up, down = _positive(g), _positive(-g)
        gained = (1.0 - theta) * up - (1.0 + theta) * down
        return np.asarray(gained - up**2 / (2.0 * C) - down**2 / (2.0 * C * upsilon))

    return Loss(primal, dual, -np.inf, np.inf)


def _positive(value: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(value, 0.0))


def objective(w: np.ndarray, X: Any, y: np.ndarray, loss: str, C: float) -> float:
    """Value weights, of which the last is the intercept."""
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (X.shape[1] + 1,):
        raise ValueError(f"`w` must have {X.shape[1] + 1} entries; got shape {w.shape}.")
    margins = y * (X.astype(np.float64) @ w[:-1] + w[-1])
    return 0.5 * float(w @ w) + float(loss_of(loss, C).primal(margins).sum())


def finite(value: float) -> float:
    """Return the largest number instead of infinity, which JSON does not have."""
    return value if np.isfinite(value) else sys.float_info.max


def score(predict: Callable[[Any], np.ndarray], data: DataSet) -> Cell:
    """Predict the test rows and count what is right."""
    began = time.perf_counter()
    labels = predict(data.X_test)
    seconds = time.perf_counter() - began
    accuracy = float(np.mean(labels == data.y_test))
    return {"accuracy": accuracy, "predict_seconds": seconds, "test_rows": len(data.y_test)}


def fit(model: Any, data: DataSet) -> Cell:
    """Fit a model in place; return its seconds, its size and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - began
    facts: Cell = {
        "fit_seconds": seconds,
        "rows": len(data.y),
        "warnings": [str(warning.message) for warning in caught],
        "peak_memory_mb": peak_mb(),
    }
    if hasattr(model, "support_"):
        facts["support_vectors"] = len(model.support_)
    for name in ("level_", "relative_gap_"):
        value = getattr(model, name, None)
        facts[name.rstrip("_")] = None if value is None or value != value else value  # no NaN
    facts["out_of_time"] = any("max_time" in text for text in facts["warnings"])
    return facts


def measure(model: Any, data: DataSet) -> Cell:
    """Fit and score a classifier."""
    return {**fit(model, data), **score(model.predict, data)}


class LevelFits:
    """Fits of coarser and coarser levels, each of which continues from the checkpoint of the last.

    The seconds of a fit are those of all levels that it needs, also where an earlier fit solved
    them, and of what it does outside of the levels, such as checking and merging rows.
    """

    def __init__(self) -> None:
        self._solved: set[float] = set()

    def measure(self, model: Any, data: DataSet) -> Cell:
        """Fit and score a divided classifier."""
        cell = measure(model, data)
        history = {name: model.history_[name].tolist() for name in ("level", "parts", "seconds")}
        ends = history["seconds"]
        if not ends:
            return {**cell, "history": history}
        # A level that comes from the checkpoint has the seconds that it had then.
        read = max((end for end in ends if end in self._solved), default=0.0)
        self._solved.update(ends)
        return {**cell, "fit_seconds": cell["fit_seconds"] + read, "history": history}
