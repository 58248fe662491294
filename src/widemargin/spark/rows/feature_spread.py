"""Spread of the features over the rows of blocks, and a warning if one dominates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.fit import warn
from ...core.training_set import DOMINANT_SHARE, UNEVEN_PENALTY

# Number of evenly spaced rows of a block that are measured.
ROWS_OF_A_BLOCK = 2000
# With more features than this, their sums are too large to send along.
MOST_FEATURES = 10_000


@dataclass(frozen=True)
class Spread:
    """Mean and spread of each feature.

    Attributes
    ----------
    rows : int
        Number of rows.
    mean : array of shape (n_features,)
        Mean.
    squares : array of shape (n_features,)
        Sum of squared distances from the mean.
    """

    rows: int
    mean: Array
    squares: Array

    def plus(self, other: Spread) -> Spread:
        """Return the spread over these and other rows."""
        if self.mean.shape != other.mean.shape:
            return self  # an error that other checks report
        rows, apart = self.rows + other.rows, other.mean - self.mean
        return Spread(
            rows,
            self.mean + apart * (other.rows / rows),
            self.squares + other.squares + apart**2 * (self.rows * other.rows / rows),
        )


def joined_spread(one: Spread | None, other: Spread | None) -> Spread | None:
    """Return the spread over all rows."""
    if one is None or other is None:
        return one or other
    return one.plus(other)


def spread_of(X: Any) -> Spread | None:
    """Measure the features of some rows; None if there are no rows, or too many features."""
    n_rows, n_features = X.shape
    if n_rows == 0 or n_features > MOST_FEATURES:
        return None
    sample = X[:: max(1, n_rows // ROWS_OF_A_BLOCK)]
    if sp.issparse(sample):
        mean = np.asarray(sample.mean(axis=0, dtype=np.float64)).ravel()
        square = np.asarray(sample.multiply(sample).mean(axis=0, dtype=np.float64)).ravel()
        variance = np.maximum(square - mean * mean, 0.0)
    else:
        mean = sample.mean(axis=0, dtype=np.float64)
        variance = sample.var(axis=0, dtype=np.float64)
    return Spread(n_rows, mean, n_rows * variance)


def warn_if_one_dominates(spread: Spread | None, column: str) -> None:
    """Warn if one feature has almost all of the variance."""
    if spread is None or np.count_nonzero(spread.squares) < 2:
        return
    total, top = float(spread.squares.sum()), int(spread.squares.argmax())
    if not np.isfinite(total) or spread.squares[top] <= DOMINANT_SHARE * total:
        return
    warn(
        f"Feature {top} of column {column!r} carries {100 * spread.squares[top] / total:.4g} % of "
        f"the variance of all {len(spread.mean)} features, so {UNEVEN_PENALTY}. Scale the features "
        "first, for example with pyspark.ml.feature.StandardScaler in a Pipeline."
    )
