"""Newton's method, and the hinge's augmented Lagrangian, on rows that are divided.

The loops of :mod:`.newton` and :mod:`.augmented_lagrangian`; only where the rows are differs. A
start from a sample saves passes: some rows of every block are brought together in one block, and
solved there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.outcome import Outcome
from ..divided_problem import DividedHessian, DividedProblem
from ..gathered import joined
from ..monitor import LinearMonitor
from ..problem import Evaluation, LossConstants
from ..row_blocks import Pose, RowBlock
from ..solution import LinearSolution
from . import solve as solve_here
from .augmented_lagrangian import FIRST_WIDTH, WIDTH_AFTER_SAMPLE, descend_rounds
from .newton import descend
from .sample_start import LEAST_ROWS, ROWS_PER_WEIGHT, SAMPLE_TOL, untouched

# Rows of a sample, and bytes of it at most.
SAMPLE_ROWS, SAMPLE_BYTES = 100_000, 64 * 2**20


def solve(problem: DividedProblem, w: Array, monitor: LinearMonitor) -> LinearSolution:
    """Minimise the objective from ``w`` (from a sample's solution, if it is zero)."""
    width = FIRST_WIDTH
    if untouched(w):
        started = from_sample(problem, monitor)
        if started is not None:
            w, width = started, WIDTH_AFTER_SAMPLE
    hessian = DividedHessian(problem)
    if not problem.constants.smooth:
        return descend_rounds(problem, w, monitor, RoundsSoFar(), hessian, width)

    def done(at: Evaluation) -> bool:
        return at.certificate.relative_gap <= monitor.tol

    found = descend(problem, w, monitor, done, None, hessian)  # type: ignore[arg-type]
    monitor.record(found.certificate, problem.evaluations, found.w, iterations=0)
    return found


class RoundsSoFar:
    """Multipliers that follow from where earlier rounds ended: blocks work them out."""

    room = None

    def __init__(self) -> None:
        self.rounds: tuple[tuple[Array, LossConstants], ...] = ()

    def smoothed(self, problem: DividedProblem, constants: LossConstants) -> DividedProblem:
        """Return the problem of the next round."""
        return problem.with_loss(constants, self.rounds)

    def advance(self, w: Array, constants: LossConstants) -> None:
        """Remember where a round ended."""
        self.rounds = (*self.rounds, (w, constants))


def from_sample(problem: DividedProblem, monitor: LinearMonitor) -> Array | None:
    """Solve a sample of the rows in one block; None if it would be too small to tell."""
    sizes = problem.engine.reduce(problem.blocks, _Size(), lambda a, b: a + b)
    rows, stored = sum(n for n, _ in sizes), sum(s for _, s in sizes)
    wanted = min(SAMPLE_ROWS, rows, int(SAMPLE_BYTES * rows / max(1, stored)))
    if wanted < LEAST_ROWS or wanted < ROWS_PER_WEIGHT * problem.size:
        return None
    share = wanted / rows
    drawn = problem.engine.regroup(problem.blocks, _Draw(share), joined, 1)
    solving = _SampleSolution(problem.pose, 1.0 / share, max(SAMPLE_TOL, monitor.tol))
    started: Array | None = problem.engine.visit(drawn, 0, solving, None)
    return started


@dataclass(frozen=True)
class _Size:
    """Rows and bytes of a block."""

    def __call__(self, block: RowBlock) -> list[tuple[int, int]]:
        X = block.X
        stored = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        return [(block.n_rows, int(stored))]


@dataclass(frozen=True)
class _Draw:
    """A share of a block's rows."""

    share: float

    def __call__(self, number: int, block: RowBlock) -> list[tuple[int, RowBlock]]:
        random = np.random.default_rng([0, number])
        rows = np.flatnonzero(random.random(block.n_rows) < self.share)
        return [(0, _some(block, rows))]


def _some(block: RowBlock, rows: Any) -> RowBlock:
    weight = None if block.weight is None else block.weight[rows]
    return replace(block, X=block.X[rows], codes=block.codes[rows], weight=weight)


@dataclass(frozen=True)
class _SampleSolution:
    """The solution of a sample, each of whose rows stands for several."""

    pose: Pose
    factor: float
    tol: float

    def __call__(self, block: RowBlock, _: Any) -> Array | None:
        c, factor = self.pose.constants, self.factor
        constants = replace(
            c, below=c.below / factor, above=c.above / factor, bound=c.bound * factor
        )
        problem = replace(self.pose, constants=constants).problem(block)
        if abs(int(problem.label.sum(dtype=np.int64))) == problem.n_rows:
            return None  # one class only
        monitor = LinearMonitor(tol=self.tol, max_iter=100)
        found = solve_here("newton", problem, np.zeros(problem.size), monitor)
        return found.w if found.outcome is not Outcome.STALLED else None
