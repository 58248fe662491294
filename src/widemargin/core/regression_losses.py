r"""The losses of regression, in the form of :mod:`.losses`.

Labels are +1 and a row's target :math:`t_i` moves its margins: with the residual
:math:`r_i = f(x_i) - t_i`, a loss penalises :math:`r_i < a` and :math:`r_i > b`. Weights are
:math:`C w_i`.

==========  ==  =  =================  =========================  =================  =============
loss        a   b  :math:`p_i`        :math:`n_i`                floor              bound
==========  ==  =  =================  =========================  =================  =============
absolute    −ε  ε  0                  0                          :math:`-Cw_i`      :math:`Cw_i`
its square  −ε  ε  :math:`1/(2Cw_i)`  :math:`1/(2Cw_i)`          −∞                 ∞
pinball     0   0  0                  0                          :math:`(q-1)Cw_i`  :math:`qCw_i`
ODM         −θ  θ  :math:`1/(Cw_i)`   :math:`1/(\upsilon Cw_i)`  −∞                 ∞
==========  ==  =  =================  =========================  =================  =============
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array
from .losses import LossTerms


@dataclass(frozen=True)
class EpsilonInsensitive:
    """``weight * max(0, |residual| - epsilon)``: support vector regression."""

    epsilon: float
    name: str = "epsilon_insensitive"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        zero = np.zeros_like(weights)
        return LossTerms(-self.epsilon, self.epsilon, zero, zero, weights, -weights)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive:
    """``weight * max(0, |residual| - epsilon)**2``."""

    epsilon: float
    name: str = "squared_epsilon_insensitive"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        return _curved(self.epsilon, 0.5 / weights, 0.5 / weights)


@dataclass(frozen=True)
class Pinball:
    """``weight * max(-quantile * residual, (1 - quantile) * residual)``: a conditional quantile."""

    quantile: float
    name: str = "pinball"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        zero = np.zeros_like(weights)
        return LossTerms(
            0.0, 0.0, zero, zero, self.quantile * weights, (self.quantile - 1.0) * weights
        )


@dataclass(frozen=True)
class DeviationBand:
    """ODM: half the squared distance of the residual to [−θ, θ], its upper side weighted by υ."""

    upsilon: float
    theta: float
    name: str = "odm"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        return _curved(self.theta, 1.0 / weights, 1.0 / (self.upsilon * weights))


def _curved(band: float, below: Array, above: Array) -> LossTerms:
    infinite = np.full_like(below, np.inf)
    return LossTerms(-band, band, below, above, infinite, -infinite)
