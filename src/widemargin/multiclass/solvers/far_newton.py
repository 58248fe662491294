"""Newton's method on rows that stay where they are: every question is a sum over blocks.

The same as :mod:`.newton`: what one memory holds of every row and class, blocks hold of theirs.
Multipliers follow from the weights at which rounds ended, so a question names these, and whatever
a process remembers of a block only saves time: another one goes through the rounds again.

To the blocks go weights, and from them come sums: of a gradient's size for every evaluation, of the
Hessians' for every step.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.blocks import RowBlock
from ...core.resources import single_threaded_blas
from ...engines import LocalEngine
from ..monitor import MulticlassMonitor
from ..posed import Posed, RowsOnEngine
from ..solution import MulticlassSolution
from .newton import NewtonState, descend, directions_of, require_few_weights
from .newton_coupled import CoupledDirections, coupled_direction
from .newton_direction import Directions, direction_of
from .newton_smoothed import BYTES_PER_LOSS, Evaluation, SmoothedLosses, evaluation

# What a process remembers of blocks, in bytes of their losses.
REMEMBERED_BYTES = 256 * 2**20


def solve(rows: RowsOnEngine, monitor: MulticlassMonitor) -> MulticlassSolution:
    """Minimise the objective on an engine's rows."""
    require_few_weights(rows.pose)
    losses = FarLosses(rows)
    w = np.zeros((rows.pose.n_classes, rows.pose.size))
    with single_threaded_blas():
        return descend(NewtonState(losses, FarDirections(losses), w, losses.lost_anyway), monitor)


@dataclass(frozen=True)
class Place:
    """Where the solver is.

    Attributes
    ----------
    rounds : tuple of (array, float)
        Weights and widths at which rounds have ended.
    w : array of shape (n_classes, size)
        Weights.
    width : float
        Of this round.
    direction : array or None
        From there.
    """

    rounds: tuple[tuple[Array, float], ...]
    w: Array
    width: float
    direction: Array | None = None


class FarLosses:
    """Rounded losses of rows on an engine."""

    def __init__(self, rows: RowsOnEngine) -> None:
        self.rows, self.pose = rows, rows.pose
        self.lost_anyway = self._sum(LostAnyway(rows.pose))[0]
        w = np.zeros((rows.pose.n_classes, rows.pose.size))
        self.place = Place((), w, 1.0)

    def evaluate(self, w: Array, width: float) -> Evaluation:
        """Evaluate at weights that sum to zero."""
        self.place = Place(self.place.rounds, w, width)
        return evaluation(w, *self._sum(SumsAt(self.pose, self.place)))

    def look_along(self, direction: Array) -> None:
        """Prepare for slopes along a direction from the weights evaluated last."""
        self.place = replace(self.place, direction=direction)

    def slope(self, step: float, width: float) -> float:
        """Return the derivative of the losses a step along the direction."""
        return float(self._sum(SlopeAt(self.pose, self.place, step, width))[0])

    def grams(self) -> Array:
        """Return the sums that Hessians are made of."""
        return np.asarray(self._sum(GramsAt(self.pose, self.place))[0])

    def take_over(self) -> None:
        """Make the implied multipliers the multipliers."""
        ended = (self.place.w, self.place.width)
        self.place = replace(self.place, rounds=(*self.place.rounds, ended))

    def _sum(self, question: Any) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self.rows.engine.reduce(self.rows.blocks, question, added)
        return answer


class FarDirections:
    """Newton directions of these losses."""

    def __init__(self, losses: FarLosses) -> None:
        self.losses, self._engine = losses, LocalEngine()

    def find(self, gradient: Array, width: float) -> Array | None:
        """Return the direction; None where rounding leaves a matrix without a factor."""
        grams = self.losses.grams()
        if self.losses.pose.formulation == "ww":
            return coupled_direction(grams, gradient, width)
        return direction_of(grams.__getitem__, gradient, width, self._engine)


@dataclass(frozen=True)
class LostAnyway:
    """Losses of rows that are all zeros."""

    pose: Posed

    def __call__(self, block: RowBlock) -> tuple[float]:
        """Pass over the rows of a block."""
        return (self.pose.problem(block).lost_anyway,)


@dataclass(frozen=True)
class SumsAt:
    """Sums of losses and multipliers at a place."""

    pose: Posed
    place: Place

    def __call__(self, block: RowBlock) -> tuple[float, float, Array]:
        """Pass over the rows of a block."""
        return _remembered(self.pose, block, self.place).sums_at(self.place)


@dataclass(frozen=True)
class SlopeAt:
    """The derivative a step from a place along its direction."""

    pose: Posed
    place: Place
    step: float
    width: float

    def __call__(self, block: RowBlock) -> tuple[float]:
        """Pass over the rows of a block."""
        memory = _remembered(self.pose, block, self.place)
        memory.look_along(self.place)
        return (memory.losses.slope(self.step, self.width),)


@dataclass(frozen=True)
class GramsAt:
    """Sums over the curved rows at a place."""

    pose: Posed
    place: Place

    def __call__(self, block: RowBlock) -> tuple[Array]:
        """Pass over the rows of a block."""
        memory = _remembered(self.pose, block, self.place)
        memory.sums_at(self.place)
        return (memory.grams(),)


def added(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add up answers of blocks."""
    return tuple(map(operator.add, one, other))


class Memory:
    """What a process remembers of a block."""

    def __init__(self, pose: Posed, block: RowBlock) -> None:
        self.losses = SmoothedLosses(pose.problem(block), LocalEngine())
        self.rounds: tuple[tuple[Array, float], ...] = ()
        self._at: tuple[Array, float] | None = None
        self._sums: tuple[float, float, Array] | None = None
        self._direction: Array | None = None
        self._directions: Directions | CoupledDirections | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes, about."""
        return BYTES_PER_LOSS * self.losses.multiplier.size

    def is_before(self, place: Place) -> bool:
        """Whether the place can be reached from here; a task that is late may ask for others."""
        some = place.rounds[: len(self.rounds)]
        return len(some) == len(self.rounds) and all(map(_same, some, self.rounds))

    def sums_at(self, place: Place) -> tuple[float, float, Array]:
        """Bring the block to a place; return its sums there."""
        for w, width in place.rounds[len(self.rounds) :]:
            self._evaluate(w, width)
            self.losses.take_over()
            self._at = None
            self.rounds = (*self.rounds, (w, width))
        return self._evaluate(place.w, place.width)

    def _evaluate(self, w: Array, width: float) -> tuple[float, float, Array]:
        if self._sums is None or self._at is None or not _same((w, width), self._at):
            self._sums = self.losses.sums(w, width)
            self._at, self._direction = (w, width), None
        return self._sums

    def look_along(self, place: Place) -> None:
        """Bring the block to a place, and prepare for slopes."""
        self.sums_at(place)
        assert place.direction is not None
        if self._direction is None or not np.array_equal(self._direction, place.direction):
            self.losses.look_along(place.direction)
            self._direction = place.direction

    def grams(self) -> Array:
        """Return sums over curved rows."""
        if self._directions is None:
            self._directions = directions_of(self.losses)
        return self._directions.grams()


_memories: OrderedDict[tuple[str, Posed], Memory] = OrderedDict()
_lock = Lock()


def _remembered(pose: Posed, block: RowBlock, place: Place) -> Memory:
    with _lock:
        memory = _memories.get((block.name, pose))
        if memory is None or not memory.is_before(place):
            memory = _memories[block.name, pose] = Memory(pose, block)
            while sum(each.n_bytes for each in _memories.values()) > REMEMBERED_BYTES:
                _, forgotten = _memories.popitem(last=False)
                if forgotten is memory:
                    break
        return memory


def _same(one: tuple[Array, float], other: tuple[Array, float]) -> bool:
    return one[1] == other[1] and (one[0] is other[0] or np.array_equal(one[0], other[0]))
