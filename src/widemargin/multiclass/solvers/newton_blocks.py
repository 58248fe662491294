"""Rounded losses of all rows: every question of Newton's method is a sum over blocks.

Multipliers follow from the weights at which rounds ended, so a question carries these weights, and
what a process remembers of a block only saves time: a process that remembers nothing repeats the
rounds. Blocks receive weights and return sums: of a gradient's size for every evaluation, of the
Hessians' size for every step. In this process nothing is copied or repeated, and a block's losses
are evaluated by all threads, so that one block costs what a direct evaluation would.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.blocks import BlockMemory, RowBlock
from ...engines import LocalEngine
from ..problem import ClassWeights, MulticlassObjective, MulticlassProblem
from .newton_directions import ClassSums, PairSums, centred, direction_of
from .newton_losses import BYTES_PER_LOSS, RoundedEvaluation, SmoothedLosses, evaluation

# Bytes of losses that a process remembers of the blocks of engines elsewhere.
REMEMBERED_BYTES = 256 * 2**20

RoundEnd: TypeAlias = tuple[Array, float]


@dataclass(frozen=True)
class NewtonPoint:
    """Where the solver is."""

    rounds: tuple[RoundEnd, ...]  # weights and widths at which rounds have ended
    w: Array  # (n_classes, size): weights
    width: float  # width of the current round
    direction: Array | None = None  # direction from ``w``


class RoundedLosses:
    """Rounded losses of all rows of a problem, and their Newton directions.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    start : ClassWeights, optional
        Weights and multipliers to start from, of rows in one block in this process.

    Attributes
    ----------
    w : array of shape (n_classes, size)
        Weights of the multipliers to start from.
    dual : float
        Dual objective of these multipliers.
    """

    def __init__(self, problem: MulticlassProblem, start: ClassWeights | None = None) -> None:
        self.problem, self.objective = problem, problem.objective
        self._threads = problem.engine.share(1).threads
        self._engine = LocalEngine(self._threads)
        self._memory: BlockMemory[BlockLosses] | None = None
        if problem.engine.in_process:  # this fit's own, which ends with it
            duals = None if start is None else start.duals
            make = partial(BlockLosses, start=duals, engine=self._engine)
            self._memory = BlockMemory(math.inf, make, operator.attrgetter("n_bytes"))
        self.w = np.zeros((self.objective.n_classes, self.objective.size))
        self._point = NewtonPoint((), self.w, 1.0)
        pull, total = self._sum(BlockLosses.at_start)
        if start is not None:
            self.w = centred(-pull)
        self.dual = total - 0.5 * float(np.vdot(self.w, self.w))

    def evaluate(self, w: Array, width: float) -> RoundedEvaluation:
        """Evaluate at weights that sum to zero."""
        self._point = NewtonPoint(self._point.rounds, w, width)
        return evaluation(w, *self._sum(BlockLosses.sums))

    def look_along(self, direction: Array) -> None:
        """Prepare for slopes along a direction from the weights evaluated last."""
        self._point = replace(self._point, direction=direction)

    def slope(self, step: float, width: float) -> float:
        """Return the derivative of the losses a step along the direction."""
        return float(self._sum(partial(BlockLosses.slope, step=step, width=width))[0])

    def direction(self, gradient: Array, width: float) -> Array | None:
        """Return the Newton direction; None where rounding leaves a matrix without a factor."""
        (grams,) = self._sum(BlockLosses.grams)
        return direction_of(self.objective.formulation, grams, gradient, width, self._engine)

    def end_round(self) -> None:
        """Make the multipliers that the weights imply those of the next round."""
        ended = (self._point.w, self._point.width)
        self._point = replace(self._point, rounds=(*self._point.rounds, ended))

    def duals(self, *, implied: bool) -> Any:
        """Return the multipliers of the round or those that the weights imply.

        None where they stay with the rows of another process.
        """
        if not self.problem.engine.in_process:
            return None
        ask = self._question(partial(BlockLosses.duals, implied=implied))
        return self.problem.engine.reduce(self.problem.blocks, ask, _stacked)

    def _sum(self, answer: Answer) -> tuple[Any, ...]:
        ask = self._question(answer)
        total: tuple[Any, ...] = self.problem.engine.reduce(self.problem.blocks, ask, added)
        return total

    def _question(self, answer: Answer) -> Question:
        return Question(self.objective, self._point, answer, self._threads, self._memory)


class BlockLosses:
    """The rounded losses of one block, brought to the points that questions name.

    Parameters
    ----------
    objective : MulticlassObjective
        What is minimised.
    block : RowBlock
        The rows.
    threads : int
        Threads for a question.
    start : CSR array, optional
        Multipliers to start from, which are cut to their bounds.
    engine : LocalEngine, optional
        Has these threads already.
    """

    def __init__(
        self,
        objective: MulticlassObjective,
        block: RowBlock,
        threads: int,
        start: Any = None,
        engine: LocalEngine | None = None,
    ) -> None:
        self._problem, self._start = objective.on(block), start
        self._engine = LocalEngine(threads) if engine is None else engine
        self._begin()

    def _begin(self) -> None:
        self._losses = SmoothedLosses(self._problem, self._engine)
        self._rounds: tuple[RoundEnd, ...] = ()
        self._at: RoundEnd | None = None
        self._sums: tuple[float, float, Array] | None = None
        self._direction: Array | None = None
        self._hessian: ClassSums | PairSums | None = None
        self._first: tuple[Any, float] = (0.0, self._problem.fixed_loss)
        if self._start is not None:
            self._first = self._losses.start_from(self._problem.feasible(self._start))

    @property
    def n_bytes(self) -> int:
        """Bytes that the losses take, about."""
        return BYTES_PER_LOSS * self._losses.multiplier.size

    def at_start(self, point: NewtonPoint) -> tuple[Any, float]:
        """Return the sum of rows by the multipliers of the start, and the sum of these."""
        return self._first

    def sums(self, point: NewtonPoint) -> tuple[float, float, Array]:
        """Evaluate at a point; return sums of losses, of implied multipliers, of rows by these."""
        if not self._is_before(point):  # a task that is late may ask for an earlier one
            self._begin()
        for w, width in point.rounds[len(self._rounds) :]:
            self._evaluate(w, width)
            self._losses.take_over()
            self._at = None
            self._rounds = (*self._rounds, (w, width))
        return self._evaluate(point.w, point.width)

    def slope(self, point: NewtonPoint, *, step: float, width: float) -> tuple[float]:
        """Return the derivative a step along the point's direction."""
        self.sums(point)
        assert point.direction is not None
        if self._direction is None or not _equal(self._direction, point.direction):
            self._losses.look_along(point.direction)
            self._direction = point.direction
        return (self._losses.slope(step, width),)

    def grams(self, point: NewtonPoint) -> tuple[Array]:
        """Return sums over the rows that are curved at a point."""
        self.sums(point)
        if self._hessian is None:
            coupled = self._problem.objective.formulation == "ww"
            self._hessian = PairSums(self._losses) if coupled else ClassSums(self._losses)
        return (self._hessian.grams(),)

    def duals(self, point: NewtonPoint, *, implied: bool) -> sp.csr_array:
        """Return the multipliers of the round, or those that the weights imply."""
        self.sums(point)
        share = self._losses.implied if implied else self._losses.multiplier
        # Rows of zeros have no part in the weights; no solver gives them multipliers.
        scale = np.where(self._problem.squared_norms > 0, self._problem.bound, 0.0)
        return sp.csr_array(share * scale[:, None])

    def _is_before(self, point: NewtonPoint) -> bool:
        some = point.rounds[: len(self._rounds)]
        return len(some) == len(self._rounds) and all(map(_same, some, self._rounds))

    def _evaluate(self, w: Array, width: float) -> tuple[float, float, Array]:
        if self._sums is None or self._at is None or not _same((w, width), self._at):
            self._at = self._direction = None  # an interrupt may come between
            self._sums = self._losses.sums(w, width)
            self._at = (w, width)
        return self._sums


Answer: TypeAlias = Callable[[BlockLosses, NewtonPoint], Any]
_process_memory: BlockMemory[BlockLosses] = BlockMemory(
    REMEMBERED_BYTES, BlockLosses, operator.attrgetter("n_bytes")
)


@dataclass(frozen=True)
class Question:
    """A question to every block."""

    objective: MulticlassObjective  # what is minimised
    point: NewtonPoint  # where the solver is
    answer: Answer  # computes the answer from a block's losses
    threads: int  # threads for each block
    # Losses of blocks in this process. It stays here: elsewhere, each process has its own.
    memory: BlockMemory[BlockLosses] | None

    def __call__(self, block: RowBlock) -> Any:
        """Answer for one block."""
        memory = _process_memory if self.memory is None else self.memory
        key = (block.name, self.objective)
        return self.answer(memory.of(key, self.objective, block, self.threads), self.point)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "memory": None}


def added(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add up the answers of blocks."""
    return tuple(map(operator.add, one, other))


def _stacked(one: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.vstack([one, other], format="csr"))


def _same(one: RoundEnd, other: RoundEnd) -> bool:
    return one[1] == other[1] and _equal(one[0], other[0])


def _equal(one: Array, other: Array) -> bool:
    return one is other or np.array_equal(one, other)
