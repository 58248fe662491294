"""How a multi-class solve ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.certificates import Certificate
from ..core.outcome import Outcome


@dataclass(frozen=True)
class MulticlassSolution:
    """Weights with their certificate.

    Attributes
    ----------
    weights : array or CSR array of shape (n_classes, size)
        Weights of the features for every class; the constant feature's is last. Sparse where at
        most a quarter of them differs from zero.
    duals : CSR array of shape (n_rows, n_classes)
        Multipliers, to start another fit from.
    certificate : Certificate
        The objective at ``weights`` and the best lower bound known.
    outcome : Outcome
        Why the solver stopped.
    iterations : int
        Epochs or Newton steps.
    """

    weights: Any
    duals: Any
    certificate: Certificate
    outcome: Outcome
    iterations: int
