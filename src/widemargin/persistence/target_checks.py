"""Checks of scikit-learn's regressors that hold others: of scaled targets, and of several targets.

What they hold was checked when it was built; these checks compare the parts. A failed one raises
ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

from .checks import check_feature_names, demand, is_integer, required


def check_scaled_targets(estimator: Any) -> None:
    """Check a fitted ``TransformedTargetRegressor``: a regressor, and the way back to the unit."""
    regressor = required(estimator, "regressor_")
    _check_regressor(regressor, "regressor_")
    n_targets = targets_of(regressor)
    dimension = required(estimator, "_training_dim")
    known = is_integer(dimension) and dimension in (1, 2)
    demand(known and (n_targets == 1 or dimension == 2), "_training_dim", "1, or 2 of several")
    n_features = getattr(estimator, "n_features_in_", 0)  # unknown behind "passthrough"
    check_feature_names(vars(estimator).get("feature_names_in_"), n_features)
    transformer = required(estimator, "transformer_")
    fitted = isinstance(transformer, BaseEstimator) and hasattr(transformer, "inverse_transform")
    demand(fitted, "transformer_", "a fitted transformer with a way back")
    check_is_fitted(transformer)
    there_and_back = transformer.inverse_transform(np.ones((1, n_targets)))
    demand(np.size(there_and_back) == n_targets, "transformer_", f"one of {n_targets} targets")


def check_several_targets(estimator: Any) -> None:
    """Check a fitted ``MultiOutputRegressor``: a regressor of one target for each target."""
    regressors = required(estimator, "estimators_")
    demand(isinstance(regressors, list) and bool(regressors), "estimators_", "a list of regressors")
    for each in regressors:
        _check_regressor(each, "estimators_")
        demand(targets_of(each) == 1, "estimators_", "regressors of one target")
    widths = {getattr(each, "n_features_in_", None) for each in regressors}
    width = vars(estimator).get("n_features_in_")
    demand(widths == {width}, "estimators_", f"regressors of {width} features")
    check_feature_names(vars(estimator).get("feature_names_in_"), width or 0)


#: What has such a check.
TARGET_CHECKS: dict[str, Callable[[Any], None]] = {
    "TransformedTargetRegressor": check_scaled_targets,
    "MultiOutputRegressor": check_several_targets,
}


def targets_of(regressor: Any) -> int:
    """Return the number of targets of a fitted regressor."""
    match type(regressor).__name__:
        case "Pipeline":
            return targets_of(regressor.steps[-1][1])
        case "TransformedTargetRegressor":
            return targets_of(regressor.regressor_)
        case "MultiOutputRegressor":
            return len(regressor.estimators_)
    return 1


def _check_regressor(regressor: Any, name: str) -> None:
    kind = isinstance(regressor, BaseEstimator) and is_regressor(regressor)
    demand(kind, name, "a regressor")
    # One without a state of its own counts as fitted; a regressor has one.
    check_is_fitted(regressor)
