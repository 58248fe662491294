"""What is measured of a method: accuracy on test rows, seconds of fit and of prediction."""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .preparation import Split

Cell = dict[str, Any]


def score(predict: Callable[[Any], np.ndarray], split: Split) -> Cell:
    """Predict the test rows and count what is right."""
    began = time.perf_counter()
    labels = predict(split.X_test)
    seconds = time.perf_counter() - began
    accuracy = float(np.mean(labels == split.y_test))
    return {"accuracy": accuracy, "predict_seconds": seconds, "test_rows": len(split.y_test)}


def fit(model: Any, split: Split) -> Cell:
    """Fit a model in place; tell how long it took, how large it is and what it complained of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        model.fit(split.X, split.y)
        seconds = time.perf_counter() - began
    facts: Cell = {
        "fit_seconds": seconds,
        "rows": len(split.y),
        "warnings": [str(warning.message) for warning in caught],
        "peak_memory_mb": peak_memory_mb(),
    }
    if hasattr(model, "support_"):
        facts["support_vectors"] = len(model.support_)
    for name in ("level_", "relative_gap_"):
        value = getattr(model, name, None)
        facts[name.rstrip("_")] = None if value is None or value != value else value  # no NaN
    facts["out_of_time"] = any("max_time" in text for text in facts["warnings"])
    return facts


def measure(model: Any, split: Split) -> Cell:
    """Fit and score a classifier."""
    return {**fit(model, split), **score(model.predict, split)}


def measure_levels(model: Any, split: Split) -> Cell:
    """Fit and score a divided classifier that may go on from a checkpoint.

    The time is that from the start of the lowest level, be it in this fit or in the one before.
    """
    cell = measure(model, split)
    history = {name: model.history_[name].tolist() for name in ("level", "parts", "seconds")}
    return {**cell, "fit_seconds": history["seconds"][-1], "history": history}


def peak_memory_mb() -> float:
    """Return the most this process has used so far; what a cell used is at most that."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)
