"""Checks of the fitted attributes of classifiers with one weight vector per class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..gossip import Topology
from .checks import (
    check_classifier,
    check_matrix,
    check_reals,
    demand,
    is_integer,
    required,
)


def check_linear_machine(estimator: Any) -> None:
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes, n_features = check_classifier(estimator)
    n_problems = 1 if n_classes == 2 else n_classes
    check_reals(required(estimator, "coef_"), "coef_", (n_problems, n_features), np.float64)
    check_reals(required(estimator, "intercept_"), "intercept_", (n_problems,), np.float64)
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
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes, n_features = check_classifier(estimator)
    n_rows = 1 if n_classes == 2 else n_classes
    coef = required(estimator, "coef_")
    check_matrix(coef, "coef_", (n_rows, n_features))
    demand(coef.dtype == np.float64, "coef_", "of type float64")
    check_reals(required(estimator, "intercept_"), "intercept_", (n_rows,), np.float64)
    density = required(estimator, "density_")
    share = isinstance(density, float) and 0 <= density <= 1
    demand(share, "density_", "a number from 0 to 1")


def check_gossip(estimator: Any) -> None:
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes, n_features = check_classifier(estimator)
    n_problems = 1 if n_classes == 2 else n_classes
    topology = required(estimator, "topology_")
    demand(isinstance(topology, Topology), "topology_", "a topology")
    n_sites = topology.n_sites
    for name, shape in (
        ("coef_", (n_problems, n_features)),
        ("intercept_", (n_problems,)),
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
        within = isinstance(value, float) and 0.0 <= value <= most
        demand(within, name, f"a number from 0 to {most:g}")
    for name in ("n_messages_", "n_bytes_"):
        count = required(estimator, name)
        demand(is_integer(count) and count >= 0, name, "an integer that is not negative")
    if estimator.faults is not None:
        estimator.faults.check(n_sites)
