"""What is said about the data before a fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..losses import Array

# A feature with this share of the variance is, for a kernel, the only one there is.
DOMINANT_SHARE = 0.999


def class_weights(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[np.int64], weights: Array
) -> Array:
    """Return the factor of every row.

    ``"balanced"`` counts rows by their weight, so that a row of weight 2 is the row twice.
    """
    if class_weight is None:
        return np.ones(len(codes))
    if isinstance(class_weight, str):  # "balanced", as validated
        per_class = np.bincount(codes, weights, minlength=len(classes))
        return np.asarray((weights.sum() / (len(classes) * per_class))[codes])
    factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    unknown = set(class_weight) - set(classes.tolist())
    if unknown:
        raise ValueError(
            f"`class_weight` names classes that are not in y: {sorted(map(str, unknown))}; y has "
            f"{[str(c) for c in classes]}."
        )
    if not np.all(np.isfinite(factors) & (factors > 0)):
        raise ValueError(
            "`class_weight` must map classes to positive finite numbers; got "
            f"{dict(zip(classes.tolist(), factors.tolist(), strict=True))}."
        )
    return np.asarray(factors[codes])


def warn_if_one_feature_dominates(X: Any, kernel: str) -> None:
    """Warn when the scales of features are so uneven that the kernel sees one of them."""
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
        f"{X.shape[1]} features, so the {kernel} kernel sees almost nothing else. Scale the "
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
