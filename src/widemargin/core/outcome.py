"""How a solve ended; the text of an outcome is the advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from .certificates import Certificate

Iterate = TypeVar("Iterate")


class Outcome(Enum):
    """Why a solver stopped."""

    CONVERGED = "The duality gap is within `tol`."
    ITERATIONS = (
        "`max_iter` was reached: raise it, or loosen `tol`. Where that does not help, scale the "
        "features or lower `C`."
    )
    TIME = "`max_time` was reached: raise it, or loosen `tol`."
    STALLED = (
        "The gap no longer shrinks, which happens when `C` is huge, features are unscaled or the "
        "data are float32: scale the features, lower `C`, pass float64, or loosen `tol`."
    )

    @property
    def converged(self) -> bool:
        """Whether the certificate is within ``tol``."""
        return self is Outcome.CONVERGED


@dataclass(frozen=True)
class Solution(Generic[Iterate]):
    """Where a solver stopped, and why.

    Attributes
    ----------
    iterate : object
        The solution, in the terms of its family: net duals with their margins (kernel), weights
        (linear), weights and multipliers of all classes (multi-class).
    certificate : Certificate
        The objective there and the best lower bound known.
    outcome : Outcome
        Why the solver stopped.
    iterations : int
        Iterations it took.
    solver : str
        Name of the solver.
    """

    iterate: Iterate
    certificate: Certificate
    outcome: Outcome
    iterations: int
    solver: str = ""
