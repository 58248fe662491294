"""What the fitted attributes of any classifier must look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .demands import demand, is_integer


def required(estimator: Any, name: str) -> Any:
    """Return a fitted attribute."""
    try:
        return vars(estimator)[name]
    except KeyError:
        raise ValueError(f"`{name}` is missing") from None


def check_classes(classes: Any) -> int:
    """Demand labels that sort, and return their number."""
    demand(isinstance(classes, np.ndarray) and classes.ndim == 1, "classes_", "an array")
    demand(classes.dtype.kind in "biufUO", "classes_", "numbers, booleans or text")
    if classes.dtype.kind == "f":
        demand(bool(np.isfinite(classes).all()), "classes_", "finite")
    ascending = classes.size > 1 and bool(np.all(classes[:-1] < classes[1:]))
    demand(ascending, "classes_", "at least two labels, each once, in ascending order")
    return int(classes.size)


def check_features(estimator: Any) -> int:
    """Demand a number of features, with their names if there are any, and return it."""
    n_features = required(estimator, "n_features_in_")
    demand(is_integer(n_features) and n_features >= 1, "n_features_in_", "a positive integer")
    check_feature_names(getattr(estimator, "feature_names_in_", None), n_features)
    return int(n_features)


def check_feature_names(names: Any, n_features: int) -> None:
    """Demand one name per feature, where there are names."""
    if names is None:
        return
    demand(
        isinstance(names, np.ndarray) and names.dtype == object and names.shape == (n_features,),
        "feature_names_in_",
        f"{n_features} names",
    )
    demand(len(set(names.tolist())) == n_features, "feature_names_in_", "unlike each other")


def check_n_jobs(n_jobs: Any) -> None:
    """Demand a number of threads; larger ones pass for integers, but not in the native core."""
    demand(n_jobs is None or -(2**31) < n_jobs < 2**31, "n_jobs", "None or a 32-bit integer")


def check_course(estimator: Any) -> None:
    """Check what a fit reports of its course; predictions do not depend on it."""
    for name, kind in (("solver_", str), ("converged_", bool)):
        demand(isinstance(required(estimator, name), kind), name, f"of type {kind.__name__}")
    for name in ("dual_gap_", "relative_gap_"):
        demand(isinstance(required(estimator, name), float), name, "a number")
    demand(is_integer(required(estimator, "n_iter_")), "n_iter_", "an integer")
    history = required(estimator, "history_")
    columns: list[Any] = list(history.values()) if isinstance(history, dict) else [None]
    arrays = all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns)
    equal = arrays and len({column.size for column in columns}) <= 1
    demand(equal, "history_", "a dictionary of arrays of one length")
