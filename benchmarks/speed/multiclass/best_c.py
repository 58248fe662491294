"""The best C of a formulation: cross-validation on training rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks import multiclass_machines

from .adapters import CONSTANT
from .contestants import GAP

GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
FOLDS = 3


def search(X: Any, codes: np.ndarray, formulation: str, max_time: float) -> dict[str, Any]:
    """Return the C with the lowest error of three folds, of equals the smallest; and all errors.

    Whoever solves a formulation gets the same C.
    """
    classes = int(codes.max()) + 1
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class has fewer rows than there are folds
        parts = list(folds.split(np.zeros(len(codes)), codes))
    errors = {}
    for C in GRID:
        wrong = 0
        for fit, hold_out in parts:
            solution = multiclass_machines.fit(
                *(X[fit], codes[fit], classes, formulation, C),
                constant=CONSTANT,
                tol=GAP,
                max_time=max_time,
            )
            found = multiclass_machines.predict(solution.weights, X[hold_out], CONSTANT)
            wrong += int(np.sum(found != codes[hold_out]))
        errors[C] = wrong / len(codes)
    best = min(errors, key=lambda C: (errors[C], C))
    return {"C": best, "errors": {f"{C:g}": error for C, error in errors.items()}}
