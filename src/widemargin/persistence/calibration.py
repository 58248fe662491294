"""Checks of the calibrators of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.calibrators import METHODS
from ..core.class_probabilities import SCHEMES
from .checks import check_counts, check_reals, demand

_ARRAYS = {"sigmoid": {"slope", "offset"}, "isotonic": {"start", "decision", "probability"}}


def check_calibration(estimator: Any) -> None:
    """Raise ValueError if the calibrators do not fit the decisions of a checked `estimator`.

    A model may lack them: its fit was not calibrated, or was interrupted before.
    """
    if "calibration_" not in vars(estimator):
        return
    calibration = estimator.calibration_
    named = isinstance(calibration, dict) and {"method", "scheme"} <= set(calibration)
    demand(named, "calibration_", "a dictionary with a method and a scheme")
    method, scheme = calibration["method"], calibration["scheme"]
    demand(isinstance(method, str) and method in METHODS, "calibration_ method", f"in {METHODS}")
    demand(isinstance(scheme, str) and scheme in SCHEMES, "calibration_ scheme", f"in {SCHEMES}")
    keys = {"method", "scheme"} | _ARRAYS[method]
    demand(set(calibration) == keys, "calibration_", f"a dictionary of {sorted(keys)}")
    n_classes, n_columns = estimator.classes_.size, estimator.intercept_.size
    columns = {"binary": 1, "pairs": n_classes * (n_classes - 1) // 2}.get(scheme, n_classes)
    fits = n_columns == columns and (scheme == "binary") == (n_classes == 2)
    demand(fits, "calibration_ scheme", f"one for {n_classes} classes and {n_columns} decisions")
    check = _check_sigmoids if method == "sigmoid" else _check_steps
    check(calibration, n_columns)


def _check_sigmoids(calibration: dict[str, Any], n_columns: int) -> None:
    for name in ("slope", "offset"):
        check_reals(calibration[name], f"calibration_ {name}", (n_columns,), np.float64)
    demand(bool((calibration["slope"] >= 0).all()), "calibration_ slope", "not negative")


def _check_steps(calibration: dict[str, Any], n_columns: int) -> None:
    start, decision = calibration["start"], calibration["decision"]
    check_counts(start, "calibration_ start")
    ascending = start.size == n_columns + 1 and start[0] == 0 and bool(np.all(np.diff(start) > 0))
    demand(ascending, "calibration_ start", f"ascending from 0, for {n_columns} columns")
    check_reals(decision, "calibration_ decision", (int(start[-1]),), np.float64)
    check_reals(calibration["probability"], "calibration_ probability", decision.shape, np.float64)
    probability = calibration["probability"]
    within = bool(np.all((probability >= 0) & (probability <= 1)))
    demand(within, "calibration_ probability", "between 0 and 1")
    inner = np.ones(decision.size, dtype=np.bool_)  # steps within a column
    inner[start[:-1]] = False
    for name, values in (("decision", decision), ("probability", probability)):
        rising = bool(np.all(values[1:][inner[1:]] >= values[:-1][inner[1:]]))
        demand(rising, f"calibration_ {name}", "ascending in every column")
