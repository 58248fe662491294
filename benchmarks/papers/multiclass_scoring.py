"""What is measured of a multi-class machine: error, F1, density, seconds, gap."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks import multiclass_machines

from . import second_solver
from .preparation import Split
from .scoring import Cell, peak_memory_mb


def classes_of(split: Split) -> int:
    """Return the number of classes that have training rows."""
    return int(split.y.max()) + 1


def measure(split: Split, formulation: str, **settings: Any) -> Cell:
    """Fit and score a machine without an intercept."""
    classes = classes_of(split)
    began = time.perf_counter()
    solution = multiclass_machines.fit(split.X, split.y, classes, formulation, **settings)
    seconds = time.perf_counter() - began
    gap = solution.certificate.relative_gap
    return {
        **score(solution.weights, split),
        "fit_seconds": seconds,
        "rows": len(split.y),
        "classes": classes,
        "features": split.X.shape[1],
        "objective": solution.certificate.primal,
        "relative_gap": gap,
        "out_of_time": gap > settings["tol"],
        "iterations": solution.iterations,
        "density": multiclass_machines.density(solution.weights),
        "dual_density": solution.duals.count_nonzero() / (len(split.y) * (classes - 1)),
        "peak_memory_mb": peak_memory_mb(),
    }


def score(weights: Any, split: Split) -> Cell:
    """Predict the test rows; macro-F1 is the mean over classes of test rows and predictions."""
    found = multiclass_machines.predict(weights, split.X_test)
    macro = f1_score(split.y_test, found, average="macro", zero_division=0.0)
    accuracy = float(np.mean(found == split.y_test))
    return {"accuracy": accuracy, "macro_f1": float(macro), "test_rows": len(split.y_test)}


def check(split: Split, C: float, max_time: float) -> Cell:
    """Solve Weston and Watkins's problem with the second solver, and score that."""
    began = time.perf_counter()
    weights, objective = second_solver.weston_watkins(
        split.X, split.y, classes_of(split), C, max_time
    )
    seconds = time.perf_counter() - began
    return {**score(weights, split), "fit_seconds": seconds, "objective": objective}
