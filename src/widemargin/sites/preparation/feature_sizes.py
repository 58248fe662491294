"""Features of very different sizes, of which sites without a schema are warned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...tables.notes import listed
from .agreed_preparation import COMPARABLE

__all__ = ["sizes_advice", "typical_sizes"]


def typical_sizes(X: Any) -> Array:
    """Return the root mean square of every feature where it is not 0."""
    if sp.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        used = X.getnnz(axis=0)
    else:
        squares, used = np.square(X).sum(axis=0), np.count_nonzero(X, axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(used, 1)), dtype=np.float64)


def sizes_advice(X: Any, names: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the features whose sizes slow training down, and advice; None if there are none."""
    sizes = typical_sizes(X)
    used = sizes[sizes > 0.0]
    if not used.size or not np.isfinite(used).all():
        return None
    middle = float(np.median(used))
    if used.max() <= COMPARABLE * middle:
        return None
    large = np.flatnonzero(sizes > COMPARABLE * middle)
    large = large[np.argsort(-sizes[large], kind="stable")]
    called = [names[k] if names else f"feature {k + 1}" for k in large.tolist()]
    return {
        "columns": listed(called),
        "largest": float(sizes.max()),
        "median": middle,
        "advice": "Training is slow, and large columns decide. Give all sites a schema "
        "(`network.schema`, or a study), and they scale their columns alike; or scale them "
        "yourself, by the same numbers at every site.",
    }
