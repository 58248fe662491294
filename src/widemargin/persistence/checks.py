"""Checks of fitted attributes, before they are written and after they are read.

No file is written that could not be read, and the native code never sees arrays whose shapes
disagree. A failed check raises ValueError with the attribute and what it must be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..gossip import Topology

_INT64_MAX = np.iinfo(np.int64).max
REAL = (np.float32, np.float64)


def demand(satisfied: bool, name: str, requirement: str) -> None:
    """Raise ValueError unless an attribute is as required."""
    if not satisfied:
        raise ValueError(f"`{name}` must be {requirement}")


def is_integer(value: Any) -> bool:
    """Whether a value is an integer that int64 can hold."""
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return integral and -_INT64_MAX <= value <= _INT64_MAX


def check_counts(array: Any, name: str) -> None:
    """Demand a vector of integers that are not negative."""
    integers = isinstance(array, np.ndarray) and array.dtype in (np.int32, np.int64)
    demand(integers and array.ndim == 1, name, "an array of integers")
    demand(bool((array >= 0).all()), name, "integers that are not negative")


def check_reals(array: Any, name: str, shape: tuple[int, ...], *dtypes: type) -> None:
    """Demand finite numbers of one of the types and of the shape."""
    names = " or ".join(dtype.__name__ for dtype in dtypes)
    demand(isinstance(array, np.ndarray) and array.dtype in dtypes, name, f"an array of {names}")
    demand(array.shape == shape, name, f"of shape {shape}; it is {array.shape}")
    demand(bool(np.isfinite(array).all()), name, "finite")


def check_matrix(array: Any, name: str, shape: tuple[int, int]) -> None:
    """Demand rows of finite numbers, dense or CSR."""
    if sparse.issparse(array):
        demand(array.format == "csr", name, "in CSR format")
        demand(array.shape == shape, name, f"of shape {shape}")
        check_reals(array.data, name, array.data.shape, *REAL)
    else:
        check_reals(array, name, shape, *REAL)


def required(estimator: Any, name: str) -> Any:
    """Return a fitted attribute."""
    try:
        return vars(estimator)[name]
    except KeyError:
        raise ValueError(f"`{name}` is missing") from None


def check_classifier(estimator: Any) -> tuple[int, int]:
    """Check what all classifiers have, and return the numbers of classes and features."""
    n_classes = _check_classes(required(estimator, "classes_"))
    return n_classes, check_model(estimator)


def check_model(estimator: Any) -> int:
    """Check what classifiers and regressors have, and return the number of features."""
    n_features = required(estimator, "n_features_in_")
    demand(is_integer(n_features) and n_features >= 1, "n_features_in_", "a positive integer")
    check_feature_names(getattr(estimator, "feature_names_in_", None), n_features)
    # Larger integers pass validation, but the native core cannot hold them.
    n_jobs = estimator.n_jobs
    demand(n_jobs is None or -(2**31) < n_jobs < 2**31, "n_jobs", "None or a 32-bit integer")
    _check_report(estimator)
    return int(n_features)


def _check_classes(classes: Any) -> int:
    """Demand sorted labels, and return their number."""
    demand(isinstance(classes, np.ndarray) and classes.ndim == 1, "classes_", "an array")
    demand(classes.dtype.kind in "biufUO", "classes_", "numbers, booleans or text")
    if classes.dtype.kind == "f":
        demand(bool(np.isfinite(classes).all()), "classes_", "finite")
    ascending = classes.size > 1 and bool(np.all(classes[:-1] < classes[1:]))
    demand(ascending, "classes_", "at least two labels, each once, in ascending order")
    return int(classes.size)


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


def _check_report(estimator: Any) -> None:
    """Demand a well-formed report of the fit; predictions do not depend on it."""
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


def _check_linear_weights(estimator: Any, *, may_be_sparse: bool = False) -> tuple[int, int]:
    """Check `coef_` and `intercept_`, and return the numbers of problems and weights."""
    n_classes, n_features = check_classifier(estimator)
    map = vars(estimator).get("random_features_")
    if map is not None:
        demand(hasattr(map, "random_weights_"), "random_features_", "a fitted RandomFeatures")
        same = map.n_features_in_ == n_features
        demand(same, "random_features_", f"a map of {n_features} features")
        n_features = int(map.n_components)
    n_problems = 1 if n_classes == 2 else n_classes
    coef = required(estimator, "coef_")
    if may_be_sparse:
        check_matrix(coef, "coef_", (n_problems, n_features))
        demand(coef.dtype == np.float64, "coef_", "of type float64")
    else:
        check_reals(coef, "coef_", (n_problems, n_features), np.float64)
    check_reals(required(estimator, "intercept_"), "intercept_", (n_problems,), np.float64)
    return n_problems, n_features


def check_linear_machine(estimator: Any) -> None:
    """Check the fitted attributes of a linear machine."""
    n_problems, n_features = _check_linear_weights(estimator)
    _check_curvature(estimator, n_problems, n_features)


def check_linear_regressor(estimator: Any) -> None:
    """Check the fitted attributes of a linear regressor."""
    n_features = check_model(estimator)
    check_reals(required(estimator, "coef_"), "coef_", (n_features,), np.float64)
    intercept = required(estimator, "intercept_")
    demand(isinstance(intercept, float) and np.isfinite(intercept), "intercept_", "a finite number")
    _check_curvature(estimator, 1, n_features)
    if "curvature_" in vars(estimator):
        units = required(estimator, "_learnt_units")
        check_reals(units, "_learnt_units", (2,), np.float64)
        demand(units[1] > 0, "_learnt_units", "an origin and a positive unit")


def _check_curvature(estimator: Any, n_problems: int, n_features: int) -> None:
    """Check what `partial_fit` remembers, if there is any."""
    if "curvature_" in vars(estimator):
        size = n_features + bool(estimator.fit_intercept)
        shape = (n_problems, size)
        matrix = getattr(estimator.curvature_, "ndim", 0) == 3
        check_reals(
            estimator.curvature_, "curvature_", (*shape, size) if matrix else shape, np.float64
        )
        seen = required(estimator, "n_samples_seen_")
        demand(is_integer(seen) and seen >= 0, "n_samples_seen_", "a number of rows")
        # Files of older versions lack it.
        constant = vars(estimator).get("_learnt_constant", 0.0)
        demand(isinstance(constant, float), "_learnt_constant", "a number")


def check_multiclass_svm(estimator: Any) -> None:
    """Check the fitted attributes of an all-in-one multi-class SVM."""
    _check_linear_weights(estimator, may_be_sparse=True)
    density = required(estimator, "density_")
    share = isinstance(density, float) and 0 <= density <= 1
    demand(share, "density_", "a number from 0 to 1")


def _check_kernel_and_C(estimator: Any) -> None:
    """Demand a map where there is a kernel; files of older versions have neither."""
    map = vars(estimator).get("random_features_")
    right = (map is None) == (estimator.kernel == "linear")
    demand(right, "random_features_", "a map with a kernel, and None without")
    C = vars(estimator).get("C_", 1.0)
    demand(isinstance(C, float) and 0 < C < np.inf, "C_", "positive and finite")
    scores = vars(estimator).get("C_scores_")
    listed = scores is None or (isinstance(scores, np.ndarray) and scores.dtype == np.float64)
    demand(listed and np.ndim(scores) <= 1, "C_scores_", "None or an array of numbers")


def check_gossip(estimator: Any) -> None:
    """Check the fitted attributes of a classifier of a network."""
    n_problems, n_features = _check_linear_weights(estimator)
    _check_kernel_and_C(estimator)
    topology = required(estimator, "topology_")
    demand(isinstance(topology, Topology), "topology_", "a topology")
    n_sites = topology.n_sites
    for name, shape in (
        ("site_coef_", (n_problems, n_sites, n_features)),
        ("site_intercept_", (n_problems, n_sites)),
    ):
        check_reals(required(estimator, name), name, shape, np.float64)
    sites = required(estimator, "sites_")
    named = isinstance(sites, np.ndarray) and sites.shape == (n_sites,)
    demand(named, "sites_", f"an array of {n_sites} names")
    demand(isinstance(required(estimator, "estimated_gap_"), float), "estimated_gap_", "a number")
    for name, most in (("label_skew_", 1.0), ("mixing_time_", np.inf)):
        value = required(estimator, name)
        within = isinstance(value, float) and (np.isnan(value) or 0.0 <= value <= most)
        demand(within, name, f"a number from 0 to {most:g}")
    for name in ("n_messages_", "n_bytes_"):
        count = required(estimator, name)
        demand(is_integer(count) and count >= 0, name, "an integer that is not negative")
    if estimator.faults is not None:
        estimator.faults.check(n_sites)
