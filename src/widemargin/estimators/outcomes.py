"""Warnings of fits that did not converge, or have no certificate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.certificates import Certificate
from ..core.outcome import Outcome
from ..kernel.solvers.binary import FittedProblem


class Solved(Protocol):
    """A binary problem that a solver has left."""

    @property
    def certificate(self) -> Certificate:
        """What is proved of it."""
        ...

    @property
    def outcome(self) -> Outcome:
        """Why the solver stopped."""
        ...


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
    warn_of_unconverged(results, tol, estimator, stacklevel=5)


def warn_of_unconverged(
    results: Sequence[Solved], tol: float, estimator: str, stacklevel: int
) -> None:
    """Say what did not converge, once for all binary problems."""
    failed = [r for r in results if not r.outcome.converged]
    if failed:
        worst = max(failed, key=lambda r: np.nan_to_num(r.certificate.relative_gap))
        count = f" in {len(failed)} of {len(results)} binary problems" if len(results) > 1 else ""
        warnings.warn(
            f"{estimator} did not converge{count}: relative gap "
            f"{worst.certificate.relative_gap:.3g}, wanted tol={tol:g}. {worst.outcome.value}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
