r"""Where a solve begins: from a sample of the rows, or from the solution of a neighbour.

**A sample.** Most of the way is the same for an eighth of the rows: solutions of a sample differ
from the whole set's by little more than chance, and a pass over it costs an eighth, so that the
whole set is left two or three passes. Applied to the sample again, the first steps of all are taken
on a few thousand rows. From blocks on an engine, some rows of each are brought together in one
block and solved there.

**A neighbour.** Along the ray of another solution's duals the dual objective is a parabola: with
:math:`\sum_i \varphi_i(t\gamma_i) - t\, t_i \gamma_i = A t^2 - B t` for t ≥ 0 its highest point is
:math:`t = B / (\lVert w \rVert^2 + 2A)`. On that ray lie the duals as they are and the duals grown
with ``C``, which is where those at their bound go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ...core.arrays import Array
from ...core.blocks import RowBlock, joined
from ...core.budget import Budget
from ...core.outcome import Outcome, Solution
from ..block_problem import AnyProblem, BlockProblem
from ..blocks import Pose
from ..history import LinearHistory
from ..problem import LinearProblem

# A sample has one row in this many, drawn at random: with every eighth row of the ordered ijcnn1,
# twice the passes are needed.
ONE_IN = 8
# Samples of fewer rows are not worth solving,
LEAST_ROWS = 5000
# nor are those of fewer rows per weight.
ROWS_PER_WEIGHT = 20
# Most rows of a sample from blocks.
SAMPLE_ROWS = 100_000
# Most bytes of any sample.
SAMPLE_BYTES = 64 * 2**20
# Closer than this a sample's solution is no nearer to the whole set's.
SAMPLE_TOL = 1e-2
# Newton steps on a sample from blocks.
SAMPLE_STEPS = 100

Solve: TypeAlias = Callable[[Any, Array, Budget, LinearHistory], Solution[Array]]


def from_sample(problem: AnyProblem, solve: Solve, budget: Budget) -> Array | None:
    """Solve a sample of the rows; None if it would be too small."""
    budget = replace(budget, tol=max(SAMPLE_TOL, budget.tol))
    if isinstance(problem, BlockProblem):
        return _from_blocks(problem, solve, replace(budget, max_iter=SAMPLE_STEPS))
    sample = sampled(problem)
    if sample is None:
        return None
    w = solve(sample, np.zeros(problem.size), budget, LinearHistory()).iterate
    problem.evaluations += sample.evaluations
    return w


def sampled(problem: LinearProblem) -> LinearProblem | None:
    """Pose the problem on a sample whose rows weigh more; None if a sample would be too small."""
    value_bytes = problem.X.dtype.itemsize
    one_in = max(ONE_IN, -(-problem.stored * value_bytes // SAMPLE_BYTES))
    rows = problem.n_rows // one_in
    if rows < LEAST_ROWS or rows < ROWS_PER_WEIGHT * problem.size:
        return None
    draw = np.random.default_rng(0).choice(problem.n_rows, rows, replace=False)
    draw.sort()  # read in the order of the file
    if problem.target is None and _one_class(problem.label[draw]):
        return None
    weighted = problem.constants.times(problem.n_rows / rows)
    return replace(problem, constants=weighted).take(draw)


def _one_class(label: Any) -> bool:
    return abs(int(label.sum(dtype=np.int64))) == len(label)


def _from_blocks(problem: BlockProblem, solve: Solve, budget: Budget) -> Array | None:
    rows = problem.n_rows
    wanted = min(SAMPLE_ROWS, rows, int(SAMPLE_BYTES * rows / max(1, problem.stored_bytes)))
    if wanted < LEAST_ROWS or wanted < ROWS_PER_WEIGHT * problem.size:
        return None
    share = wanted / rows
    drawn = problem.engine.regroup(problem.blocks, _Draw(share), joined, 1)
    pose = replace(problem.pose, constants=problem.constants.times(1.0 / share))
    started: Array | None = problem.engine.visit(drawn, 0, _SolvedSample(pose, solve, budget), None)
    return started


@dataclass(frozen=True)
class _Draw:
    """A share of a block's rows."""

    share: float

    def __call__(self, number: int, block: RowBlock) -> list[tuple[int, RowBlock]]:
        random = np.random.default_rng([0, number])
        rows = np.flatnonzero(random.random(block.n_rows) < self.share)
        return [(0, block.take(rows, block.name))]


@dataclass(frozen=True)
class _SolvedSample:
    """The solution of a sample."""

    pose: Pose
    solve: Solve
    budget: Budget

    def __call__(self, block: RowBlock, _: Any) -> Array | None:
        problem = self.pose.problem(block)
        if problem.target is None and _one_class(problem.label):
            return None
        found = self.solve(problem, np.zeros(problem.size), self.budget, LinearHistory())
        return found.iterate if found.outcome is not Outcome.STALLED else None


def untouched(w: Array) -> bool:
    """Whether a start is none."""
    return not np.any(w)


def implied_duals(problem: LinearProblem, w: Array) -> Array:
    """Return the duals that the margins of ``w`` imply."""
    net_dual = np.zeros(problem.n_rows)
    problem.evaluate(w, dual=net_dual)
    return net_dual


def best_multiple(problem: LinearProblem, net_dual: Array, w: Array) -> Array:
    """Return the multiple of duals, with weights ``w``, that has the highest dual objective."""
    once, twice = problem.phi(net_dual), problem.phi(2.0 * net_dual)
    square = 0.5 * twice - once
    curvature = float(w @ w) + 2.0 * square
    factor = max(0.0, (square - once) / curvature) if curvature > 0 else 0.0
    return problem.nearest(factor * net_dual)
