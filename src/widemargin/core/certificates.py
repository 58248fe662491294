r"""Duality gaps: how far a solution can be from the best one, proved.

For margins :math:`m = Q\gamma`

.. math:: P = \tfrac12 \gamma^\top m + \sum_i \ell_i(m_i), \qquad
          D = -\tfrac12 \gamma^\top m - \sum_i \varphi_i(\gamma_i), \qquad
          P - P^\star \le P - D .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array
from .losses import LossTerms


@dataclass(frozen=True)
class Certificate:
    """Primal and dual objective of one solution.

    Attributes
    ----------
    primal, dual : float
        Objectives; their difference bounds the suboptimality of either.
    """

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


def certify(terms: LossTerms, net_dual: Array, margin: Array) -> Certificate:
    """Evaluate both objectives, given ``margin`` = Q ``net_dual``."""
    half = 0.5 * float(net_dual @ margin)
    primal = half + float(np.sum(terms.primal(margin)))
    dual = -half - float(np.sum(terms.phi(net_dual)))
    return Certificate(primal, dual)
