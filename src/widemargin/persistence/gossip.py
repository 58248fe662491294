"""What the fitted attributes of a network's classifier must look like to predict with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..gossip import Topology
from .classifier import check_classes, check_course, check_features, check_n_jobs, required
from .demands import check_reals, demand, is_integer


def check_gossip(estimator: Any) -> None:
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes = check_classes(required(estimator, "classes_"))
    n_features = check_features(estimator)
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
    check_n_jobs(estimator.n_jobs)
    check_course(estimator)


def links_for_graph(topology: Any, fitted: Topology) -> Any:
    """Return a graph of networkx, which a file cannot hold, as the matrix of its links."""
    if not hasattr(topology, "is_directed"):
        return topology
    ones = np.ones(fitted.n_links, dtype=np.int8)
    shape = (fitted.n_sites, fitted.n_sites)
    return sparse.csr_array((ones, fitted.other, fitted.start), shape=shape)
