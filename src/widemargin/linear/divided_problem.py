r"""A binary linear problem whose rows lie in blocks on an engine.

The same questions as :class:`.LinearProblem` answers, each by one ``reduce`` over the blocks. What
comes back is as long as ``w`` (with ``gram``, its square); rows never move.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.certificates import Certificate
from ..engines import Engine
from .problem import Evaluation, LossConstants
from .row_blocks import CurvatureProduct, EvaluatedAt, LossesAlong, Point, Pose, Sums, added
from .solvers.newton import Hessian

# Up to this many weights blocks send their part of the Hessian: half a megabyte each.
DIRECT_SIZE = 256


@dataclass
class DividedProblem:
    """Minimise ½‖w‖² + Σ ℓᵢ(yᵢ w·xᵢ) over all blocks' rows.

    Attributes
    ----------
    engine : Engine
        Where the blocks are.
    blocks : Parts
        The engine's parts, of :class:`.RowBlock`.
    pose : Pose
        The problem, but for its rows.
    n_rows : int
        Rows of all blocks.
    size : int
        Length of ``w``: the features, and the constant one.
    evaluations : float
        Gradients of single rows so far.
    """

    engine: Engine
    blocks: Any = field(repr=False)
    pose: Pose
    n_rows: int
    size: int
    evaluations: float = 0.0

    @property
    def constants(self) -> LossConstants:
        """The loss."""
        return self.pose.constants

    @property
    def direct(self) -> bool:
        """Whether the Hessian is sent as a matrix."""
        return self.size <= DIRECT_SIZE

    def sums_at(self, point: Point, gram: bool = False) -> tuple[Evaluation, Sums]:
        """Evaluate objective, gradient and certificate in one pass, with what blocks added up."""
        self.evaluations += self.n_rows
        sums = self.engine.reduce(self.blocks, EvaluatedAt(self.pose, point, gram), Sums.plus)
        w = point.w
        half = 0.5 * float(w @ w)
        certificate = Certificate(half + sums.plain, -0.5 * float(sums.v @ sums.v) - sums.phi)
        return Evaluation(half + sums.loss, w - sums.v, certificate, sums.curved), sums

    def evaluate(self, w: Array) -> Evaluation:
        """Evaluate objective, gradient and certificate."""
        return self.sums_at(point_at(w))[0]

    def curvature_product(self, point: Point, p: Array) -> Array:
        """Multiply the Hessian at a point with a vector."""
        return p + self.engine.reduce(self.blocks, CurvatureProduct(self.pose, point, p), added)

    def curvature_diagonal(self, point: Point | None) -> Array:
        """Return the diagonal of the Hessian at a point, or where every row has curvature."""
        return 1.0 + self.engine.reduce(self.blocks, CurvatureProduct(self.pose, point), added)

    def objectives_along(self, w: Array, p: Array, steps: Array) -> Array:
        """Evaluate the objective at w + step · p for several steps, in one pass."""
        self.evaluations += self.n_rows
        losses = self.engine.reduce(self.blocks, LossesAlong(self.pose, w, p, steps), added)
        norms = float(w @ w) + 2 * steps * float(w @ p) + steps**2 * float(p @ p)
        return 0.5 * norms + losses

    def with_loss(self, constants: LossConstants, rounds: Any = ()) -> DividedProblem:
        """Pose the problem with another loss on the same rows."""
        return replace(self, pose=replace(self.pose, constants=constants, rounds=rounds))


def point_at(w: Array) -> Point:
    """Give weights a name of their own."""
    return Point(w, uuid.uuid4().hex)


class DividedHessian(Hessian):
    """The second derivative of a divided problem where it was evaluated last."""

    def __init__(self, problem: DividedProblem) -> None:
        self.problem: Any = problem
        self.piece: Any = None  # the point
        self.gram = None
        self.damping = 0.0
        self.went_back = False
        self._full_diagonal: Array | None = None
        self._first_gradient: float | None = None

    def evaluate(self, w: Array, dual: Array | None) -> Evaluation:
        """Evaluate the problem, and be up to date there."""
        self.went_back = False
        self.piece = point_at(w)
        problem: DividedProblem = self.problem
        at, sums = problem.sums_at(self.piece, gram=problem.direct)
        self.gram = sums.gram
        return at

    def state(self) -> tuple[Any, Array | None]:
        """Keep what an evaluation elsewhere would change."""
        return self.piece, self.gram

    def _diagonal_everywhere(self) -> Array:
        return np.asarray(self.problem.curvature_diagonal(None))
