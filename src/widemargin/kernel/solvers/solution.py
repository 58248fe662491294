"""How a kernel solve ended."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.arrays import Array
from ...core.certificates import Certificate
from ...core.outcome import Outcome


@dataclass(frozen=True)
class KernelSolution:
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
