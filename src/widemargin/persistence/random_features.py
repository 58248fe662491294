"""Checks of random features."""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_feature_names, check_reals, demand, is_integer, required


def check_random_features(estimator: Any) -> None:
    """Check the fitted attributes of a map to random features."""
    n_features = required(estimator, "n_features_in_")
    demand(is_integer(n_features) and n_features >= 1, "n_features_in_", "a positive integer")
    check_feature_names(vars(estimator).get("feature_names_in_"), n_features)
    gamma = required(estimator, "gamma_")
    demand(isinstance(gamma, float) and 0 < gamma < np.inf, "gamma_", "positive and finite")
    n_components = int(estimator.n_components)
    weights = required(estimator, "random_weights_")
    if estimator.kernel != "poly":
        shape = (n_features + 1, (n_components + 1) // 2)
        check_reals(weights, "random_weights_", shape, np.float64)
        return
    whole = isinstance(weights, np.ndarray) and weights.dtype == np.int64
    shape = (int(estimator.degree), n_features + 1)
    demand(whole and weights.shape == shape, "random_weights_", f"integers of shape {shape}")
    inside = bool(np.all((weights != 0) & (weights >= -n_components) & (weights <= n_components)))
    demand(inside, "random_weights_", f"places from 1 to {n_components}, with signs")
