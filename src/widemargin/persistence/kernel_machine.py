"""What the fitted attributes of a kernel machine must look like to predict with them.

Checked before a model is written, so that no file is written that could not be read, and after
one is read, so that the native code never sees arrays whose shapes disagree.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .classifier import check_classes, check_course, check_features, check_n_jobs, required
from .demands import REAL, check_counts, check_matrix, check_reals, demand, is_integer
from .levels import check_levels


def check_kernel_machine(estimator: Any) -> None:
    """Raise ValueError, saying why, if `estimator` could not predict or would predict nonsense."""
    n_classes = check_classes(required(estimator, "classes_"))
    n_features = check_features(estimator)
    n_support = _check_support(estimator, n_classes)
    n_problems = _number_of_problems(n_classes, estimator.multi_class)
    for name, shape in (("dual_coef_", (n_problems, n_support)), ("intercept_", (n_problems,))):
        check_reals(required(estimator, name), name, shape, np.float64)
    _check_support_vectors(estimator, n_support, n_features)
    _check_constants(estimator)
    _check_outcome(estimator)
    check_levels(estimator, n_problems, n_support, n_features)


def _number_of_problems(n_classes: int, multi_class: str) -> int:
    if n_classes == 2:
        return 1
    return n_classes if multi_class == "ovr" else n_classes * (n_classes - 1) // 2


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
    check_n_jobs(estimator.n_jobs)


def _check_outcome(estimator: Any) -> None:
    """Check what a fit reports of itself; predictions do not depend on it."""
    check_course(estimator)
    demand(isinstance(required(estimator, "strategy_"), str), "strategy_", "of type str")
    compression = getattr(estimator, "compression_", {})
    lost: list[Any] = list(compression.values()) if isinstance(compression, dict) else [None]
    numbers = all(isinstance(value, int | float) for value in lost)
    demand(numbers, "compression_", "a dictionary of numbers")
    # A warm start puts the coefficients back at their rows of the last training set.
    n_samples = required(estimator, "n_samples_fit_")
    fits = is_integer(n_samples) and bool((estimator.support_ < n_samples).all())
    demand(fits, "n_samples_fit_", "more than every row number in `support_`")
