"""What the fitted attributes of a multi-class SVM must look like to predict with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .classifier import check_classes, check_course, check_features, check_n_jobs, required
from .demands import check_matrix, check_reals, demand


def check_multiclass_svm(estimator: Any) -> None:
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes = check_classes(required(estimator, "classes_"))
    n_features = check_features(estimator)
    n_rows = 1 if n_classes == 2 else n_classes
    coef = required(estimator, "coef_")
    check_matrix(coef, "coef_", (n_rows, n_features))
    demand(coef.dtype == np.float64, "coef_", "of type float64")
    check_reals(required(estimator, "intercept_"), "intercept_", (n_rows,), np.float64)
    density = required(estimator, "density_")
    share = isinstance(density, float) and 0 <= density <= 1
    demand(share, "density_", "a number from 0 to 1")
    check_n_jobs(estimator.n_jobs)
    check_course(estimator)
