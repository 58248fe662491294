"""All rows in one block, solved there: for sets that one task can hold."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array
from ..engines import Engine
from .monitor import LinearMonitor
from .row_blocks import Pose, RowBlock
from .solution import LinearSolution
from .solvers import SolverOptions, choose, solve


@dataclass(frozen=True)
class Answer:
    """A problem solved elsewhere."""

    solution: LinearSolution
    records: list[tuple[float, ...]]
    solver: str


@dataclass(frozen=True)
class Gathered:
    """Problems to be solved on all blocks put together."""

    poses: list[Pose]
    starts: list[Array]
    solver: str
    options: SolverOptions
    tol: float
    max_iter: int
    max_time: float | None
    seed: int

    def __call__(self, blocks: list[RowBlock]) -> list[Answer]:
        """Solve them one after another."""
        block = joined(blocks)
        started, answers = time.perf_counter(), []
        for k, (pose, start) in enumerate(zip(self.poses, self.starts, strict=True)):
            deadline = None
            if self.max_time is not None:
                now = time.perf_counter()
                left = max(0.0, started + self.max_time - now)
                deadline = now + left / (len(self.poses) - k)
            monitor = LinearMonitor(
                tol=self.tol,
                max_iter=self.max_iter,
                deadline=deadline,
                seed=self.seed,
                started=started,
            )
            problem = pose.problem(block)
            name = choose(self.solver, problem)
            solution = solve(name, problem, start.copy(), monitor, None, self.options)
            answers.append(Answer(solution, monitor.records(k), name))
        return answers


def gather(engine: Engine, blocks: Any, question: Gathered) -> list[Answer]:
    """Bring all rows to one block and ask there."""
    return engine.together(blocks, question)


def joined(blocks: list[RowBlock]) -> RowBlock:
    """Put the rows of blocks together, in their order."""
    if len(blocks) == 1:
        return blocks[0]
    sparse = any(sp.issparse(b.X) for b in blocks)
    X = sp.csr_matrix(sp.vstack([b.X for b in blocks])) if sparse else None
    weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b in blocks]
    weight = None if all(b.weight is None for b in blocks) else np.concatenate(weights)
    codes = np.concatenate([b.codes for b in blocks])
    name = f"{blocks[0].name} and {len(blocks) - 1} more"
    return RowBlock(name, np.vstack([b.X for b in blocks]) if X is None else X, codes, weight)
