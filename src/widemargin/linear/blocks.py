"""Questions about a binary problem that blocks of rows answer, on any engine.

A block knows its rows and nothing of the problem; a :class:`Pose` says which class is positive and
what the loss is. Questions are small objects that travel to the blocks: they hold weights, never
rows. What comes back is as long as ``w`` (with ``gram``, its square). Blocks keep no state that an
answer depends on, so that any of them can be computed again elsewhere; what a process remembers of
a block only saves time.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.blocks import BlockMemory, RowBlock
from ..core.losses import LossConstants
from .problem import Labels, LinearProblem

# Rows whose state a process remembers: some 30 bytes each.
MOST_REMEMBERED = 4_000_000

# Rounds of the augmented Lagrangian: where each ended and how it was smoothed.
Rounds: TypeAlias = tuple[tuple[Array, LossConstants], ...]


@dataclass(frozen=True)
class Pose:
    """A binary problem, but for its rows."""

    positive: int  # the class that is positive
    constants: LossConstants
    constant: float = 0.0  # value of the constant feature; 0 means no intercept
    factors: tuple[float, ...] | None = None  # weights of the classes
    threads: int = 1  # threads for passes over a block's rows
    # Rounds of the augmented Lagrangian so far. The rows' multipliers follow from them, one round
    # after the other.
    rounds: Rounds = ()

    def labels(self, block: RowBlock) -> Labels:
        """Return +1 for a block's rows of the positive class, −1 for the others."""
        label = np.full(block.n_rows, -1, dtype=np.int8)
        label[block.codes == self.positive] = 1
        return label

    def weights(self, block: RowBlock) -> Array | None:
        """Return the weights of a block's rows, those of the classes included."""
        if self.factors is None:
            return block.weight
        own: Array = np.asarray(self.factors)[block.codes]
        return own if block.weight is None else block.weight * own

    def problem(self, block: RowBlock) -> LinearProblem:
        """Pose the problem on the rows of one block."""
        return self.on(block, self.labels(block), self.weights(block))

    def on(self, block: RowBlock, label: Labels, weight: Array | None) -> LinearProblem:
        """Pose the problem on one block whose labels and weights are known."""
        return LinearProblem(
            block.X,
            label,
            self.constants,
            weight,
            self.constant,
            self.threads,
            target=block.target,
            rows=block.rows,
        )


class BlockState:
    """What a process remembers of a block in one binary problem: numbers per row, never rows."""

    def __init__(self, pose: Pose, block: RowBlock) -> None:
        self.label, self.weight = pose.labels(block), pose.weights(block)
        self.rounds: Rounds = ()
        self.multiplier: Array | None = None  # after these rounds
        self.piece: tuple[str, NDArray[np.int8]] | None = None
        self.dual: tuple[str, Array] | None = None
        self.smoothness: tuple[LossConstants, Array] | None = None

    @staticmethod
    def of(pose: Pose, block: RowBlock) -> BlockState:
        """Return what is remembered of a block."""
        return _states.of((block.name, pose.positive, pose.factors), pose, block)

    def problem(self, pose: Pose, block: RowBlock) -> LinearProblem:
        """Pose the problem on the block."""
        problem = pose.on(block, self.label, self.weight)
        if pose.constants.smoothed:
            problem.multiplier = self._multiplier(problem, pose.rounds)
        return problem

    def _multiplier(self, plain: LinearProblem, rounds: Rounds) -> Array:
        """Go through the rounds that this process has not seen yet."""
        if self.multiplier is None or not _begins_with(rounds, self.rounds):
            self.rounds, self.multiplier = (), plain.first_multipliers()
        for w, constants in rounds[len(self.rounds) :]:
            implied = np.empty(plain.n_rows)
            replace(plain, constants=constants, multiplier=self.multiplier).evaluate(
                w, dual=implied
            )
            self.multiplier = implied
        self.rounds = rounds
        return self.multiplier

    def piece_at(self, problem: LinearProblem, point: Point) -> NDArray[np.int8]:
        """Return the piece of its loss that each row is on at a point."""
        if self.piece is None or self.piece[0] != point.name:
            piece = np.zeros(problem.n_rows, dtype=np.int8)
            problem.evaluate(point.w, piece=piece)
            self.piece = (point.name, piece)
        return self.piece[1]

    def duals_at(self, problem: LinearProblem, point: Point) -> Array:
        """Return the duals that the rows' margins imply at a point."""
        if self.dual is None or self.dual[0] != point.name:
            dual = np.empty(problem.n_rows)
            problem.evaluate(point.w, dual=dual)
            self.dual = (point.name, dual)
        return self.dual[1]

    def smoothness_of(self, problem: LinearProblem) -> Array:
        """Return Lᵢ of the rows."""
        if self.smoothness is None or self.smoothness[0] != problem.constants:
            self.smoothness = (problem.constants, problem.smoothness())
        return self.smoothness[1]


def _begins_with(rounds: Rounds, known: Rounds) -> bool:
    return len(known) <= len(rounds) and all(
        a is b or (c == d and np.array_equal(a, b))
        for (a, c), (b, d) in zip(rounds, known, strict=False)
    )


_states: BlockMemory[BlockState] = BlockMemory(
    MOST_REMEMBERED, BlockState, lambda state: len(state.label)
)


class Sums(NamedTuple):
    """What blocks add up at a point; see :meth:`.Evaluation.of`."""

    loss: float
    plain: float
    phi: float
    curved: int
    total: Array
    gram: Array | None = None

    def plus(self, other: Sums) -> Sums:
        """Add the sums of other rows."""
        gram = self.gram
        if gram is not None and other.gram is not None:
            gram = gram + other.gram
        return Sums(
            self.loss + other.loss,
            self.plain + other.plain,
            self.phi + other.phi,
            self.curved + other.curved,
            self.total + other.total,
            gram,
        )


@dataclass(frozen=True)
class Point:
    """Weights at which curvature is asked for, under a name that processes remember."""

    w: Array
    name: str

    @classmethod
    def at(cls, w: Array) -> Point:
        """Give weights a name of their own."""
        return cls(w, uuid.uuid4().hex)


@dataclass(frozen=True)
class EvaluatedAt:
    """Losses, gradient and, if asked for, curvature at a point."""

    pose: Pose
    point: Point
    gram: bool = False
    duals: bool = False  # whether those of the rows will be asked for

    def __call__(self, block: RowBlock) -> Sums:
        """Pass over the rows of a block."""
        state = BlockState.of(self.pose, block)
        problem = state.problem(self.pose, block)
        piece = np.zeros(block.n_rows, dtype=np.int8)
        gram = np.zeros((problem.size, problem.size)) if self.gram else None
        dual = np.empty(block.n_rows) if self.duals else None
        found = problem.native.evaluate(self.point.w, dual, piece, gram, problem.threads)
        state.piece = (self.point.name, piece)
        state.dual = None if dual is None else (self.point.name, dual)
        return Sums(*found, gram)


@dataclass(frozen=True)
class CurvatureProduct:
    """Σ curvature (x·p) x, at a point; where p is None, the diagonal of Σ curvature x xᵀ."""

    pose: Pose
    point: Point | None  # None: as if every row had curvature
    p: Array | None = None

    def __call__(self, block: RowBlock) -> Array:
        """Pass over the curved rows of a block."""
        state = BlockState.of(self.pose, block)
        problem = state.problem(self.pose, block)
        if self.point is None:
            piece = np.ones(block.n_rows, dtype=np.int8)
        else:
            piece = state.piece_at(problem, self.point)
        if self.p is None:
            return problem.native.curvature_diagonal(piece, problem.threads)
        return problem.native.curvature_product(piece, self.p, problem.threads)


@dataclass(frozen=True)
class LossesAlong:
    """Sums of losses at w + step · p for several steps."""

    pose: Pose
    w: Array
    p: Array
    steps: Array = field(repr=False)

    def __call__(self, block: RowBlock) -> Array:
        """Pass over the rows of a block."""
        problem = BlockState.of(self.pose, block).problem(self.pose, block)
        return problem.native.losses_along(self.w, self.p, self.steps, problem.threads)


def added(a: Array, b: Array) -> Array:
    """Add arrays: how answers of blocks are combined."""
    return a + b
