"""Three margin losses, one family of duals.

With m the margin y·f(x) and Cᵢ = C·wᵢ the weight of row i, the losses are

=============  =============================  =====  =====  =====  =======  ==============
loss           ℓᵢ(m)                          a      b      p      n        [lower, upper]
=============  =============================  =====  =====  =====  =======  ==============
hinge          Cᵢ(1 − m)₊                     1      –      0      –        [0, Cᵢ]
squared hinge  Cᵢ(1 − m)₊²                    1      –      1/2Cᵢ  –        [0, ∞)
ODM            ½Cᵢ[(1−θ−m)₊² + υ(m−1−θ)₊²]    1 − θ  1 + θ  1/Cᵢ   1/(υCᵢ)  (−∞, ∞)
=============  =============================  =====  =====  =====  =======  ==============

and each is the conjugate of a two-sided quadratic on an interval::

    ℓᵢ(m) = max over γ of −mγ − φᵢ(γ),
    φᵢ(γ) = ½·pᵢ·γ₊² + ½·nᵢ·γ₋² − a·γ₊ + b·γ₋    if lowerᵢ ≤ γ ≤ upperᵢ, else +∞

where γ₊ = max(γ, 0) and γ₋ = max(−γ, 0). A solver asks a loss only for the four methods below.

The ODM papers use two multipliers per row, ζ and β, for a margin that is too small or too large. A
margin cannot be both, so ζβ = 0 at the optimum and γ = ζ − β holds them both. Their λ weighs the
mean loss, ours a row: see ``row_weight``.
"""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class MarginLoss(ABC):
    """The family: φ and its coordinate step follow from the constants of the table above."""

    a: float
    b: float = np.nan  # the hinges never look to the left of zero
    p: Array
    n: Array
    lower: Array
    upper: Array

    @abstractmethod
    def primal_loss(self, margins: Array) -> Array:
        """ℓᵢ(mᵢ) of every row."""

    @abstractmethod
    def implied_dual(self, margins: Array) -> Array:
        """−ℓᵢ′(mᵢ) of every row: the net dual that these margins would have at the optimum."""

    def phi(self, net_dual: Array) -> Array:
        """φᵢ(γᵢ) of every row."""
        right = 0.5 * self.p * net_dual**2 - self.a * net_dual
        left = 0.5 * self.n * net_dual**2 - self.b * net_dual
        value = np.where(net_dual > 0, right, np.where(net_dual < 0, left, 0.0))
        allowed = (self.lower <= net_dual) & (net_dual <= self.upper)
        return np.where(allowed, value, np.inf)

    def coordinate_minimiser(self, i: int, margin_without_i: float, Q_ii: float) -> float:
        """Minimise ½·Q_ii·γ² + margin_without_i·γ + φᵢ(γ) over the number γ.

        ``margin_without_i`` is Σ over j ≠ i of Qᵢⱼγⱼ. If it falls short of a, γ is positive; if it
        exceeds b, negative; in between, zero. A flat piece (no curvature) runs to its bound.
        """
        if margin_without_i < self.a:
            curvature = Q_ii + self.p[i]
            step = (self.a - margin_without_i) / curvature if curvature > 0 else np.inf
            return float(min(step, self.upper[i]))
        if margin_without_i > self.b:
            curvature = Q_ii + self.n[i]
            step = (self.b - margin_without_i) / curvature if curvature > 0 else -np.inf
            return float(max(step, self.lower[i]))
        return 0.0


class Hinge(MarginLoss):
    """ℓᵢ(m) = Cᵢ(1 − m)₊, the support vector machine."""

    def __init__(self, C: float, weights: Array) -> None:
        self.row_weights = C * weights
        self.a = 1.0
        self.p = self.n = self.lower = np.zeros_like(weights)
        self.upper = self.row_weights

    def primal_loss(self, margins: Array) -> Array:
        return self.row_weights * np.maximum(1 - margins, 0)

    def implied_dual(self, margins: Array) -> Array:
        # At the kink, m = 1, anything in [0, Cᵢ] would do.
        return np.where(margins < 1, self.row_weights, 0.0)


class SquaredHinge(MarginLoss):
    """ℓᵢ(m) = Cᵢ(1 − m)₊²."""

    def __init__(self, C: float, weights: Array) -> None:
        self.row_weights = C * weights
        self.a = 1.0
        self.p, self.upper = _curvature_and_bound(2 * self.row_weights)
        self.n = self.lower = np.zeros_like(weights)

    def primal_loss(self, margins: Array) -> Array:
        shortfall: Array = np.maximum(1 - margins, 0)
        return self.row_weights * shortfall**2

    def implied_dual(self, margins: Array) -> Array:
        return 2 * self.row_weights * np.maximum(1 - margins, 0)


class ODM(MarginLoss):
    """ℓᵢ(m) = ½Cᵢ[(1−θ−m)₊² + υ(m−1−θ)₊²], the optimal margin distribution machine."""

    def __init__(self, C: float, weights: Array, upsilon: float, theta: float) -> None:
        self.row_weights = C * weights
        self.upsilon = upsilon
        self.a = 1 - theta
        self.b = 1 + theta
        self.p, self.upper = _curvature_and_bound(self.row_weights)
        self.n, minus_lower = _curvature_and_bound(upsilon * self.row_weights)
        self.lower = -minus_lower

    def primal_loss(self, margins: Array) -> Array:
        shortfall = np.maximum(self.a - margins, 0)
        excess = np.maximum(margins - self.b, 0)
        return 0.5 * self.row_weights * (shortfall**2 + self.upsilon * excess**2)

    def implied_dual(self, margins: Array) -> Array:
        shortfall = np.maximum(self.a - margins, 0)
        excess = np.maximum(margins - self.b, 0)
        return self.row_weights * (shortfall - self.upsilon * excess)


def _curvature_and_bound(weights: Array) -> tuple[Array, Array]:
    """1/weight on [0, ∞), or, for a row without weight, nothing on [0, 0]: avoids ∞·0 in φ."""
    curvature = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
    return curvature, np.where(weights > 0, np.inf, 0.0)


def make_loss(name: str, C: float, weights: Array, upsilon: float, theta: float) -> MarginLoss:
    """Build the loss "hinge", "squared_hinge" or "odm"; only the last reads υ and θ."""
    if name == "hinge":
        return Hinge(C, weights)
    if name == "squared_hinge":
        return SquaredHinge(C, weights)
    if name == "odm":
        return ODM(C, weights, upsilon, theta)
    raise ValueError(f"`name` must be 'hinge', 'squared_hinge' or 'odm'; got {name!r}.")


def row_weight(lam: float, weights: Array, theta: float) -> float:
    """C such that λ = C·Σw·(1−θ)²: the papers' λ on the scale of one row of weight one."""
    return float(lam / (np.sum(weights) * (1 - theta) ** 2))
