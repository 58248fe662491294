"""The model of a site as a classifier that anyone can load."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ...core.arrays import Array
from ...estimators import RandomFeatures
from ...linear.model import split_weights
from ..config import SiteConfig

__all__ = ["classifier_of"]


def classifier_of(
    config: SiteConfig,
    w: Array,
    steps: int,
    agreed: bool,
    names: tuple[str, ...] | None,
    *,
    C: float | None = None,
    history: dict[str, Array] | None = None,
    features: RandomFeatures | None = None,
    privacy: dict[str, Any] | None = None,
) -> Any:
    """Return a fitted linear classifier with these weights, the intercept's last.

    ``w`` has one row per binary problem, or is the weights of the only one. ``C`` is the chosen
    value and ``history`` its comparison with others. With random features, the model is a pipeline
    that maps rows first. ``privacy`` is what is guaranteed, if anything is. The gaps are NaN even
    if the sites have agreed: a single site cannot certify them.
    """
    from ... import LinearODMClassifier, LinearSVMClassifier

    parameters = config.classifier(C)
    given: dict[str, Any] = {
        "C": parameters._row_weight(float(config.total_rows)),
        "fit_intercept": config.fit_intercept,
        "intercept_scaling": config.intercept_scaling,
        "tol": config.tol,
    }
    model: LinearODMClassifier | LinearSVMClassifier
    if config.loss == "odm":
        model = LinearODMClassifier(upsilon=config.upsilon, theta=config.theta, **given)
    else:
        model = LinearSVMClassifier(loss=config.loss, **given)
    coef, intercept = split_weights(np.atleast_2d(w), parameters._constant)
    fitted = {
        "coef_": coef,
        "intercept_": intercept,
        "dual_gap_": np.nan,
        "relative_gap_": np.nan,
        "converged_": agreed,
        "classes_": np.array(config.classes),
        "n_features_in_": coef.shape[1],
        "n_iter_": steps,
        "solver_": config.solver,
        "history_": {} if history is None else history,
    }
    if privacy is not None:
        fitted["privacy_"] = privacy
    if names is not None and features is None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    model.__dict__.update(fitted)
    if features is None:
        return model
    if names is not None:
        features = copy(features)  # that of the site maps arrays without names
        features.feature_names_in_ = np.array(names, dtype=object)
    return Pipeline([("features", features), ("classifier", model)])
