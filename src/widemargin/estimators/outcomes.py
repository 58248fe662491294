"""Warnings of fits that did not converge, or have no certificate."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..solvers.binary import FittedProblem


def warn_of_outcomes(results: list[FittedProblem], tol: float, estimator: str) -> None:
    """Say what did not converge, or carries no certificate; once for all binary problems."""
    lowest = min(r.lowest_eigenvalue for r in results)
    if lowest < 0:
        warnings.warn(
            f"The kernel matrix is indefinite (lowest eigenvalue about {lowest:.3g}), so there is "
            "no duality gap to certify the solution; `relative_gap_` is NaN. The diagonal was "
            f"shifted by {-2 * lowest:.3g} for training. Use a positive semi-definite kernel "
            "(rbf, laplacian, linear, poly with coef0 >= 0) for a certificate.",
            ConvergenceWarning,
            stacklevel=4,
        )
    failed = [r for r in results if not r.outcome.converged]
    if failed:
        worst = max(failed, key=lambda r: np.nan_to_num(r.certificate.relative_gap))
        count = f" in {len(failed)} of {len(results)} binary problems" if len(results) > 1 else ""
        warnings.warn(
            f"{estimator} did not converge{count}: relative gap "
            f"{worst.certificate.relative_gap:.3g}, wanted tol={tol:g}. {worst.outcome.value}",
            ConvergenceWarning,
            stacklevel=4,
        )
