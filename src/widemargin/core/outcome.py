r"""How a solve ended: what is proved of its solution, and why it stopped.

For margins :math:`m = Q\gamma`

.. math:: P = \tfrac12 \gamma^\top m + \sum_i \ell_i(m_i), \qquad
          D = -\tfrac12 \gamma^\top m - \sum_i \varphi_i(\gamma_i), \qquad
          P - P^\star \le P - D .
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

import numpy as np

from .arrays import Array
from .losses import LossTerms

Iterate = TypeVar("Iterate")


@dataclass(frozen=True)
class Certificate:
    """Primal and dual objective of one solution."""

    # Objectives; their difference bounds the suboptimality of either.
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """P − D; rounding below zero counts as zero."""
        return self.primal - self.dual if not self.primal < self.dual else 0.0

    @property
    def relative_gap(self) -> float:
        """(P − D) / P, the number that solvers stop on."""
        return self.gap / self.primal if self.primal != 0 else 0.0


def certify(terms: LossTerms, net_dual: Array, margin: Array, error: float = 0.0) -> Certificate:
    """Evaluate both objectives, given ``margin`` = Q ``net_dual``.

    If margins may be off by ``error`` each, the dual is lowered so that P − D is at least the gap
    of any margins so near: each row's share of the gap is convex in its margin, and taken where it
    is largest.
    """
    half = 0.5 * float(net_dual @ margin)
    losses = terms.primal(margin)
    primal = half + float(np.sum(losses))
    dual = -half - float(np.sum(terms.phi(net_dual)))
    if error > 0:
        step = net_dual * error
        rise = [terms.primal(margin + error) + step, terms.primal(margin - error) - step]
        dual -= float(np.sum(np.maximum(*rise) - losses))
    return Certificate(primal, dual)


class Outcome(Enum):
    """Why a solver stopped; the text is the advice."""

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
    """Where a solver stopped, and why."""

    # The solution, in the terms of its family: net duals with their margins (kernel), weights
    # (linear), weights and multipliers of all classes (multi-class).
    iterate: Iterate
    certificate: Certificate  # the objective there and the best lower bound known
    outcome: Outcome
    iterations: int
    solver: str = ""
