"""The binary problem on the blocks of an engine: each question is one ``reduce`` over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from ..core.arrays import Array
from ..core.losses import LossConstants
from ..engines import Engine
from .blocks import CurvatureProduct, EvaluatedAt, LossesAlong, Point, Pose, Rounds, Sums, added
from .problem import Curvature, Evaluation, LinearProblem, penalties_along

# Up to this many weights blocks send their part of the Hessian: half a megabyte each.
SENT_SIZE = 256


@dataclass
class BlockProblem:
    """Minimise ½‖w‖² + Σ ℓᵢ(yᵢ w·xᵢ − tᵢ) over the rows of all blocks of an engine."""

    engine: Engine  # where the blocks are
    blocks: Any = field(repr=False)  # the engine's parts, of RowBlock
    pose: Pose  # the problem, but for its rows
    # Rows of all blocks, and the bytes that they take.
    n_rows: int
    stored_bytes: int
    size: int  # length of ``w``: the features, and the constant one
    evaluations: float = 0.0  # gradients of single rows so far

    @property
    def constants(self) -> LossConstants:
        """The loss."""
        return self.pose.constants

    def evaluate(self, w: Array) -> Evaluation:
        """Evaluate objective, gradient and certificate in one pass."""
        return self.evaluate_at(Point.at(w))[0]

    def evaluate_at(
        self, point: Point, *, gram: bool = False, duals: bool = False
    ) -> tuple[Evaluation, Array | None]:
        """Evaluate at a point that will be asked about again; return the matrix too, if asked."""
        self.evaluations += self.n_rows
        question = EvaluatedAt(self.pose, point, gram, duals)
        sums = self.engine.reduce(self.blocks, question, Sums.plus)
        return Evaluation.of(point.w, *sums[:5]), sums.gram

    def no_curvature(self, direct_size: int) -> Curvature:
        """Return the state before the first evaluation; a matrix where it is worth sending."""
        direct = self.size <= min(direct_size, SENT_SIZE)
        return Curvature(None, np.zeros((self.size, self.size)) if direct else None)

    def track(self, w: Array, curvature: Curvature, dual: Array | None = None) -> Evaluation:
        """Evaluate, and bring the curvature up to date; duals stay with their rows."""
        curvature.where = Point.at(w)
        at, curvature.gram = self.evaluate_at(curvature.where, gram=curvature.gram is not None)
        return at

    def curvature_product(self, point: Point, p: Array) -> Array:
        """Multiply the Hessian at a point with a vector."""
        return p + self.engine.reduce(self.blocks, CurvatureProduct(self.pose, point, p), added)

    def curvature_diagonal(self, point: Point | None) -> Array:
        """Return the diagonal of the Hessian at a point."""
        return 1.0 + self.engine.reduce(self.blocks, CurvatureProduct(self.pose, point), added)

    def full_diagonal(self) -> Array:
        """Return the diagonal that the Hessian would have if every row had curvature."""
        return self.curvature_diagonal(None)

    def objectives_along(self, w: Array, p: Array, steps: Array) -> Array:
        """Evaluate the objective at w + step · p for several steps, in one pass."""
        self.evaluations += self.n_rows
        losses = self.engine.reduce(self.blocks, LossesAlong(self.pose, w, p, steps), added)
        return penalties_along(w, p, steps) + losses

    def multipliers(self, dual: Array | None = None) -> RoundMultipliers:
        """Return the multipliers of the augmented Lagrangian."""
        return RoundMultipliers(self)


class RoundMultipliers:
    """Multipliers that blocks work out from where earlier rounds ended."""

    implied = None

    def __init__(self, problem: BlockProblem) -> None:
        self.problem = problem
        self.rounds: Rounds = ()

    def smoothed(self, constants: LossConstants) -> BlockProblem:
        """Return the problem of the next round."""
        pose = replace(self.problem.pose, constants=constants, rounds=self.rounds)
        return replace(self.problem, pose=pose)

    def advance(self, w: Array, constants: LossConstants) -> None:
        """Remember where a round ended."""
        self.rounds = (*self.rounds, (w, constants))


# What Newton's method takes.
AnyProblem: TypeAlias = LinearProblem | BlockProblem
