r"""The relative duality gap of a fitted classifier, by one formula for everybody, in float64.

A model :math:`f = \sum_i y_i γ_i κ(x_i, ·)` with an intercept b is scored on the problem it solves,

.. math:: P = \tfrac12 \lVert f \rVert^2 + \sum_i ℓ(y_i (f(x_i) + b)), \qquad
          D = \sum_i d(γ_i) - \tfrac12 \lVert f \rVert^2, \qquad \text{gap} = (P - D) / P,

with the loss ℓ of a margin and its conjugate −d. A free intercept requires the duals of both
classes to be equal in sum, which float32 keeps up to rounding only: the heavier class is scaled
down before D is evaluated, so that D stays a lower bound. P is that of the model as it is. A
penalised intercept is a constant in the kernel, hence a part of f.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.race.objective import Loss
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel

# By this share of their box float32 duals may leave it.
ROUNDING = 1e-5


@dataclass(frozen=True)
class BinaryProblem:
    """One binary problem and the model of it.

    Attributes
    ----------
    rows : array of int
        Training rows that take part.
    label, coef : arrays of shape (len(rows),)
        Label ±1; label times net dual.
    free_intercept : float
        Intercept that nothing penalises; zero if there is none.
    has_free_intercept : bool
        Whether there is one.
    constant : float
        Added to the kernel: 1 where the intercept is penalised.
    """

    rows: np.ndarray
    label: np.ndarray
    coef: np.ndarray
    free_intercept: float = 0.0
    has_free_intercept: bool = False
    constant: float = 0.0


def problems_of(model: Any, y: np.ndarray) -> Iterator[BinaryProblem]:
    """Yield the binary problems that a fitted SVC, or one of ours, solved."""
    classes, dual_coef = model.classes_, _dense(model.dual_coef_)
    everything = np.arange(len(y))
    ours = not hasattr(model, "shrinking")
    pairs = list(combinations(range(len(classes)), 2))
    for number in range(len(dual_coef) if ours else len(pairs)):
        if len(classes) == 2:
            rows, label, on_support = everything, _sign(y == classes[1]), dual_coef[0]
        elif ours and model.multi_class_ == "ovr":
            rows, label, on_support = everything, _sign(y == classes[number]), dual_coef[number]
        else:
            i, j = pairs[number]
            rows = np.flatnonzero((y == classes[i]) | (y == classes[j]))
            label = _sign(y[rows] == classes[i])
            on_support = (
                dual_coef[number] if ours else _of_pair(dual_coef, y[model.support_], classes, i, j)
            )
        coef = np.zeros(len(y))
        coef[model.support_] = on_support
        if ours:
            constant = model.kernel_constant_
            yield BinaryProblem(rows, label, coef[rows], constant=constant)
        else:
            intercept = float(np.ravel(model.intercept_)[number])
            yield BinaryProblem(rows, label, coef[rows], intercept, True)


def _of_pair(
    dual_coef: np.ndarray, support_label: np.ndarray, classes: np.ndarray, i: int, j: int
) -> np.ndarray:
    """Find a pair's coefficients in LIBSVM's layout.

    A support vector has one coefficient for every class but its own, in the order of the classes:
    that of pair (i, j), i < j, is in row j − 1 for vectors of class i and in row i for those of j.
    """
    first, second = support_label == classes[i], support_label == classes[j]
    return np.asarray(np.where(first, dual_coef[j - 1], np.where(second, dual_coef[i], 0.0)))


def _sign(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


@dataclass(frozen=True)
class Score:
    """Primal and dual objective of a model."""

    primal: float
    dual: float

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal objective."""
        return (self.primal - self.dual) / self.primal


def score(
    problem: BinaryProblem, loss: Loss, X: Any, gamma: float, threads: int = 1, name: str = "rbf"
) -> Score:
    """Score a binary model by its own coefficients; ``name`` is that of the kernel."""
    y, coef = problem.label, problem.coef
    net_dual = y * coef
    _check_box(net_dual, loss)
    support = np.flatnonzero(coef)
    of_class = np.stack([np.where(y > 0, coef, 0.0), np.where(y < 0, coef, 0.0)])
    kernel = Kernel(name, gamma, constant=problem.constant)
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
