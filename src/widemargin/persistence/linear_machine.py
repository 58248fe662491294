"""What the fitted attributes of a linear classifier must look like to predict with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .classifier import check_classes, check_course, check_features, check_n_jobs, required
from .demands import check_reals, demand, is_integer


def check_linear_machine(estimator: Any) -> None:
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes = check_classes(required(estimator, "classes_"))
    n_features = check_features(estimator)
    n_problems = 1 if n_classes == 2 else n_classes
    check_reals(required(estimator, "coef_"), "coef_", (n_problems, n_features), np.float64)
    check_reals(required(estimator, "intercept_"), "intercept_", (n_problems,), np.float64)
    check_n_jobs(estimator.n_jobs)
    check_course(estimator)
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
