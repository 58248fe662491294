"""Warnings of fits that did not converge."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.certificates import Certificate
from ..core.outcome import Outcome


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
