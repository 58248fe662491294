"""Checks of calibrators, which turn decisions into probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_counts, check_reals, demand

_PARTS = {"sigmoid": {"slope", "offset"}, "isotonic": {"start", "decision", "probability"}}


def check_calibration(estimator: Any) -> None:
    """Raise ValueError unless there is a calibrator for every column of decisions."""
    calibration = estimator.calibration_
    demand(isinstance(calibration, dict), "calibration_", "a dictionary")
    method, scheme = calibration.get("method"), calibration.get("scheme")
    known = isinstance(method, str) and method in _PARTS
    demand(known, "calibration_ method", f"one of {', '.join(_PARTS)}")
    parts = {"method", "scheme", *_PARTS[str(method)]}
    demand(set(calibration) == parts, "calibration_", f"of {sorted(parts)}")
    n_classes = int(estimator.classes_.size)
    columns = {
        "binary": 1 if n_classes == 2 else 0,
        "rest": n_classes,
        "margins": n_classes,
        "pairs": n_classes * (n_classes - 1) // 2,
    }
    n_columns = columns.get(scheme, 0) if isinstance(scheme, str) else 0
    demand(n_columns > 0, "calibration_ scheme", "one that suits the classes")
    if method == "sigmoid":
        for name in ("slope", "offset"):
            check_reals(calibration[name], f"calibration_ {name}", (n_columns,), np.float64)
        return
    start, decision = calibration["start"], calibration["decision"]
    check_counts(start, "calibration_ start")
    knots = isinstance(decision, np.ndarray) and decision.ndim == 1
    demand(knots, "calibration_ decision", "a vector")
    whole = start.shape == (n_columns + 1,) and start[0] == 0 and start[-1] == decision.size
    increasing = whole and bool((start[1:] > start[:-1]).all())
    demand(increasing, "calibration_ start", "the ends of the columns, none of them empty")
    for name in ("decision", "probability"):
        check_reals(calibration[name], f"calibration_ {name}", decision.shape, np.float64)
    within = (calibration["probability"] >= 0) & (calibration["probability"] <= 1)
    demand(bool(within.all()), "calibration_ probability", "from 0 to 1")
