"""Rows that stay where they are, and what is asked of them.

A block knows its rows and nothing of the problem; a :class:`Pose` says which class is positive and
what the loss is. Questions are small objects that travel to the blocks: they hold weights, never
rows. Blocks keep no state that an answer depends on, so that any of them can be computed again
elsewhere; what a process remembers of a block only saves time.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.rows import Rows, as_rows
from .problem import LinearProblem, LossConstants
from .solvers.stages import smoothness

# Rows whose state a process remembers: some 30 bytes each.
MOST_REMEMBERED = 4_000_000


@dataclass(frozen=True)
class RowBlock:
    """Some rows.

    Attributes
    ----------
    name : str
        Tells the block from all others.
    X : array or CSR matrix
        Rows, float32 or float64.
    codes : array of int32 of shape (n_rows,)
        Position of each row's label in the classes.
    weight : array of shape (n_rows,) or None
        Weights of the rows, positive; None means 1.
    """

    name: str
    X: Any
    codes: NDArray[np.int32]
    weight: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def rows(self) -> Rows:
        """The native view, which goes with the block and not with its copies elsewhere."""
        return as_rows(self.X)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "rows"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


@dataclass(frozen=True)
class Pose:
    """A binary problem, but for its rows.

    Attributes
    ----------
    positive : int
        The class that is positive.
    constants : LossConstants
        The loss.
    constant : float
        Value of the constant feature; 0 means no intercept.
    factors : tuple of float or None
        Weights of the classes.
    threads : int
        Of a task.
    rounds : tuple of (array, LossConstants)
        Rounds of the hinge's augmented Lagrangian so far: where each ended and how it was
        smoothed. The rows' multipliers follow from them, one round after the other.
    """

    positive: int
    constants: LossConstants
    constant: float = 0.0
    factors: tuple[float, ...] | None = None
    threads: int = 1
    rounds: tuple[tuple[Array, LossConstants], ...] = ()

    def problem(self, block: RowBlock) -> LinearProblem:
        """Pose the problem on a block."""
        memory = _remembered(block)
        key = (self.positive, self.factors)
        if memory.posed is None or memory.posed[0] != key:
            label = np.where(block.codes == self.positive, 1, -1).astype(np.int8)
            weight = block.weight
            if self.factors is not None:
                own = np.asarray(self.factors)[block.codes]
                weight = own if weight is None else weight * own
            memory.posed = (key, label, weight)
            memory.multipliers = (0, None)
        _, label, weight = memory.posed
        plain = LinearProblem(
            block.X, label, self.constants, weight, self.constant, self.threads, rows=block.rows
        )
        if not self.constants.smoothed_hinge:
            return plain
        return replace(plain, multiplier=self._multipliers(plain, memory))

    def _multipliers(self, plain: LinearProblem, memory: Memory) -> Array:
        """Go through the rounds that this process has not seen yet."""
        done, multiplier = memory.multipliers
        if done > len(self.rounds) or not memory.saw(self.rounds[:done]):
            done, multiplier = 0, None
        if multiplier is None:
            multiplier = plain.first_multipliers()
        for w, constants in self.rounds[done:]:
            before, multiplier = multiplier, np.empty(plain.n_rows)
            replace(plain, constants=constants, multiplier=before).evaluate(w, dual=multiplier)
        memory.multipliers = (len(self.rounds), multiplier)
        memory.rounds = self.rounds
        return multiplier


@dataclass
class Memory:
    """What a process remembers of a block: numbers per row, never the rows."""

    n_rows: int
    posed: tuple[Any, NDArray[np.int8], Array | None] | None = None
    multipliers: tuple[int, Array | None] = (0, None)
    rounds: tuple[tuple[Array, LossConstants], ...] = ()
    piece: tuple[str, NDArray[np.int8]] | None = None
    dual: tuple[str, Array] | None = None
    smoothness: tuple[Any, Array] | None = None

    def saw(self, rounds: tuple[tuple[Array, LossConstants], ...]) -> bool:
        """Whether these are the rounds that the multipliers come from."""
        return len(rounds) <= len(self.rounds) and all(
            a is b or (c == d and np.array_equal(a, b))
            for (a, c), (b, d) in zip(rounds, self.rounds, strict=False)
        )


_memories: OrderedDict[str, Memory] = OrderedDict()
_lock = Lock()


def _remembered(block: RowBlock) -> Memory:
    with _lock:
        memory = _memories.get(block.name)
        if memory is None:
            memory = _memories[block.name] = Memory(block.n_rows)
            while sum(each.n_rows for each in _memories.values()) > MOST_REMEMBERED:
                _, forgotten = _memories.popitem(last=False)
                if forgotten is memory:
                    break
        return memory


class Sums(NamedTuple):
    """What blocks add up at a point."""

    loss: float
    plain: float
    phi: float
    curved: int
    v: Array
    gram: Array | None = None

    def plus(self, other: Sums) -> Sums:
        """Add those of other rows."""
        gram = self.gram
        if gram is not None and other.gram is not None:
            gram = gram + other.gram
        return Sums(
            self.loss + other.loss,
            self.plain + other.plain,
            self.phi + other.phi,
            self.curved + other.curved,
            self.v + other.v,
            gram,
        )


@dataclass(frozen=True)
class Point:
    """Weights at which curvature is asked for, under a name that processes remember."""

    w: Array
    name: str


@dataclass(frozen=True)
class EvaluatedAt:
    """Losses, gradient and, if asked for, curvature at a point."""

    pose: Pose
    point: Point
    gram: bool = False
    duals: bool = False  # whether those of the rows will be asked for

    def __call__(self, block: RowBlock) -> Sums:
        """Pass over the rows of a block."""
        problem = self.pose.problem(block)
        piece = np.zeros(block.n_rows, dtype=np.int8)
        gram = np.zeros((problem.size, problem.size)) if self.gram else None
        dual = np.empty(block.n_rows) if self.duals else None
        loss, plain, phi, curved, v = problem.native.evaluate(
            self.point.w, dual, piece, gram, problem.threads
        )
        memory = _remembered(block)
        memory.piece = (self.point.name, piece)
        memory.dual = None if dual is None else (self.point.name, dual)
        return Sums(loss, plain, phi, curved, v, gram)


@dataclass(frozen=True)
class CurvatureProduct:
    """Σ curvature (x·p) x, at a point; where p is None, the diagonal of Σ curvature x xᵀ."""

    pose: Pose
    point: Point | None  # None: as if every row had curvature
    p: Array | None = None

    def __call__(self, block: RowBlock) -> Array:
        """Pass over the curved rows of a block."""
        problem = self.pose.problem(block)
        piece = self._piece(problem, block)
        if self.p is None:
            return problem.native.curvature_diagonal(piece, problem.threads)
        return problem.native.curvature_product(piece, self.p, problem.threads)

    def _piece(self, problem: LinearProblem, block: RowBlock) -> NDArray[np.int8]:
        if self.point is None:
            return np.ones(block.n_rows, dtype=np.int8)
        known = _remembered(block).piece
        if known is not None and known[0] == self.point.name:
            return known[1]
        piece = np.zeros(block.n_rows, dtype=np.int8)
        problem.native.evaluate(self.point.w, None, piece, None, problem.threads)
        _remembered(block).piece = (self.point.name, piece)
        return piece


def duals_at(pose: Pose, point: Point, block: RowBlock) -> Array:
    """Return the duals that a block's margins imply at a point."""
    memory = _remembered(block)
    if memory.dual is None or memory.dual[0] != point.name:
        dual = np.empty(block.n_rows)
        pose.problem(block).evaluate(point.w, dual=dual)
        memory.dual = (point.name, dual)
    return memory.dual[1]


def smoothness_of(pose: Pose, block: RowBlock) -> Array:
    """Return Lᵢ of a block's rows."""
    memory, key = _remembered(block), replace(pose, rounds=(), threads=1)
    if memory.smoothness is None or memory.smoothness[0] != key:
        memory.smoothness = (key, smoothness(pose.problem(block)))
    return memory.smoothness[1]


@dataclass(frozen=True)
class LossesAlong:
    """Sums of losses at w + step · p for several steps."""

    pose: Pose
    w: Array
    p: Array
    steps: Array = field(repr=False)

    def __call__(self, block: RowBlock) -> Array:
        """Pass over the rows of a block."""
        problem = self.pose.problem(block)
        return problem.native.losses_along(self.w, self.p, self.steps, problem.threads)


def added(a: Array, b: Array) -> Array:
    """Add arrays: how answers of blocks are combined."""
    return a + b
