"""Checks of the fitted attributes of kernel machines, also of those whose fit was divided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .checks import (
    REAL,
    check_classifier,
    check_counts,
    check_matrix,
    check_model,
    check_reals,
    demand,
    is_integer,
    required,
)

_ROUTING = {"rows", "basis", "coef", "group_start", "offset", "gamma"}
_TREE = {"node_start", "child"}


def check_kernel_machine(estimator: Any) -> None:
    """Raise ValueError if `estimator` could not predict, or its attributes disagree."""
    n_classes, n_features = check_classifier(estimator)
    n_support = _check_support(estimator, n_classes)
    _check_choices(estimator)
    n_problems = _number_of_problems(n_classes, estimator.multi_class_)
    for name, shape in (("dual_coef_", (n_problems, n_support)), ("intercept_", (n_problems,))):
        check_reals(required(estimator, name), name, shape, np.float64)
    _check_support_vectors(estimator, n_support, n_features)
    _check_constants(estimator)
    _check_outcome(estimator)
    _check_levels(estimator, n_problems, n_support, n_features)


def check_one_class(estimator: Any) -> None:
    """Raise ValueError if a one-class machine could not predict, or its attributes disagree."""
    n_features, n_support = check_model(estimator), _check_support(estimator, 1)
    check_reals(required(estimator, "dual_coef_"), "dual_coef_", (1, n_support), np.float64)
    intercept, offset = required(estimator, "intercept_"), required(estimator, "offset_")
    check_reals(intercept, "intercept_", (1,), np.float64)
    opposite = isinstance(offset, float) and offset == -float(intercept[0])
    demand(opposite, "offset_", "minus the number in `intercept_`")
    _check_support_vectors(estimator, n_support, n_features)
    _check_constants(estimator)
    for name, absent in (("strategy_", "exact"), ("level_", 0)):  # models older than levels
        if name not in vars(estimator):
            setattr(estimator, name, absent)
    demand(isinstance(estimator.strategy_, str), "strategy_", "of type str")
    _check_level(estimator)
    _check_rows_fit(estimator)


def check_kernel_regressor(estimator: Any) -> None:
    """Raise ValueError if a regressor could not predict, or its attributes disagree."""
    n_features = check_model(estimator)
    check_counts(required(estimator, "support_"), "support_")
    n_support = int(estimator.support_.size)
    check_reals(required(estimator, "dual_coef_"), "dual_coef_", (1, n_support), np.float64)
    check_reals(required(estimator, "intercept_"), "intercept_", (1,), np.float64)
    _check_constant(estimator, estimator.fit_intercept)
    _check_support_vectors(estimator, n_support, n_features)
    _check_constants(estimator)
    _check_outcome(estimator)
    _check_levels(estimator, 1, n_support, n_features)


def _check_choices(estimator: Any) -> None:
    """Check what 'auto' chose; models older than 'auto' lack it, and have it as a parameter."""
    scheme, intercept = estimator.multi_class, estimator.fit_intercept
    if "multi_class_" not in vars(estimator) and scheme != "auto":
        estimator.multi_class_ = scheme
    if "kernel_constant_" not in vars(estimator) and intercept != "auto":
        estimator.kernel_constant_ = 1.0 if intercept else 0.0
    known = ("ovr", "ovo") if scheme == "auto" else (scheme,)
    demand(required(estimator, "multi_class_") in known, "multi_class_", " or ".join(known))
    _check_constant(estimator, intercept)


def _check_constant(estimator: Any, intercept: Any) -> None:
    constant = required(estimator, "kernel_constant_")
    real = isinstance(constant, float) and (constant == 0 or 1 <= constant < math.inf)
    demand(real, "kernel_constant_", "0, or a finite number of at least 1")
    if intercept != "auto":
        demand((constant > 0) == bool(intercept), "kernel_constant_", "as `fit_intercept` says")


def _number_of_problems(n_classes: int, multi_class: str) -> int:
    if n_classes == 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if multi_class == "ovo" else n_classes


def _check_support(estimator: Any, n_classes: int) -> int:
    support = required(estimator, "support_")
    check_counts(support, "support_")
    n_support_per_class = required(estimator, "n_support_")
    check_counts(n_support_per_class, "n_support_")
    demand(n_support_per_class.size == n_classes, "n_support_", "one count per class")
    # Python's integers: sums of damaged counts must not wrap around to the right one.
    total = sum(n_support_per_class.tolist())
    demand(total == support.size, "n_support_", f"counts that add up to {support.size}")
    return int(support.size)


def _check_support_vectors(estimator: Any, n_support: int, n_features: int) -> None:
    vectors = required(estimator, "support_vectors_")
    if estimator.kernel == "precomputed":
        below = n_support == 0 or int(estimator.support_.max()) < n_features
        demand(below, "support_", f"rows of the {n_features} that the kernel matrix had")
        check_reals(vectors, "support_vectors_", (n_support, 0), *REAL)
        return
    check_matrix(vectors, "support_vectors_", (n_support, n_features))


def _check_constants(estimator: Any) -> None:
    gamma = required(estimator, "gamma_")
    if estimator.kernel == "precomputed":
        demand(gamma is None, "gamma_", "None when the kernel is precomputed")
    else:
        real = isinstance(gamma, float | np.floating) and 0 <= float(gamma) < math.inf
        demand(real, "gamma_", "a finite number that is not negative")


def _check_outcome(estimator: Any) -> None:
    """Check what a fit reports of itself; predictions do not depend on it."""
    demand(isinstance(required(estimator, "strategy_"), str), "strategy_", "of type str")
    compression = getattr(estimator, "compression_", {})
    lost: list[Any] = list(compression.values()) if isinstance(compression, dict) else [None]
    numbers = all(isinstance(value, int | float) for value in lost)
    demand(numbers, "compression_", "a dictionary of numbers")
    _check_rows_fit(estimator)


def _check_rows_fit(estimator: Any) -> None:
    # A warm start puts the coefficients back at their rows of the last training set.
    n_samples = required(estimator, "n_samples_fit_")
    fits = is_integer(n_samples) and bool((estimator.support_ < n_samples).all())
    demand(fits, "n_samples_fit_", "more than every row number in `support_`")


def _check_levels(estimator: Any, n_problems: int, n_support: int, n_features: int) -> None:
    """Check the parts of a level; models older than levels lack them, and are at the root."""
    for name, absent in (("level_", 0), ("support_part_", None), ("routing_", None)):
        if name not in vars(estimator):
            setattr(estimator, name, absent)
    _check_level(estimator)
    if "support_class_" in vars(estimator):
        check_counts(estimator.support_class_, "support_class_")
        # Before they are counted: a damaged number must not ask for all the memory.
        known = bool((estimator.support_class_ < estimator.n_support_.size).all())
        demand(known, "support_class_", "positions in `classes_`")
        counted = np.bincount(estimator.support_class_, minlength=estimator.n_support_.size)
        demand(np.array_equal(counted, estimator.n_support_), "support_class_", "as in n_support_")
    part = estimator.support_part_
    if part is not None:
        whole = isinstance(part, np.ndarray) and part.dtype == np.int32
        demand(whole and part.shape == (n_problems, n_support), "support_part_", "one per vector")
        demand(bool((part >= -1).all()), "support_part_", "part numbers, or −1")
        used = part[estimator.dual_coef_ != 0]
        demand(bool((used >= 0).all()), "support_part_", "known where there is a coefficient")
        # Diagnostics make a row per part: a damaged number must not ask for all the memory.
        demand(bool((used < max(1, n_support)).all()), "support_part_", "fewer than the vectors")
    routing = estimator.routing_
    if routing is not None:
        listed = isinstance(routing, list) and len(routing) == n_problems
        demand(listed, "routing_", f"a list of {n_problems}")
        demand(part is not None, "support_part_", "given where there is a `routing_`")
        for each in routing:
            if each is not None:
                _check_routing(each, estimator, n_features)


def _check_level(estimator: Any) -> None:
    level = required(estimator, "level_")
    demand(is_integer(level) and level >= 0, "level_", "an integer that is not negative")
    for name in ("level", "parts"):
        if name in estimator.history_:
            check_counts(estimator.history_[name], f"history_ {name}")


def _check_routing(routing: Any, estimator: Any, n_features: int) -> None:
    known = isinstance(routing, dict) and set(routing) in (_ROUTING, _ROUTING | _TREE)
    demand(known, "routing_", f"of {_ROUTING}, and of {_TREE} if it is a tree")
    rows, start = routing["rows"], routing["group_start"]
    check_counts(rows, "routing_ rows")
    check_counts(start, "routing_ group_start")
    demand(start.dtype == np.int64, "routing_ group_start", "int64")
    demand(
        start.size > 1 and start[0] == 0 and start[-1] == rows.size, "routing_ group_start", "whole"
    )
    demand(bool((start[1:] >= start[:-1]).all()), "routing_ group_start", "ascending")
    check_reals(routing["coef"], "routing_ coef", rows.shape, np.float64)
    check_reals(routing["offset"], "routing_ offset", (start.size - 1,), np.float64)
    if "child" in routing:
        _check_tree(routing["node_start"], routing["child"], start.size - 1)
    gamma = routing["gamma"]
    demand(isinstance(gamma, float) and 0 <= gamma < math.inf, "routing_ gamma", "a width")
    if estimator.kernel == "precomputed":
        demand(routing["basis"] is None, "routing_ basis", "None when the kernel is precomputed")
        demand(rows.size == 0 or int(rows.max()) < n_features, "routing_ rows", "known rows")
        return
    check_matrix(routing["basis"], "routing_ basis", (rows.size, n_features))


def _check_tree(start: Any, child: Any, n_groups: int) -> None:
    """Check that every node but the root is the child of one group of a node before it."""
    for array, name in ((start, "node_start"), (child, "child")):
        whole = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1
        demand(whole, f"routing_ {name}", "a list of int64")
    demand(child.size == n_groups, "routing_ child", "one per group")
    bounded = start.size > 1 and start[0] == 0 and start[-1] == n_groups
    demand(bounded and bool((np.diff(start) > 0).all()), "routing_ node_start", "ascending, whole")
    parents = np.flatnonzero(child != -1)
    once = np.array_equal(np.sort(child[parents]), np.arange(1, start.size - 1))
    demand(once, "routing_ child", "every node but the first, once")
    before = np.searchsorted(start, parents, side="right") - 1 < child[parents]
    demand(bool(before.all()), "routing_ child", "a node after that of its group")
