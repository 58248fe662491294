r"""The problem of the one-class machine, whose duals have a given sum.

.. math:: \min_{f, \rho} \tfrac12 \lVert f \rVert^2 - \rho\, \nu W
          + \sum_i w_i\, (\rho - f(x_i))_+, \qquad W = \sum_i w_i,

has the dual

.. math:: \min_\alpha \tfrac12 \alpha^\top K \alpha, \qquad 0 \le \alpha_i \le w_i, \qquad
          \sum_i \alpha_i = \nu W .

For a given offset :math:`\rho` it is the hinge's problem of labels +1 without an intercept, whose
rows want margins of at least :math:`\rho` instead of 1 (:class:`~widemargin.core.losses.LossTerms`
has that margin as a constant). Its objectives are those of the one-class problem plus
:math:`\rho \nu W`, so that both have the same duality gap

.. math:: P - D = \sum_i \alpha_i\, (m_i - \rho)_+ + (w_i - \alpha_i)\, (\rho - m_i)_+,
          \qquad m = K\alpha .

The offset that makes it smallest is a weighted quantile of the margins: at most :math:`\nu W` of
the weight lies below it, and at most :math:`(1 - \nu) W` above. Objectives are reported with
:math:`\rho \nu W` added: they are positive, and a relative gap means what it means for the
classifiers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.losses import Hinge, LossTerms
from ..core.outcome import Certificate, certify
from ..core.rows import take_rows
from .kernels import Kernel
from .near_groups import neglected
from .problem import KernelProblem

# Weights that add up to the wanted sum but for rounding, relative to it, are not taken apart.
ROUNDING = 1e-12
# Distance of a model's offset from the border's rows, relative to the largest margin that could be.
BORDER = 1e-10
# A gap this small, relative to the largest objective that duals could have, is rounding.
NEGLIGIBLE = 1e-13


@dataclass
class OneClassProblem(KernelProblem):
    """A kernel problem of labels +1 whose duals add up to ``mass``; the bounds are the weights."""

    mass: float = 0.0  # ν times the sum of the weights

    @property
    def weights(self) -> Array:
        """The weights of the rows, which bound their duals."""
        return self.terms.bound

    def offset(self, margin: Array) -> float:
        """Return the offset with the best primal; the middle one of several."""
        return weighted_quantile(margin, self.weights, self.mass)

    def terms_at(self, offset: float) -> LossTerms:
        """Return the loss of rows whose margins should be at least the offset."""
        return replace(self.terms, lower_margin=offset)

    def certificate(self, net_dual: Array, margin: Array, rounding: float = 0.0) -> Certificate:
        """Prove how good duals are whose sum is ``mass``, at the best offset."""
        left_out = neglected(net_dual) if self.near else 0.0
        terms = self.terms_at(self.offset(margin))
        found = certify(terms, net_dual, margin, rounding + left_out)
        if found.gap > self.negligible_gap:
            return found
        return Certificate(found.primal, found.primal)

    @cached_property
    def largest_margin(self) -> float:
        """The largest margin that any duals could give."""
        return self.mass * float(np.abs(self.diagonal).max())

    @property
    def border(self) -> float:
        """How far below the best offset a model's is, for rounding to leave rows on their side."""
        return BORDER * self.largest_margin

    @property
    def negligible_gap(self) -> float:
        """A gap that is nothing but rounding.

        Where zero lies among the rows, as with a linear kernel on centred rows, the best function
        is zero; there is no objective then to compare a gap to.
        """
        return NEGLIGIBLE * self.mass * self.largest_margin

    def only(self, rows: NDArray[np.int64]) -> OneClassProblem:
        """Pose the problem on some of the rows, with the same share of outliers."""
        weights = self.weights[rows]
        mass = self.mass / float(self.weights.sum()) * float(weights.sum())
        X = take_rows(self.X, rows, self.kernel.name == "precomputed")
        return replace(
            self, X=X, label=self.label[rows], terms=self.terms.at(rows), mass=mass, grouped=[]
        )

    def feasible(self, net_dual: Array) -> Array:
        """Return duals near the given ones that are within their bounds and add up to the mass.

        Duals at a bound stay there if the others can make up the difference.
        """
        upper = self.weights
        found = np.clip(net_dual, 0.0, upper)
        free = (found > 0) & (found < upper)
        for movable in (free, np.ones_like(free)):
            lack = self.mass - float(found.sum())
            if abs(lack) <= ROUNDING * self.mass:  # or every row would get its share of it
                break
            room = np.where(movable, upper - found if lack > 0 else found, 0.0)
            total = float(room.sum())
            if total > 0:
                share = float(np.clip(lack / total, -1.0, 1.0))
                found = np.clip(found + share * room, 0.0, upper)
        return found

    def outlying(self, score: Array) -> Array:
        """Return the duals that have all mass on the rows of the lowest scores."""
        order = np.argsort(score, kind="stable")
        below = np.cumsum(self.weights[order])
        net_dual = np.zeros(self.n_rows)
        net_dual[order] = np.clip(
            self.mass - (below - self.weights[order]), 0.0, self.weights[order]
        )
        return net_dual


def one_class_problem(
    X: Any, kernel: Kernel, weights: Array, nu: float, threads: int
) -> OneClassProblem:
    """Pose the problem of rows and their weights, of which a share ``nu`` may be outliers."""
    terms, mass = Hinge().terms(weights), nu * float(weights.sum())
    return OneClassProblem(X, kernel, np.ones(len(weights)), terms, threads, mass=mass)


def weighted_quantile(values: Array, weights: Array, mass: float) -> float:
    """Return the value that weights of ``mass`` are below; the middle where there are several."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    slack = ROUNDING * below[-1]
    first = min(int(np.searchsorted(below, mass - slack)), len(order) - 1)
    last = first
    if below[first] <= mass + slack and first + 1 < len(order):
        last = first + 1
    return 0.5 * float(values[order[first]] + values[order[last]])
