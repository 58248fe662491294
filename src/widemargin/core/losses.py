r"""The losses, as one family of piecewise quadratics.

Every kernel problem of the library is

.. math:: \min_\gamma \tfrac12 \gamma^\top Q \gamma + \sum_i \varphi_i(\gamma_i), \qquad
          Q = Y K Y,

with one signed unknown per row, the *net dual* (for ODM the difference of the paper's two duals,
of which at most one is non-zero). The losses differ in constants only:

.. math:: \varphi_i(\gamma) = \tfrac12 p_i \gamma_+^2 + \tfrac12 n_i \gamma_-^2
          - a_i\,\gamma_+ + b_i\,\gamma_-, \qquad
          \text{floor}_i \le \gamma \le \text{bound}_i

=============  =====  =====  =================  ==========================  =====  ============
loss           a      b      :math:`p_i`        :math:`n_i`                 floor  bound
=============  =====  =====  =================  ==========================  =====  ============
hinge          1      ∞      0                  –                           0      :math:`Cw_i`
squared hinge  1      ∞      :math:`1/(2Cw_i)`  –                           0      ∞
ODM            1 − θ  1 + θ  :math:`1/(Cw_i)`   :math:`1/(\upsilon C w_i)`  −∞     ∞
=============  =====  =====  =================  ==========================  =====  ============

``a`` and ``b`` are the margins below and above which a row is penalised. In a regression, labels
are +1 and both are moved by the row's target, :math:`a_i = a + t_i` and :math:`b_i = b + t_i`: the
losses of :mod:`.regression_losses` have the same form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

# Smaller weights are as good as zero, and their reciprocals overflow.
NO_WEIGHT = 1e-250

# Newton's method solves hinges in rounds, by an augmented Lagrangian that smooths each hinge over
# an interval of some width: that of the first round,
FIRST_WIDTH = 2.0
# its factor from round to round,
NARROWING = 0.5
# and the least width, which is the accuracy of the margins.
LEAST_WIDTH = 1e-9
# A round ends when the gap of its smoothed problem is this share of the gap of the hinge problem.
INNER_SHARE = 0.5


@dataclass(frozen=True)
class LossTerms:
    """A loss with its per-row constants filled in: all that solvers use of it."""

    # ``a`` and ``b``; ``upper_margin`` is infinite for one-sided losses.
    lower_margin: float
    upper_margin: float
    # (n_rows,): curvatures ``p`` and ``n``.
    below: Array
    above: Array
    # (n_rows,): largest and least net dual; the least is 0 for one-sided losses.
    bound: Array
    floor: Array
    # (n_rows,): what a row's two margins are moved by, the target of a regression; None means 0.
    offset: Array | None = None

    @property
    def two_sided(self) -> bool:
        """Whether margins may be too large."""
        return bool(np.isfinite(self.upper_margin))

    @property
    def smooth(self) -> bool:
        """Whether the primal loss is piecewise quadratic, which Newton's method needs."""
        curved = np.all(self.below > 0) and np.all(np.isinf(self.bound))
        return bool(curved and (not self.two_sided or np.all(np.isinf(self.floor))))

    @property
    def lower(self) -> Array | float:
        """The margins below which rows are penalised, offsets included."""
        return self.lower_margin if self.offset is None else self.lower_margin + self.offset

    @property
    def upper(self) -> Array | float:
        """The margins above which rows are penalised, offsets included."""
        return self.upper_margin if self.offset is None else self.upper_margin + self.offset

    def wanted(self, low: NDArray[np.bool_]) -> Array:
        """Return the margin at the end of the flat piece that each row has left."""
        return np.where(low, self.lower, self.upper)

    def at(self, rows: NDArray[np.int64] | slice) -> LossTerms:
        """Return the loss of some rows."""
        return replace(
            self,
            below=self.below[rows],
            above=self.above[rows],
            bound=self.bound[rows],
            floor=self.floor[rows],
            offset=None if self.offset is None else self.offset[rows],
        )

    def nearest(self, net_dual: Array) -> Array:
        """Return the closest net dual inside the loss's domain."""
        return np.clip(net_dual, self.floor, self.bound)

    def phi(self, net_dual: Array) -> Array:
        r"""Evaluate :math:`\varphi_i`, infinite outside its domain."""
        positive, negative = np.maximum(net_dual, 0.0), np.maximum(-net_dual, 0.0)
        value = (0.5 * self.below * positive - self.lower) * positive
        if self.two_sided:
            value = value + (0.5 * self.above * negative + self.upper) * negative
        outside = (net_dual > self.bound * (1 + 1e-12)) | (net_dual < self.floor * (1 + 1e-12))
        return np.where(outside, np.inf, value)

    def primal(self, margin: Array) -> Array:
        r"""Loss of each row at its margin: the conjugate of :math:`\varphi_i` at −margin."""
        short = np.maximum(self.lower - margin, 0.0)
        if self.smooth:
            loss = 0.5 * short * short / self.below
        else:
            loss = _bounded(short, self.below, self.bound)
        if self.two_sided:
            excess = np.maximum(margin - self.upper, 0.0)
            if self.smooth:
                loss = loss + 0.5 * excess * excess / self.above
            else:
                loss = loss + _bounded(excess, self.above, -self.floor)
        return loss

    def implied_dual(self, margin: Array) -> Array:
        """Net dual that a margin implies, −ℓ′(margin); for the hinge's kink, its upper end."""
        with np.errstate(divide="ignore", invalid="ignore"):
            short = np.maximum(self.lower - margin, 0.0)
            positive = np.where(short > 0, np.minimum(short / self.below, self.bound), 0.0)
            if not self.two_sided:
                return positive
            excess = np.maximum(margin - self.upper, 0.0)
            negative = np.where(excess > 0, np.minimum(excess / self.above, -self.floor), 0.0)
        return positive - negative

    def coordinate_minimiser(self, rest: Array, diagonal: Array) -> Array:
        """Minimise over one net dual, given the margin without it and the diagonal of Q."""
        with np.errstate(divide="ignore", invalid="ignore"):
            positive = np.minimum((self.lower - rest) / (diagonal + self.below), self.bound)
            positive = np.where(rest < self.lower, positive, 0.0)
            if not self.two_sided:
                return positive
            negative = np.maximum((self.upper - rest) / (diagonal + self.above), self.floor)
        return np.where(rest > self.upper, negative, positive)


def _bounded(distance: Array, curvature: Array, bound: Array) -> Array:
    """Evaluate a loss that is quadratic until the dual meets its bound, and linear beyond."""
    with np.errstate(invalid="ignore"):  # no curvature and no bound: a row without weight
        reach = np.minimum(distance, bound * curvature)
    rest = distance - reach
    curvature = np.where(curvature > 0, curvature, 1.0)
    return np.asarray(0.5 * reach * reach / curvature + bound * rest)


class Loss(Protocol):
    """What an estimator gives to the solvers."""

    @property
    def name(self) -> str:
        """Name of the loss."""
        ...

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights (``C`` times sample weight)."""
        ...


@dataclass(frozen=True)
class Hinge:
    """``weight * max(0, 1 - margin)``: the support vector machine."""

    name: str = "hinge"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        zero = np.zeros_like(weights)
        return LossTerms(1.0, np.inf, zero, zero, weights, zero)


@dataclass(frozen=True)
class SquaredHinge:
    """``weight * max(0, 1 - margin)**2``."""

    name: str = "squared_hinge"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        zero, infinite = np.zeros_like(weights), np.full_like(weights, np.inf)
        return LossTerms(1.0, np.inf, 0.5 / weights, zero, infinite, zero)


@dataclass(frozen=True)
class MarginDistribution:
    """ODM: squared distance of the margin to [1 − θ, 1 + θ], its upper side weighted by υ."""

    upsilon: float
    theta: float
    name: str = "odm"

    def terms(self, weights: Array) -> LossTerms:
        """Fill in the constants for rows of the given weights."""
        return LossTerms(
            1.0 - self.theta,
            1.0 + self.theta,
            1.0 / weights,
            1.0 / (self.upsilon * weights),
            np.full_like(weights, np.inf),
            np.full_like(weights, -np.inf),
        )


@dataclass(frozen=True)
class LossConstants:
    """The constants of a loss, for a row of weight 1.

    A row of weight ``v`` has ``below / v``, ``above / v``, ``bound * v`` and ``floor * v``.
    """

    lower_margin: float
    upper_margin: float
    below: float
    above: float
    bound: float
    floor: float

    @classmethod
    def of(cls, loss: Loss, C: float) -> LossConstants:
        """Take the constants of a loss whose rows weigh ``C``."""
        terms = loss.terms(np.array([C], dtype=np.float64))
        return cls(
            terms.lower_margin,
            terms.upper_margin,
            float(terms.below[0]),
            float(terms.above[0]),
            float(terms.bound[0]),
            float(terms.floor[0]),
        )

    def primal(self, margin: float) -> float:
        """Loss of a row of weight 1 at a margin."""
        each = (np.array([value]) for value in (self.below, self.above, self.bound, self.floor))
        terms = LossTerms(self.lower_margin, self.upper_margin, *each)
        return float(terms.primal(np.array([margin]))[0])

    def times(self, factor: float) -> LossConstants:
        """Return the constants of rows that each stand for ``factor`` rows."""
        return replace(
            self,
            below=self.below / factor,
            above=self.above / factor,
            bound=self.bound * factor,
            floor=self.floor * factor,
        )

    @property
    def smooth(self) -> bool:
        """Whether the loss has a continuous derivative."""
        return self.below > 0

    @property
    def smoothed(self) -> bool:
        """Whether this is a round of an augmented Lagrangian: curved, then linear."""
        return self.below > 0 and bool(np.isfinite(self.bound))

    def rounded(self, width: float) -> LossConstants:
        """Return the loss with its kinks made into curves, over margins of the given width."""
        curvature = width / max(self.bound, -self.floor)
        return replace(self, below=curvature, above=curvature if self.floor < 0 else self.above)

    def in_units(self, unit: float) -> LossConstants:
        r"""Return the loss of margins that are measured in another unit.

        With :math:`w = u w'` and :math:`t = u t'`, the objective is :math:`u^2` times that of
        :math:`w'`, :math:`t'` and this loss: margins and bounds are divided by the unit, curvatures
        stay.
        """
        return replace(
            self,
            lower_margin=self.lower_margin / unit,
            upper_margin=self.upper_margin / unit,
            bound=self.bound / unit,
            floor=self.floor / unit,
        )

    @property
    def steepest(self) -> float:
        """Largest second derivative of the loss of a row of weight 1."""
        above = 1.0 / self.above if np.isfinite(self.upper_margin) and self.above > 0 else 0.0
        return max(1.0 / self.below if self.below > 0 else np.inf, above)
