"""A site's model as an estimator that needs no network."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...linear.model import split_weights
from ..config import SiteConfig

__all__ = ["classifier_of"]


def classifier_of(
    config: SiteConfig, w: Array, steps: int, agreed: bool, names: tuple[str, ...] | None
) -> Any:
    """Return a fitted linear classifier with these weights.

    Parameters
    ----------
    config : SiteConfig
        The problem.
    w : array
        Weights; the intercept's is last.
    steps : int
        Steps that the site took.
    agreed : bool
        Whether the sites have found that they agree on the optimum. Its gaps are NaN in any
        case: a site alone has no proof of them.
    names : tuple of str or None
        Names of the features.
    """
    from ... import LinearODMClassifier, LinearSVMClassifier

    parameters = config.classifier()
    given: dict[str, Any] = {
        "C": parameters._row_weight(float(config.total_rows)),
        "fit_intercept": config.fit_intercept,
        "intercept_scaling": config.intercept_scaling,
        "tol": config.tol,
    }
    if config.loss == "odm":
        model = LinearODMClassifier(upsilon=config.upsilon, theta=config.theta, **given)
    else:
        model = LinearSVMClassifier(loss=config.loss, **given)
    coef, intercept = split_weights(w[np.newaxis], parameters._constant)
    fitted = {
        "coef_": coef,
        "intercept_": intercept,
        "dual_gap_": np.nan,
        "relative_gap_": np.nan,
        "converged_": agreed,
        "classes_": np.array(config.classes),
        "n_features_in_": config.n_features,
        "n_iter_": steps,
        "solver_": config.solver,
        "history_": {},
    }
    if names is not None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    model.__dict__.update(fitted)
    return model
