r"""Dual block descent on the problem of all classes at once.

With a function :math:`f_c = \sum_i b_{ic}\, \kappa(x_i, \cdot)` for every class,

.. math:: \min_f \tfrac12 \sum_c \lVert f_c \rVert^2 + \sum_i C_i\, \ell(f(x_i), y_i),

whose losses are those of Weston and Watkins, the sum over :math:`c \ne y` of
:math:`(1 - f_y + f_c)_+`, and of Crammer and Singer, the largest of these terms. Multipliers
:math:`a_{ic}` of the terms are between 0 and :math:`C_i` ('cs': their sum is at most
:math:`C_i`), :math:`b_{ic} = -a_{ic}` for :math:`c \ne y` and :math:`b_{iy} = \sum_c a_{ic}`; the
dual objective is :math:`\sum a - \tfrac12 \sum_c b_c^\top K b_c`.

The multipliers of one row have an exact minimiser (``native/multiclass/class_step.hpp``). Rows are
taken in blocks: of those that would gain most by their own step, and of those of the last block
that have coefficients. The kernel matrix of a block is at hand for all classes; it is solved by
working sets of its rows, and one kernel product with a column for each class updates the scores of
all other rows. As in :mod:`.shared_blocks`, rows without coefficients whose scores are far from
costing anything are set aside until the others are done.

Stops when :math:`(P - D) / P \le` ``target`` by the scores that the descent has kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.outcome import Certificate
from ..kernels import Kernel
from .block_matrix import BlockMatrix
from .class_scores import ClassScores
from .next_block import FIRST_BLOCK, KEPT, most_violating
from .settled_rows import DISTANCE, worth_settling
from .shared_blocks import ENOUGH, LEAST_PROGRESS, PATIENCE, REDUCTION, rows_of_block

# Rows of a working set within a block.
WORKING_SET = 384
# Working sets between two looks at the time.
SETS_PER_BLOCK = 64


@dataclass(frozen=True)
class Shares:
    """What every row adds to the objectives."""

    gain: Array  # rise of the dual objective by the row's own best coefficients
    gap: Array
    loss: Array  # weighted
    along: Array  # its part of Σ_c b_cᵀ K b_c

    @property
    def certificate(self) -> Certificate:
        """Primal objective, and the dual that the sum of the gaps leaves."""
        primal = 0.5 * float(self.along.sum()) + float(self.loss.sum())
        return Certificate(primal, primal - float(self.gap.sum()))


class ClassBlocks:
    """Solves the problem of all classes on the same rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows, or their kernel matrix.
    kernel : Kernel
        The kernel.
    formulation : {"ww", "cs"}
        The loss.
    codes : array of int of shape (n_rows,)
        Class of each row.
    bound : array of shape (n_rows,)
        Weight of each row's loss.
    threads : int
        Threads; results do not depend on it.
    memory : int
        Bytes for the kernel matrix of a block.
    seed : int
        Breaks ties between rows that gain alike.
    shift : float
        Added to the diagonal of the kernel matrix, to make a convex problem of an indefinite one.
    """

    def __init__(
        self,
        X: Any,
        kernel: Kernel,
        formulation: str,
        codes: NDArray[np.int64],
        bound: Array,
        *,
        threads: int,
        memory: int,
        seed: int,
        shift: float = 0.0,
    ) -> None:
        self.formulation, self.codes, self.bound = formulation, codes, bound
        self.threads, self.seed, self.n_rows = threads, seed, len(codes)
        self.scores = ClassScores(X, kernel, threads, shift)
        self.diagonal = kernel.diagonal(self.scores.rows) + shift
        self.largest = min(rows_of_block(memory, X.dtype.itemsize), self.n_rows)
        self.matrix = BlockMatrix(self.scores.rows, kernel, X.dtype, self.largest, threads)
        self.jitter = 1.0 + 1e-6 * np.random.default_rng(seed).random(self.n_rows)
        self.active = np.ones(self.n_rows, dtype=np.bool_)  # not set aside

    @property
    def entries(self) -> int:
        """Kernel values evaluated so far."""
        return self.matrix.entries + self.scores.entries

    def measure(self, coef: Array, score: Array, error: float = 0.0) -> Shares:
        """Evaluate what every row adds; gaps are the largest for scores that are off by so much."""
        args = self.formulation, self.codes, self.bound, self.diagonal, coef, score
        return Shares(*_native.measure_class_rows(*args, error, self.threads))

    def solve(
        self,
        coef: Array,
        score: Array,
        target: float,
        *,
        max_sets: int,
        stop: Callable[[], bool],
        record: Callable[[Certificate, int], None] | None = None,
    ) -> int:
        """Bring the relative gap to a target, in place.

        Parameters
        ----------
        coef, score : arrays of shape (n_classes, n_rows)
            Where to start: coefficients inside the domain, and their scores.
        target : float
            Relative gap to reach.
        max_sets : int
            Working sets allowed.
        stop : callable
            Called after every block; true means stop.
        record : callable, optional
            Called after every block with both objectives and the working sets so far.

        Returns
        -------
        int
            Working sets taken.
        """
        sets, number, looked_at = 0, 0, -np.inf
        while True:
            shares = self.measure(coef, score)
            now = shares.certificate
            if record is not None:
                record(now, sets)
            stalled = False
            if number % PATIENCE == 0:
                stalled = now.dual - looked_at <= LEAST_PROGRESS * now.gap
                looked_at = now.dual
            number += 1
            if now.relative_gap <= target or stalled or sets >= max_sets or stop():
                if self.active.all():
                    return sets
                self._take_back(coef, score)
                continue
            self.matrix.hold(self._next_block(coef, shares.gain))
            relative = np.array([now.relative_gap])
            if worth_settling(relative, np.array([target])):
                self._set_aside(coef, score)
            enough = max(REDUCTION, ENOUGH * target / max(now.relative_gap, 1e-300))
            taken, changes = self._solve_block(coef, score, enough * shares.gap, max_sets - sets)
            if not taken:  # rounding leaves nothing to gain
                self._take_back(coef, score)
                return sets
            outside = self.active.copy()
            outside[self.matrix.block] = False
            self.scores.add(score, self.matrix.block, changes, np.flatnonzero(outside))
            sets += taken

    def _next_block(self, coef: Array, gain: Array) -> NDArray[np.int64]:
        """Keep the rows of the last block that have coefficients, and add those that gain most.

        Rows rank among those of their own class, so that the classes stay in balance.
        """
        n, last = self.n_rows, self.matrix.block
        if self.largest >= n and len(last) in (0, n) and n <= FIRST_BLOCK:
            return np.arange(n)
        kept = last[coef[:, last].any(axis=0)][: int(KEPT * self.largest)]
        room = min(max(FIRST_BLOCK, len(kept)), self.largest - len(kept))
        gain = gain * self.jitter
        gain[kept] = 0.0
        rank = np.full(n, n)
        for code in range(len(coef)):
            mine = np.flatnonzero((self.codes == code) & (gain > 0))
            ranked = most_violating(gain, mine, room)
            rank[ranked] = np.arange(len(ranked))
        new = np.flatnonzero(rank < n)
        if len(new) > room:
            new = new[np.argsort(rank[new], kind="stable")[:room]]
        return np.concatenate([kept, new])

    def _solve_block(
        self, coef: Array, score: Array, gap: Array, max_sets: int
    ) -> tuple[int, Array]:
        """Solve on the block until so much of its rows' gaps is left; return sets and changes."""
        block = self.matrix.block
        own, at = np.ascontiguousarray(coef[:, block]), np.ascontiguousarray(score[:, block])
        before = own.copy()
        taken = _native.solve_class_block(
            self.matrix.values,
            self.formulation,
            self.codes[block],
            self.bound[block],
            self.diagonal[block],
            own,
            at,
            gap=float(gap[block].sum()),
            sets=min(SETS_PER_BLOCK, max_sets),
            working_set=WORKING_SET,
            threads=self.threads,
            seed=self.seed,
        )
        coef[:, block], score[:, block] = own, at
        return taken, own - before

    def _set_aside(self, coef: Array, score: Array) -> None:
        """Set rows aside that have no coefficients and slopes far below zero."""
        own = score[self.codes, np.arange(self.n_rows)]
        slope = 1.0 - own + score
        slope[self.codes, np.arange(self.n_rows)] = -np.inf
        settled = (slope.max(axis=0) <= -DISTANCE) & ~coef.any(axis=0)
        settled[self.matrix.block] = False
        self.active &= ~settled

    def _take_back(self, coef: Array, score: Array) -> None:
        """Compute the scores of the rows that were set aside, and make all rows active."""
        aside = np.flatnonzero(~self.active)
        if len(aside):
            score[:, aside] = self.scores.of(coef, aside, single=True)
        self.active[:] = True
