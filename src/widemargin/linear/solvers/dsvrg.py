r"""Variance-reduced gradients on rows that are divided into parts.

DiODM's Algorithm 2, which is SODM's with :math:`T` steps a stage, against an engine's verbs. In
each stage

1. every part sums up its rows' gradients (``reduce``);
2. one part after another takes steps on rows of its own and passes the weights on (``visit``),
   until :math:`T` steps are done; the next stage goes on with the part after the last one.

Each part's rows :math:`R_j` are drawn without replacement and anew at every visit: as many as the
part has, if its rows are as smooth as all are on average. A stage sends the weights to every part
and back, and :math:`\lceil TK/M \rceil` times on.

Departures: those of :mod:`.stages` and native/linear_svrg.hpp; the listing sets its :math:`R_j`
once, and has none left after the first :math:`M` steps.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _native
from ...core.arrays import Array
from ...core.certificates import Certificate
from ...engines import Engine, LocalEngine
from ..divided_problem import point_at
from ..monitor import LinearMonitor
from ..parts import N_STRATA, divide
from ..problem import Evaluation, LinearProblem
from ..row_blocks import EvaluatedAt, Point, Pose, RowBlock, Sums, duals_at, smoothness_of
from ..solution import LinearSolution
from .stages import descend, safe_step
from .svrg import STEPS_PER_ROW

N_PARTS = 8


def solve(
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    dual: Array | None = None,
    *,
    n_parts: int = N_PARTS,
    partition: str = "stratified",
    n_strata: int = N_STRATA,
    steps_per_row: float = STEPS_PER_ROW,
    step_factor: float = 1.0,
    engine: Engine | None = None,
) -> LinearSolution:
    """Minimise the objective from ``w``; the duals implied at the end go to ``dual``.

    Parameters
    ----------
    problem : LinearProblem
        Its rows are copied into the parts.
    w : array of shape (size,)
        The start.
    monitor : LinearMonitor
        Where to report to.
    dual : array of shape (n_rows,), optional
        Filled at the end.
    n_parts : int
        Parts, K.
    partition : {"stratified", "random"}
        Whether parts are drawn from strata around landmarks, or at random.
    n_strata : int
        Landmarks, S.
    steps_per_row : float
        T over the number of rows.
    step_factor : float
        Multiplies the step that the data give.
    engine : Engine, optional
        Where the parts are; threads of this process if None.
    """
    engine = engine or LocalEngine(problem.threads)
    divided = divide(problem, n_parts, partition, n_strata, monitor.seed)
    threads = engine.share(len(divided)).threads
    pose = Pose(1, problem.constants, problem.constant, threads=threads)
    name = uuid.uuid4().hex
    parts = engine.scatter(
        [
            RowBlock(f"{name}-{k}", part.X, (part.label > 0).astype(np.int32), part.weight)
            for k, (_, part) in enumerate(divided)
        ]
    )
    stages = PartsOnEngine(engine, parts, pose, steps_per_row)
    solution = descend(stages, w, monitor, safe_step(stages.total, step_factor))
    problem.evaluations += stages.evaluations
    if dual is not None:
        own = engine.reduce(parts, ImpliedDuals(pose, point_at(solution.w)), _joined)
        for (rows, _), implied in zip(divided, own, strict=True):
            dual[rows] = implied
    return solution


class PartsOnEngine:
    """Stages on the parts that an engine keeps, of :class:`.RowBlock`."""

    def __init__(self, engine: Engine, parts: Any, pose: Pose, steps_per_row: float) -> None:
        self.engine, self.parts, self.pose = engine, parts, pose
        sizes = engine.reduce(parts, SizeOf(pose), _joined)
        self.n_rows = sum(rows for rows, _ in sizes)
        self.total = float(sum(own for _, own in sizes))
        share = [own / self.total if self.total > 0 else 1 / len(sizes) for _, own in sizes]
        self.drawn = [max(1, round(self.n_rows * each)) for each in share]  # |R_j|
        self.steps = max(1, round(steps_per_row * self.n_rows))
        self.turn = 0
        self.evaluations = 0.0
        self._start: Point | None = None

    def evaluate(self, w: Array) -> Evaluation:
        """Pass over all parts."""
        self._start = point_at(w)
        question = EvaluatedAt(self.pose, self._start, duals=True)
        sums = self.engine.reduce(self.parts, question, Sums.plus)
        self.evaluations += self.n_rows
        objective = 0.5 * float(w @ w) + sums.loss
        certificate = Certificate(objective, -0.5 * float(sums.v @ sums.v) - sums.phi)
        return Evaluation(objective, w - sums.v, certificate, sums.curved)

    def walk(self, w: Array, v: Array, step: float, seed: int) -> Array:
        """Take the steps from ``w``, part after part."""
        assert self._start is not None, "a stage begins with a pass over its parts"
        done, averaged_from = 0, self.steps // 2
        value = (w, np.zeros_like(w))
        while done < self.steps:
            count = min(self.drawn[self.turn], self.steps - done)
            visit = Visit(
                self.pose,
                self._start,
                count,
                max(0, averaged_from - done),
                self.total,
                v,
                step,
                (seed, done),
            )
            value = self.engine.visit(self.parts, self.turn, visit, value)
            self.turn = (self.turn + 1) % len(self.drawn)
            done += count
        self.evaluations += self.steps
        return np.asarray(value[1] / (self.steps - averaged_from))


@dataclass(frozen=True)
class SizeOf:
    """Rows of a part, and their L summed up."""

    pose: Pose

    def __call__(self, block: RowBlock) -> list[tuple[int, float]]:
        """Answer for one part."""
        return [(block.n_rows, float(smoothness_of(self.pose, block).sum()))]


@dataclass(frozen=True)
class ImpliedDuals:
    """Duals of a part's rows."""

    pose: Pose
    point: Point

    def __call__(self, block: RowBlock) -> list[Array]:
        """Answer for one part."""
        return [duals_at(self.pose, self.point, block)]


@dataclass(frozen=True)
class Visit:
    """Steps on the rows of one part.

    Attributes
    ----------
    pose : Pose
        The problem, but for its rows.
    start : Point
        Where the stage started.
    count : int
        How many.
    averaged_from : int
        Iterates from this step on are summed up.
    total : float
        Sum of L over all parts.
    v : array of shape (size,)
        Σ γᵢ yᵢ xᵢ over all parts, at the stage's start.
    step : float
        Length of the steps.
    seed : tuple of int
        For the draw.
    """

    pose: Pose
    start: Point
    count: int
    averaged_from: int
    total: float
    v: Array
    step: float
    seed: tuple[int, ...]

    def __call__(self, block: RowBlock, value: tuple[Array, Array]) -> tuple[Array, Array]:
        """Go on from (weights, sum of iterates)."""
        w, summed = value[0].copy(), value[1].copy()
        seed = int(np.random.SeedSequence(self.seed).generate_state(1, np.uint64)[0])
        each = smoothness_of(self.pose, block)
        self.pose.problem(block).native.svrg_steps(
            _native.draw_rows(each, self.count, seed),
            each,
            self.total,
            duals_at(self.pose, self.start, block),
            self.v,
            self.step,
            self.averaged_from,
            w,
            summed,
        )
        return w, summed


def _joined(a: list[Any], b: list[Any]) -> list[Any]:
    return a + b
