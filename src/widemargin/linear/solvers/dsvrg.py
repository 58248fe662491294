r"""Variance-reduced gradients on rows that are divided into parts.

DiODM's Algorithm 2, which is SODM's with :math:`T` steps a stage, against an engine's verbs. In
each stage

1. every part sums up its rows' gradients (``reduce``);
2. one part after another takes steps on rows of its own and passes the weights on (``visit``),
   until :math:`T` steps are done; the next stage goes on with the part after the last one.

Each part's rows :math:`R_j` are drawn without replacement, again at every visit: as many as the
part has, if its rows are as smooth as all are on average. A stage sends the weights to every part
and back, and :math:`\lceil TK/M \rceil` times on.

Departures: those of :mod:`.svrg`; the listing sets its :math:`R_j` once, and has none left after
the first :math:`M` steps.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.blocks import RowBlock, bytes_of
from ...core.budget import Budget
from ...core.outcome import Solution
from ...engines import Engine, LocalEngine
from ...kernel.kernels import Kernel
from ...kernel.partition.dealing import deal
from ...kernel.partition.division import Drawn
from ...kernel.partition.strata import CANDIDATE_BYTES, landmarks
from ..block_problem import AnyProblem, BlockProblem
from ..blocks import BlockState, Point, Pose
from ..history import LinearHistory
from ..problem import Evaluation, LinearProblem
from .svrg import STEPS_PER_ROW, descend, safe_step

N_PARTS, N_STRATA = 8, 32


def solve(
    problem: AnyProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
    *,
    n_parts: int = N_PARTS,
    partition: str = "stratified",
    n_strata: int = N_STRATA,
    steps_per_row: float = STEPS_PER_ROW,
    step_factor: float = 1.0,
    engine: Engine | None = None,
) -> Solution[Array]:
    """Minimise the objective from ``w``; the duals implied at the end go to ``dual``.

    Parameters
    ----------
    problem : LinearProblem or BlockProblem
        Blocks are the parts as they are; rows in one place are divided, and copied.
    w : array of shape (size,)
        The start.
    budget : Budget
        Limits; a stage is an iteration.
    history : LinearHistory
        Record of the stages.
    dual : array of shape (n_rows,), optional
        Filled at the end, where the rows are in one place.
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
        Where to put the parts; threads of this process if None.
    """
    if isinstance(problem, BlockProblem):
        stages = PartsOnEngine(problem, steps_per_row)
        return descend(stages, w, budget, history, safe_step(stages.total, step_factor))
    parts = divide(problem, n_parts, partition, n_strata, budget.seed)
    placed = on_engine(problem, parts, engine or LocalEngine(problem.threads))
    solution = solve(
        placed, w, budget, history, steps_per_row=steps_per_row, step_factor=step_factor
    )
    problem.evaluations += placed.evaluations
    if dual is not None:
        question = ImpliedDuals(placed.pose, Point.at(solution.iterate))
        own = placed.engine.reduce(placed.blocks, question, _joined)
        for rows, implied in zip(parts, own, strict=True):
            dual[rows] = implied
    return solution


def divide(
    problem: LinearProblem, n_parts: int, partition: str, n_strata: int, seed: int
) -> list[NDArray[np.int64]]:
    """Divide the rows into parts that look like the whole; return the numbers of each part's rows.

    Classes keep their shares; with ``partition="stratified"`` so do the strata around landmarks
    (SODM Eqns. 7 and 8) in the space of the features.
    """
    if partition not in ("stratified", "random"):
        raise ValueError(f"`partition` must be 'stratified' or 'random'; got {partition!r}.")
    if n_parts < 1:
        raise ValueError(f"`n_parts` must be at least 1; got {n_parts}.")
    random = np.random.default_rng(seed)
    n_parts = min(n_parts, problem.n_rows)
    strata = np.zeros(problem.n_rows, dtype=np.int64)
    if partition == "stratified" and n_parts > 1:
        strata = _strata(problem, n_strata, random)
    target = deal(strata, problem.label, n_parts, random)
    return [np.flatnonzero(target == k) for k in range(n_parts)]


def _strata(
    problem: LinearProblem, n_strata: int, random: np.random.Generator
) -> NDArray[np.int64]:
    candidates = np.arange(problem.n_rows)
    most = CANDIDATE_BYTES // (8 * n_strata)
    if problem.n_rows > most:
        candidates = np.sort(random.choice(problem.n_rows, most, replace=False))
    drawn = Drawn(candidates, problem.X[candidates])
    nearest = landmarks(Kernel("linear"), drawn, n_strata, problem.threads)
    return nearest.assign(problem.X, problem.threads)


def on_engine(
    problem: LinearProblem, parts: list[NDArray[np.int64]], engine: Engine
) -> BlockProblem:
    """Copy parts of the rows to an engine, and pose the problem there."""
    name, blocks = uuid.uuid4().hex, []
    for k, rows in enumerate(parts):
        own = problem.take(rows)
        codes = (own.label > 0).astype(np.int32)
        blocks.append(RowBlock(f"{name}-{k}", own.X, codes, own.weight, own.target))
    threads = engine.share(len(parts)).threads
    pose = Pose(1, problem.constants, problem.constant, threads=threads)
    stored = bytes_of(problem.X)
    return BlockProblem(engine, engine.scatter(blocks), pose, problem.n_rows, stored, problem.size)


class PartsOnEngine:
    """Stages on the blocks of an engine."""

    def __init__(self, problem: BlockProblem, steps_per_row: float) -> None:
        self.problem = problem
        each: list[float] = problem.engine.reduce(
            problem.blocks, TotalSmoothness(problem.pose), _joined
        )
        self.total = float(sum(each))
        shares = [own / self.total if self.total > 0 else 1 / len(each) for own in each]
        self.drawn = [max(1, round(problem.n_rows * share)) for share in shares]  # |R_j|
        self.steps = max(1, round(steps_per_row * problem.n_rows))
        self.turn = 0
        self._start: Point | None = None

    @property
    def evaluations(self) -> float:
        """Gradients of single rows evaluated so far."""
        return self.problem.evaluations

    def evaluate(self, w: Array) -> Evaluation:
        """Pass over all parts."""
        self._start = Point.at(w)
        return self.problem.evaluate_at(self._start, duals=True)[0]

    def walk(self, w: Array, v: Array, step: float, seed: int) -> Array:
        """Take the steps from ``w``, part after part."""
        assert self._start is not None, "a stage begins with a pass over its parts"
        problem, done, averaged_from = self.problem, 0, self.steps // 2
        value = (w, np.zeros_like(w))
        while done < self.steps:
            count = min(self.drawn[self.turn], self.steps - done)
            visit = Visit(
                problem.pose,
                self._start,
                count,
                max(0, averaged_from - done),
                self.total,
                v,
                step,
                (seed, done),
            )
            value = problem.engine.visit(problem.blocks, self.turn, visit, value)
            self.turn = (self.turn + 1) % len(self.drawn)
            done += count
        problem.evaluations += self.steps
        return np.asarray(value[1] / (self.steps - averaged_from))


@dataclass(frozen=True)
class TotalSmoothness:
    """The sum of L over the rows of a part."""

    pose: Pose

    def __call__(self, block: RowBlock) -> list[float]:
        """Answer for one part."""
        state = BlockState.of(self.pose, block)
        return [float(state.smoothness_of(state.problem(self.pose, block)).sum())]


@dataclass(frozen=True)
class ImpliedDuals:
    """Duals of a part's rows."""

    pose: Pose
    point: Point

    def __call__(self, block: RowBlock) -> list[Array]:
        """Answer for one part."""
        state = BlockState.of(self.pose, block)
        return [state.duals_at(state.problem(self.pose, block), self.point)]


@dataclass(frozen=True)
class Visit:
    """Steps on the rows of one part."""

    pose: Pose  # the problem, but for its rows
    start: Point  # where the stage started
    count: int  # number of steps
    averaged_from: int  # iterates from this step on are summed up
    total: float  # sum of L over all parts
    v: Array  # (size,): Σ γᵢ yᵢ xᵢ over all parts, at the stage's start
    step: float  # length of the steps
    seed: tuple[int, ...]  # decides which rows are drawn

    def __call__(self, block: RowBlock, value: tuple[Array, Array]) -> tuple[Array, Array]:
        """Go on from (weights, sum of iterates)."""
        w, summed = value[0].copy(), value[1].copy()
        seed = int(np.random.SeedSequence(self.seed).generate_state(1, np.uint64)[0])
        state = BlockState.of(self.pose, block)
        problem = state.problem(self.pose, block)
        each = state.smoothness_of(problem)
        problem.native.svrg_steps(
            _native.draw_rows(each, self.count, seed),
            each,
            self.total,
            state.duals_at(problem, self.start),
            self.v,
            self.step,
            self.averaged_from,
            w,
            summed,
        )
        return w, summed


def _joined(a: list[Any], b: list[Any]) -> list[Any]:
    return a + b
