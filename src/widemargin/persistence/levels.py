"""What the attributes of a divided fit must look like; the native code sees them unchecked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .demands import check_counts, check_matrix, check_reals, demand, is_integer

_ROUTING = {"rows", "basis", "coef", "group_start", "offset", "gamma"}


def check_levels(estimator: Any, n_problems: int, n_support: int, n_features: int) -> None:
    """Raise ValueError, saying why, if a level's model could not predict.

    Models written before there were levels have none of these attributes; they are at the root.
    """
    for name, absent in (("level_", 0), ("support_part_", None), ("routing_", None)):
        if name not in vars(estimator):
            setattr(estimator, name, absent)
    level = estimator.level_
    demand(is_integer(level) and level >= 0, "level_", "an integer that is not negative")
    if "support_class_" in vars(estimator):
        check_counts(estimator.support_class_, "support_class_")
        # Before they are counted: a damaged number must not ask for all the memory.
        known = bool((estimator.support_class_ < estimator.n_support_.size).all())
        demand(known, "support_class_", "positions in `classes_`")
        counted = np.bincount(estimator.support_class_, minlength=estimator.n_support_.size)
        demand(np.array_equal(counted, estimator.n_support_), "support_class_", "as in n_support_")
    for name in ("level", "parts"):
        if name in estimator.history_:
            check_counts(estimator.history_[name], f"history_ {name}")
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


def _check_routing(routing: Any, estimator: Any, n_features: int) -> None:
    demand(isinstance(routing, dict) and set(routing) == _ROUTING, "routing_", f"of {_ROUTING}")
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
    gamma = routing["gamma"]
    demand(isinstance(gamma, float) and 0 <= gamma < math.inf, "routing_ gamma", "a width")
    if estimator.kernel == "precomputed":
        demand(routing["basis"] is None, "routing_ basis", "None when the kernel is precomputed")
        demand(rows.size == 0 or int(rows.max()) < n_features, "routing_ rows", "known rows")
        return
    check_matrix(routing["basis"], "routing_ basis", (rows.size, n_features))
