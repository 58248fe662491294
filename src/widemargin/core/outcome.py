"""How a solve ended; the text of an outcome is the advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .arrays import Array
from .certificates import Certificate


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
class Solution:
    """A net dual with its margins and certificate.

    Attributes
    ----------
    net_dual, margin : array of shape (n_rows,)
        The solution and Q ``net_dual``, in float64.
    certificate : Certificate
        Evaluated from the two arrays above. A solver that was stopped early may give the dual of
        another point, which is as much of a proof.
    outcome : Outcome
        Why the solver stopped.
    iterations : int
        Working sets (coordinate descent) or Newton steps.
    """

    net_dual: Array
    margin: Array
    certificate: Certificate
    outcome: Outcome
    iterations: int
