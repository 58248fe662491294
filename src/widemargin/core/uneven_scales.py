"""Warning about features on scales so uneven that a few of them hide all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _native
from .arrays import Array
from .fit import warn
from .rows import as_rows

# Features with this share of the variance hide all others from a kernel or a penalty...
DOMINANT_SHARE = 0.99
# ...if they are at most this many, and at most this part of the features that vary. Counts and
# indicators have uneven variances by nature, but spread them over more features.
MOST_DOMINANT, DOMINANT_PART = 3, 0.1
# Variances are those of about this many rows, or of fewer that have so many values, but not of less
# than LEAST_ROWS.
SAMPLE_ROWS, SAMPLE_VALUES, LEAST_ROWS = 10_000, 1 << 18, 1_000
# Consequence of dominant features in a linear model, for the warning.
UNEVEN_PENALTY = "the penalty on the weights holds back all others"
# Whether the scales are meant to be uneven.
_MEANT: ContextVar[bool] = ContextVar("scales_meant", default=False)


@contextmanager
def scales_as_meant() -> Iterator[None]:
    """Do not warn: the features were weighted by what they say, not by their units."""
    before = _MEANT.set(True)
    try:
        yield
    finally:
        _MEANT.reset(before)


def warn_if_few_features_dominate(X: Any, consequence: str, names: Any = None) -> None:
    """Warn, naming the consequence, when the scales of features let only a few of them count.

    ``names`` are those of the features, if they have any.
    """
    if X.shape[1] < 2 or X.shape[0] < 2 or _MEANT.get():
        return
    who = dominating(_variances(X), names)
    if who is not None:
        warn(
            f"{who} of the variance of all {X.shape[1]} features, so {consequence}. Scale the "
            "features first, for example make_pipeline(StandardScaler(), ...)."
        )


def dominating(variance: Array, names: Any = None, of: str = "") -> str | None:
    """Say which few features carry how much of the variance; None if no few of them do.

    ``of`` follows the features, and says what they are features of.
    """
    total, varying = float(variance.sum()), int(np.count_nonzero(variance))
    most = min(max(1, int(DOMINANT_PART * varying)), MOST_DOMINANT)
    if varying < 2 or not np.isfinite(total):
        return None
    largest = np.argpartition(-variance, most - 1)[:most]
    largest = largest[np.lexsort((largest, -variance[largest]))]
    shares = np.cumsum(variance[largest]) / total
    if shares[-1] <= DOMINANT_SHARE:
        return None
    count = int(np.argmax(shares > DOMINANT_SHARE)) + 1
    listed = _listed(largest[:count], names)
    noun, verb = ("Feature", "carries") if count == 1 else ("Features", "carry")
    return f"{noun} {listed}{of} {verb} {100 * shares[count - 1]:.4g} %"


def _listed(features: NDArray[np.intp], names: Any) -> str:
    shown: Sequence[str] = [str(k) if names is None else repr(str(names[k])) for k in features]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _variances(X: Any) -> Array:
    """Compute the variance of each feature from evenly spaced rows, as many as take no time."""
    values = X.nnz if sp.issparse(X) else X.size
    step = max(1, X.shape[0] // SAMPLE_ROWS, min(values // SAMPLE_VALUES, X.shape[0] // LEAST_ROWS))
    sample = X[::step] if step > 1 else X
    if not sp.issparse(sample):
        return np.asarray(sample.var(axis=0, dtype=np.float64))
    total, square = _native.column_moments(as_rows(sample))
    n = sample.shape[0]
    return np.asarray(np.maximum(square / n - (total / n) ** 2, 0.0))
