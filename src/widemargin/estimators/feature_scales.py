"""A word about features whose scales hide all others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array

# A feature with this share of the variance is, for a kernel or a penalty, the only one there is.
DOMINANT_SHARE = 0.99
# What comes of it in a linear model.
UNEVEN_PENALTY = "the penalty on the weights holds back all others"


def warn_if_one_feature_dominates(X: Any, consequence: str) -> None:
    """Warn, naming the consequence, when the scales of features let only one of them count."""
    if X.shape[1] < 2 or X.shape[0] < 2:
        return
    variance = _variances(X)
    total = float(variance.sum())
    varying = int(np.count_nonzero(variance))
    top = int(variance.argmax())
    if varying < 2 or not np.isfinite(total) or variance[top] <= DOMINANT_SHARE * total:
        return
    warnings.warn(
        f"Feature {top} carries {100 * variance[top] / total:.4g} % of the variance of all "
        f"{X.shape[1]} features, so {consequence}. Scale the "
        "features first, for example make_pipeline(StandardScaler(), ...).",
        UserWarning,
        stacklevel=4,
    )


def _variances(X: Any) -> Array:
    """Compute the variance of each feature from at most 10,000 evenly spaced rows."""
    step = max(1, X.shape[0] // 10_000)
    sample = X[::step]
    if sp.issparse(sample):
        mean = np.asarray(sample.mean(axis=0, dtype=np.float64)).ravel()
        square = np.asarray(sample.multiply(sample).mean(axis=0, dtype=np.float64)).ravel()
        return np.asarray(np.maximum(square - mean * mean, 0.0))
    return np.asarray(sample.var(axis=0, dtype=np.float64))
