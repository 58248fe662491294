r"""The one formula that everybody is scored by: the relative duality gap, in float64.

A model :math:`f = \sum_i y_i γ_i κ(x_i, ·)` with an intercept b is scored on the problem it solves,

.. math:: P = \tfrac12 \lVert f \rVert^2 + \sum_i ℓ(y_i (f(x_i) + b)), \qquad
          D = \sum_i d(γ_i) - \tfrac12 \lVert f \rVert^2, \qquad \text{gap} = (P - D) / P,

with the loss ℓ of a margin and its conjugate −d. A free intercept asks the duals of both classes to
be equal in sum, which float32 keeps up to rounding only: the heavier class is scaled down before D
is evaluated, so that D stays a lower bound. P is that of the model as it is. A penalised intercept
is a constant in the kernel, hence a part of f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

from .binary_problems import BinaryProblem

# What float32 duals may stray from their box, as a share of it.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Loss:
    """A loss: its value at a margin, what a dual adds to the dual objective, the duals' box."""

    primal: Callable[[np.ndarray], np.ndarray]
    dual: Callable[[np.ndarray], np.ndarray]
    lower: float
    upper: float


def loss_of(name: str, C: float, upsilon: float = 0.5, theta: float = 0.2) -> Loss:
    """Return a loss by name: hinge, squared_hinge or odm."""
    if name == "hinge":
        return Loss(lambda m: C * _positive(1.0 - m), lambda g: g, 0.0, C)
    if name == "squared_hinge":
        return Loss(
            lambda m: C * _positive(1.0 - m) ** 2, lambda g: g - g**2 / (4.0 * C), 0.0, np.inf
        )
    if name != "odm":
        raise ValueError(f"`name` must be 'hinge', 'squared_hinge' or 'odm'; got {name!r}.")

    def primal(m: np.ndarray) -> np.ndarray:
        below, above = _positive(1.0 - theta - m), _positive(m - 1.0 - theta)
        return np.asarray(0.5 * C * (below**2 + upsilon * above**2))

    def dual(g: np.ndarray) -> np.ndarray:
        up, down = _positive(g), _positive(-g)
        gained = (1.0 - theta) * up - (1.0 + theta) * down
        return np.asarray(gained - up**2 / (2.0 * C) - down**2 / (2.0 * C * upsilon))

    return Loss(primal, dual, -np.inf, np.inf)


@dataclass(frozen=True)
class Score:
    """Primal and dual objective of a model."""

    primal: float
    dual: float

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal objective."""
        return (self.primal - self.dual) / self.primal


def score(problem: BinaryProblem, loss: Loss, X: Any, gamma: float, threads: int = 1) -> Score:
    """Score a binary model by its own coefficients on its training rows."""
    y, coef = problem.label, problem.coef
    net_dual = y * coef
    _check_box(net_dual, loss)
    support = np.flatnonzero(coef)
    of_class = np.stack([np.where(y > 0, coef, 0.0), np.where(y < 0, coef, 0.0)])
    kernel = Kernel("rbf", gamma, constant=problem.constant)
    rows = as_rows(X, np.float64)
    parts = kernel.product(rows, rows, of_class[:, support], support, threads=threads)
    decision = parts.sum(axis=0)
    norm = float(coef @ decision)
    primal = 0.5 * norm + float(loss.primal(y * (decision + problem.free_intercept)).sum())
    factors = _balancing(net_dual, y) if problem.has_free_intercept else np.ones(2)
    scaled = factors @ of_class
    dual = float(loss.dual(y * scaled).sum()) - 0.5 * float(scaled @ (factors @ parts))
    return Score(primal, dual)


def _balancing(net_dual: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return factors of the positive and the negative duals that make their sums equal."""
    sums = np.array([net_dual[y > 0].sum(), net_dual[y < 0].sum()])
    return np.asarray(np.min(sums) / np.where(sums > 0.0, sums, 1.0))


def _check_box(net_dual: np.ndarray, loss: Loss) -> None:
    scale = loss.upper if np.isfinite(loss.upper) else 1.0
    low, high = net_dual.min(), net_dual.max()
    if low < loss.lower - ROUNDING * scale or high > loss.upper + ROUNDING * scale:
        raise ValueError(
            f"Duals must lie in [{loss.lower:g}, {loss.upper:g}]; got {low:g} to {high:g}. "
            "The model does not solve the problem it is scored on."
        )


def _positive(value: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(value, 0.0))
