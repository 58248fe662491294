"""How a linear solve ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.certificates import Certificate
from ..core.outcome import Outcome


@dataclass(frozen=True)
class LinearSolution:
    """Weights with their certificate.

    Attributes
    ----------
    w : array of shape (size,)
        Weights of the features; the constant feature's is last.
    certificate : Certificate
        The objective at ``w`` and the best lower bound known.
    outcome : Outcome
        Why the solver stopped.
    iterations : int
        Newton steps, epochs or stages.
    """

    w: Array
    certificate: Certificate
    outcome: Outcome
    iterations: int


def fitted_attributes(
    w: Array, constant: float, results: list[LinearSolution], tol: float
) -> dict[str, Any]:
    """Return what an estimator shows of its problems' weights, the last feature their constant.

    Where an interrupt left problems without a solution, there are no gaps to show.
    """
    n_features = w.shape[1] - (constant != 0)
    intercept = constant * w[:, n_features] if constant else np.zeros(len(w))
    complete = len(results) == len(w)
    gaps = [result.certificate.gap for result in results]
    relative = [result.certificate.relative_gap for result in results]
    return {
        "coef_": np.ascontiguousarray(w[:, :n_features]),
        "intercept_": intercept + 0.0,  # no -0.0
        "dual_gap_": float(np.sum(gaps)) if complete else np.nan,
        "relative_gap_": float(np.max(relative)) if complete else np.nan,
        "converged_": complete and max(relative) <= tol,
    }
