"""Random features at a site: rows are mapped once, by a map that all sites draw from one seed.

Landmarks (Nyström) would approximate a kernel better, but they are rows of some site and would be
sent to all. A random map depends on the settings alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.resources import memory_bytes
from ...estimators import RandomFeatures
from ..config import ConfigError, SiteConfig

__all__ = ["features_of", "mapped_rows"]

ROWS_AT_ONCE = 4096


def features_of(config: SiteConfig, n_features: int) -> RandomFeatures | None:
    """Return the map of a configuration for rows of so many features; None if it is linear."""
    if config.kernel == "linear":
        return None
    features = RandomFeatures(
        config.kernel,
        n_components=config.n_components,
        gamma="auto" if config.gamma is None else config.gamma,
        degree=config.degree,
        coef0=config.coef0,
        random_state=config.feature_seed,
    )
    # The map depends on the number of features and on their type only.
    return features.fit(np.zeros((1, n_features)))


def mapped_rows(config: SiteConfig, features: RandomFeatures, X: Any) -> Any:
    """Map the rows of a site, in float32; ConfigError if they would need too much memory."""
    n_rows, size = X.shape[0], int(features.n_components)
    needed, limit = 4 * n_rows * size, memory_bytes(config.max_memory)
    if needed > limit:
        raise ConfigError(
            f"{n_rows:,} rows of {size:,} random features need {needed / 2**20:.3g} MiB, more than "
            f"`running.max_memory`, {config.max_memory}. Raise it, or lower `model.n_components` "
            "at all sites."
        )
    mapped = np.empty((n_rows, size), dtype=np.float32)
    for begin in range(0, n_rows, ROWS_AT_ONCE):
        part = X[begin : begin + ROWS_AT_ONCE].astype(np.float32, copy=False)
        mapped[begin : begin + ROWS_AT_ONCE] = features.transform(part)
    return mapped
