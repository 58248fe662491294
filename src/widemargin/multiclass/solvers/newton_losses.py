r"""Losses of a block's rows for other classes, with their kinks rounded.

Both formulations add up a hinge for every class but the row's own, :math:`(1 + s)_+`. In Lee, Lin
and Wahba's (``llw``) s is the class's score, in Weston and Watkins's (``ww``) how much it exceeds
that of the row's own class. With multipliers :math:`\alpha_{ic} = C_i u_{ic}` and a width
:math:`\delta`, such a hinge becomes

.. math:: C_i \max_{0 \le v \le 1} \; v (1 + s) - \tfrac{\delta}{2} (v - u_{ic})^2,

and the v that attains it, :math:`\operatorname{clip}(u_{ic} + (1 + s)/\delta, 0, 1)`, times
:math:`C_i` is feasible for the original problem. Memory: at most five doubles and a byte for every
row and class; rows are turned into dense float64 ones a slice at a time, and slices are evaluated
on several threads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.outcome import Certificate
from ...engines import LocalEngine
from ..problem import InMemoryProblem

# A slice of rows, or of their scores, has about so many numbers: 2 MB.
SLICE_NUMBERS = 2**18
# Slices whose sums are kept until they are added up; fixed, so that results are.
SLICES_AT_A_TIME = 8
BYTES_PER_LOSS = 5 * 8 + 1


@dataclass(frozen=True)
class RoundedEvaluation:
    """The rounded problem at some weights."""

    # (n_classes, size): gradient of the rounded objective, along weights that sum to zero.
    gradient: Array
    # Certificate of the weights and the implied multipliers, for the original problem.
    certificate: Certificate

    @property
    def own_gap(self) -> float:
        """Duality gap of the rounded problem."""
        return 0.5 * float(np.vdot(self.gradient, self.gradient))


def evaluation(w: Array, loss: float, total: float, pull: Array) -> RoundedEvaluation:
    """Evaluate weights that sum to zero, given sums over all rows."""
    pull = pull - pull.mean(axis=0)  # minus the weights that the implied multipliers have
    certificate = Certificate(
        0.5 * float(np.vdot(w, w)) + loss, total - 0.5 * float(np.vdot(pull, pull))
    )
    return RoundedEvaluation(w + pull, certificate)


class SmoothedLosses:
    """The losses of a block's rows for all classes but their own.

    Attributes
    ----------
    multiplier : array of shape (n_rows, n_classes)
        u, the share of its bound that a multiplier has.
    implied : array of shape (n_rows, n_classes)
        v, of the weights evaluated last.
    curved : bool array of shape (n_rows, n_classes)
        Whether v is between 0 and 1.
    """

    def __init__(self, problem: InMemoryProblem, engine: LocalEngine) -> None:
        self.problem, self.engine, objective = problem, engine, problem.objective
        self._against_own = objective.formulation == "ww"
        shape = (problem.n_rows, objective.n_classes)
        self.multiplier = np.zeros(shape)
        # A loss that no weights change counts in full on both sides.
        self.multiplier[problem.squared_norms == 0] = 1.0
        self.implied = np.zeros(shape)
        self.curved: NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)
        self._score = np.empty(shape)
        self._slope = np.empty(shape)
        step = max(1, SLICE_NUMBERS // max(objective.size, objective.n_classes))
        self.slices = [
            slice(first, min(first + step, problem.n_rows))
            for first in range(0, problem.n_rows, step)
        ]

    def rows(self, which: slice | NDArray[np.int64]) -> Array:
        """Return rows as dense float64 ones, the constant feature last."""
        part = self.problem.X[which]
        if sp.issparse(part):
            part = part.toarray()
        objective = self.problem.objective
        if objective.constant == 0:
            return np.asarray(part, dtype=np.float64)
        out = np.empty((part.shape[0], objective.size))
        out[:, :-1], out[:, -1] = part, objective.constant
        return out

    def total(self, terms_of: Callable[[slice], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Add up the terms of all slices, in their order."""
        total: tuple[Any, ...] | None = None
        for first in range(0, len(self.slices), SLICES_AT_A_TIME):
            wave = self.slices[first : first + SLICES_AT_A_TIME]
            for terms in self.engine.map(wave, terms_of):
                total = terms if total is None else tuple(map(operator.add, total, terms))
        assert total is not None, "a block has rows"
        return total

    def sums(self, w: Array, width: float) -> tuple[float, float, Array]:
        """Evaluate weights; return sums of losses, of implied multipliers, and of rows by these."""

        def evaluate_slice(part: slice) -> tuple[float, float, Array]:
            X, bound = self.rows(part), self.problem.bound[part]
            score, implied = self._score[part], self.implied[part]
            self._scores(X, w, part, score)
            score += 1.0
            own = np.arange(len(X)), self.problem.codes[part]
            score[own] = -np.inf  # no loss, whatever the weights
            np.divide(score, width, out=implied)
            implied += self.multiplier[part]
            np.logical_and(implied > 0.0, implied < 1.0, out=self.curved[part])
            np.clip(implied, 0.0, 1.0, out=implied)
            loss = float(bound @ np.maximum(score, 0.0).sum(axis=1))
            total = float(bound @ implied.sum(axis=1))
            return loss, total, self._pull(implied * bound[:, None], X, part)

        loss, total, pull = self.total(evaluate_slice)
        return loss, total, pull

    def look_along(self, direction: Array) -> None:
        """Prepare for slopes along a direction from the weights evaluated last."""

        def slopes_of(part: slice) -> None:
            slope = self._slope[part]
            self._scores(self.rows(part), direction, part, slope)
            slope[np.arange(len(slope)), self.problem.codes[part]] = 0.0

        self.engine.map(self.slices, slopes_of)

    def slope(self, step: float, width: float) -> float:
        """Return the derivative of the losses a step along the direction."""

        def slope_of(part: slice) -> tuple[float]:
            share = self._slope[part] * step
            share += self._score[part]
            share /= width
            share += self.multiplier[part]
            np.clip(share, 0.0, 1.0, out=share)
            share *= self._slope[part]
            return (float(self.problem.bound[part] @ share.sum(axis=1)),)

        (total,) = self.total(slope_of)
        return float(total)

    def start_from(self, duals: sp.csr_array) -> tuple[Array, float]:
        """Take multipliers, inside their bounds; return the sum of rows by them and their sum."""
        row = np.repeat(np.arange(self.problem.n_rows), np.diff(duals.indptr))
        bound = self.problem.bound[row]
        known = (bound > 0) & (duals.data > 0) & (duals.indices != self.problem.codes[row])
        self.multiplier[row[known], duals.indices[known]] = duals.data[known] / bound[known]

        def start_slice(part: slice) -> tuple[Array, float]:
            dual = self.multiplier[part] * self.problem.bound[part, None]
            dual[np.arange(len(dual)), self.problem.codes[part]] = 0.0
            total = float(dual.sum())
            return self._pull(dual, self.rows(part), part), total

        pull, total = self.total(start_slice)
        return pull, total

    def _scores(self, X: Array, w: Array, part: slice, out: Array) -> None:
        """Write the scores that losses are of."""
        np.matmul(X, w.T, out=out)
        if self._against_own:
            out -= out[np.arange(len(X)), self.problem.codes[part]][:, None]

    def _pull(self, dual: Array, X: Array, part: slice) -> Array:
        """Return the sums of rows by their multipliers, which are overwritten."""
        if self._against_own:
            dual[np.arange(len(X)), self.problem.codes[part]] = -dual.sum(axis=1)
        return np.asarray(dual.T @ X)

    def take_over(self) -> None:
        """Make the implied multipliers the multipliers."""
        self.multiplier, self.implied = self.implied, self.multiplier
