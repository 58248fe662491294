r"""Training data of a regression: checked and weighed rows, and the unit of their targets.

A fit sees targets :math:`t' = (t - o) / u`, and its weights :math:`w'` give
:math:`w = u w'`. The losses of regression are made for it: in the unit :math:`u` they have other
constants (:meth:`.LossConstants.in_units`), and the objective is :math:`u^2` times what the fit
minimises. Solvers thus work on numbers near 1 whatever the targets are measured in, and since
:math:`u` is a power of two, nothing is rounded.

The origin :math:`o` matters where there is an intercept. That is a penalised weight like any other;
of targets far from zero, the penalty would pull it away from them, and would be most of the
objective. So it is the distance of the intercept from :math:`o`, the middle of the targets, that is
penalised, and adding a constant to all targets adds it to all predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from .arrays import Array
from .losses import NO_WEIGHT
from .rows import take_rows

# Squares of larger ones, summed over rows and multiplied by C, may overflow.
LARGEST_TARGET = 1e100


@dataclass(frozen=True)
class RegressionSet:
    """Rows of positive weight."""

    X: Any  # the rows; for a precomputed kernel their square matrix
    targets: Array  # (n_rows,)
    weights: Array  # (n_rows,): sample weights, all positive
    # (n_rows,): numbers of these rows in the data as given; None if all were kept.
    kept: NDArray[np.int64] | None
    n_given: int  # number of rows given

    def given_numbers(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Translate row numbers to those of the data as given."""
        return rows if self.kept is None else self.kept[rows]


def finite_targets(y: Any, name: str = "y") -> Array:
    """Return targets as float64, once it is sure that a fit can compute with them.

    scikit-learn looks for NaN in arrays of floats only: None among objects and 'nan' among texts
    become NaN when they are converted.
    """
    targets: Array = np.ascontiguousarray(y, dtype=np.float64)
    wrong = np.flatnonzero(~(np.abs(targets) <= LARGEST_TARGET))
    if wrong.size:
        row, got = int(wrong[0]), targets[wrong[0]]
        advice = (
            "Divide the targets, for example by their standard deviation."
            if np.isfinite(got)
            else "Leave such rows out, or fill in their targets."
        )
        raise ValueError(
            f"{name} must hold finite numbers of at most {LARGEST_TARGET:g} in size; "
            f"got {got:g} in row {row}. {advice}"
        )
    return targets


def regression_set(
    X: Any, y: NDArray[Any], sample_weight: Any, *, pairwise: bool = False
) -> RegressionSet:
    """Drop rows of weight zero."""
    targets = np.ascontiguousarray(y, dtype=np.float64)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    n_given = X.shape[0]
    if np.all(weights > NO_WEIGHT):
        return RegressionSet(X, targets, weights, None, n_given)
    kept = np.flatnonzero(weights > NO_WEIGHT)
    if kept.size == 0:
        raise ValueError("At least one `sample_weight` must be positive; got all zero.")
    X = take_rows(X, kept, pairwise)
    return RegressionSet(X, targets[kept], weights[kept], kept, n_given)


@dataclass(frozen=True)
class TargetUnits:
    """What targets are measured from, and in."""

    origin: float = 0.0
    unit: float = 1.0  # a power of two, in a fit

    @classmethod
    def around(cls, origin: float, targets: Array, weights: Array | None) -> TargetUnits:
        """Take the power of two that is nearest to the mean distance of targets from an origin."""
        distance = float(np.average(np.abs(targets - origin), weights=weights))
        if not (distance > 0 and np.isfinite(distance)):
            return cls(origin)
        return cls(origin, float(np.exp2(np.round(np.log2(distance)))))

    def inside(self, targets: Array) -> Array:
        """Return targets as a fit sees them."""
        return (targets - self.origin) / self.unit


def weighted_quantile(values: Array, quantile: float, weights: Array | None) -> float:
    """Return the least of the values below or at which there is such a share of the weight."""
    order = np.argsort(values, kind="stable")
    each = np.ones(len(values)) if weights is None else weights[order]
    reached = np.cumsum(each)
    return float(values[order[np.searchsorted(reached, quantile * reached[-1])]])
