r"""Losses of rows for other classes with their kinks rounded, evaluated block by block of rows.

Both formulations add up a hinge for every class but the row's own, :math:`(1 + s)_+`. In Lee, Lin
and Wahba's (``llw``) s is the class's score, in Weston and Watkins's (``ww``) how much it exceeds
that of the row's own class. With multipliers :math:`\alpha_{ic} = C_i u_{ic}` and a width
:math:`\delta`, such a hinge becomes

.. math:: C_i \max_{0 \le v \le 1} \; v (1 + s) - \tfrac{\delta}{2} (v - u_{ic})^2,

and the v that attains it, :math:`\operatorname{clip}(u_{ic} + (1 + s)/\delta, 0, 1)`, times
:math:`C_i` is feasible for the problem as it was. Memory: at most five doubles and a byte for every
row and class; rows are turned into dense float64 ones a block at a time.
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
from ...core.certificates import Certificate
from ...engines import Engine
from ..problem import MulticlassProblem

# A block of rows, or of their scores, has about so many numbers: 2 MB.
BLOCK_NUMBERS = 2**18
# Blocks whose sums are kept until they are added up; fixed, so that results are.
BLOCKS_AT_A_TIME = 8
BYTES_PER_LOSS = 5 * 8 + 1


@dataclass(frozen=True)
class Evaluation:
    """The rounded problem at some weights.

    Attributes
    ----------
    gradient : array of shape (n_classes, size)
        Of the rounded objective, along weights that sum to zero.
    certificate : Certificate
        Of the weights and the implied multipliers, for the problem as it was.
    """

    gradient: Array
    certificate: Certificate

    @property
    def own_gap(self) -> float:
        """Duality gap of the rounded problem."""
        return 0.5 * float(np.vdot(self.gradient, self.gradient))


def evaluation(w: Array, loss: float, total: float, pull: Array) -> Evaluation:
    """Evaluate weights, given sums over all rows."""
    pull = pull - pull.mean(axis=0)  # minus the weights that the implied multipliers have
    certificate = Certificate(
        0.5 * float(np.vdot(w, w)) + loss, total - 0.5 * float(np.vdot(pull, pull))
    )
    return Evaluation(w + pull, certificate)


class SmoothedLosses:
    """The losses of all rows for all classes but their own.

    Attributes
    ----------
    multiplier : array of shape (n_rows, n_classes)
        u, the share of its bound that a multiplier has.
    implied : array of shape (n_rows, n_classes)
        v, of the weights evaluated last.
    curved : bool array of shape (n_rows, n_classes)
        Which v lie between 0 and 1.
    """

    def __init__(self, problem: MulticlassProblem, engine: Engine) -> None:
        self.problem, self.engine = problem, engine
        self._against_own = problem.formulation == "ww"
        shape = (problem.n_rows, problem.n_classes)
        self.multiplier = np.zeros(shape)
        # What is lost anyway counts in full on both sides.
        self.multiplier[problem.squared_norms == 0] = 1.0
        self.implied = np.zeros(shape)
        self.curved: NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)
        self._score = np.empty(shape)
        self._slope = np.empty(shape)
        step = max(1, BLOCK_NUMBERS // max(problem.size, problem.n_classes))
        self.blocks = [
            slice(first, min(first + step, problem.n_rows))
            for first in range(0, problem.n_rows, step)
        ]

    def rows(self, which: slice | NDArray[np.int64]) -> Array:
        """Return rows as dense float64 ones, the constant feature last."""
        part = self.problem.X[which]
        if sp.issparse(part):
            part = part.toarray()
        if self.problem.constant == 0:
            return np.asarray(part, dtype=np.float64)
        out = np.empty((part.shape[0], self.problem.size))
        out[:, :-1], out[:, -1] = part, self.problem.constant
        return out

    def total(self, block_terms: Callable[[slice], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Add up what blocks have, in their order."""
        total: tuple[Any, ...] | None = None
        for first in range(0, len(self.blocks), BLOCKS_AT_A_TIME):
            wave = self.blocks[first : first + BLOCKS_AT_A_TIME]
            for terms in self.engine.map(wave, block_terms):
                total = terms if total is None else tuple(map(operator.add, total, terms))
        assert total is not None  # a problem has rows
        return total

    def evaluate(self, w: Array, width: float) -> Evaluation:
        """Evaluate at weights that sum to zero."""
        return evaluation(w, *self.sums(w, width))

    def sums(self, w: Array, width: float) -> tuple[float, float, Array]:
        """Return sums over all rows: losses, implied multipliers, and rows by these."""

        def evaluate_block(block: slice) -> tuple[float, float, Array]:
            X, bound = self.rows(block), self.problem.bound[block]
            score, implied = self._score[block], self.implied[block]
            self._scores(X, w, block, score)
            score += 1.0
            own = np.arange(len(X)), self.problem.codes[block]
            score[own] = -np.inf  # no loss, whatever the weights
            np.divide(score, width, out=implied)
            implied += self.multiplier[block]
            np.logical_and(implied > 0.0, implied < 1.0, out=self.curved[block])
            np.clip(implied, 0.0, 1.0, out=implied)
            loss = float(bound @ np.maximum(score, 0.0).sum(axis=1))
            total = float(bound @ implied.sum(axis=1))
            return loss, total, self._pull(implied * bound[:, None], X, block)

        loss, total, pull = self.total(evaluate_block)
        return loss, total, pull

    def look_along(self, direction: Array) -> None:
        """Prepare for slopes along a direction from the weights evaluated last."""

        def block_slopes(block: slice) -> None:
            slope = self._slope[block]
            self._scores(self.rows(block), direction, block, slope)
            slope[np.arange(len(slope)), self.problem.codes[block]] = 0.0

        self.engine.map(self.blocks, block_slopes)

    def slope(self, step: float, width: float) -> float:
        """Return the derivative of the losses a step along the direction."""

        def slope_block(block: slice) -> tuple[float]:
            share = self._slope[block] * step
            share += self._score[block]
            share /= width
            share += self.multiplier[block]
            np.clip(share, 0.0, 1.0, out=share)
            share *= self._slope[block]
            return (float(self.problem.bound[block] @ share.sum(axis=1)),)

        (total,) = self.total(slope_block)
        return float(total)

    def start_from(self, duals: sp.csr_array) -> tuple[Array, float]:
        """Take multipliers, inside their bounds; return their sums of rows and of all."""
        row = np.repeat(np.arange(self.problem.n_rows), np.diff(duals.indptr))
        bound = self.problem.bound[row]
        known = (bound > 0) & (duals.data > 0) & (duals.indices != self.problem.codes[row])
        self.multiplier[row[known], duals.indices[known]] = duals.data[known] / bound[known]

        def start_block(block: slice) -> tuple[Array, float]:
            dual = self.multiplier[block] * self.problem.bound[block, None]
            dual[np.arange(len(dual)), self.problem.codes[block]] = 0.0
            total = float(dual.sum())
            return self._pull(dual, self.rows(block), block), total

        pull, total = self.total(start_block)
        return pull, total

    def _scores(self, X: Array, w: Array, block: slice, out: Array) -> None:
        """Write the scores that losses are of."""
        np.matmul(X, w.T, out=out)
        if self._against_own:
            out -= out[np.arange(len(X)), self.problem.codes[block]][:, None]

    def _pull(self, dual: Array, X: Array, block: slice) -> Array:
        """Return the sums of rows by their multipliers, which are overwritten."""
        if self._against_own:
            dual[np.arange(len(X)), self.problem.codes[block]] = -dual.sum(axis=1)
        return np.asarray(dual.T @ X)

    def take_over(self) -> None:
        """Make the implied multipliers the multipliers."""
        self.multiplier, self.implied = self.implied, self.multiplier
