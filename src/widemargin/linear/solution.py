"""How a linear solve ended."""

from __future__ import annotations

from dataclasses import dataclass

from ..certificates import Certificate
from ..losses import Array
from ..solvers.outcome import Outcome


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
