r"""DSVRG exactly as printed: uniform sampling, a given step, the last iterate.

A stage begins with the gradient at its start :math:`\tilde w`, summed up by all parts
:math:`D_1, \dots, D_K`. Then come T steps, one after another,

.. math:: w \leftarrow w - \eta\,\bigl(\nabla p_i(w) - \nabla p_i(\tilde w) + h\bigr),
          \qquad h = \tfrac1M \sum_i \nabla p_i(\tilde w),

with i drawn at random from :math:`R_j`, the rows of part j that have not been drawn yet. The next
stage starts from the last iterate. The two listings differ in whose turn it is:

- ``"diodm"``, Algorithm 2 of [DiODM]: a part goes on until its :math:`R_j` is empty, over several
  stages if T is small, and T is a setting;
- ``"sodm"``, Algorithm 2 of [SODM]: every part takes one step and passes on, so that T = K.

Parts are pieces of strata around landmarks (Eqns. 7 and 8) whatever the labels.

Corrections, without which the listings end after M steps in all: :math:`R_j` is filled again when
it is empty, and the first part follows the last. Not printed: values of η and T. Without a step,
η is a tenth of one over the largest smoothness of a :math:`\nabla p_i`, within what Johnson and
Zhang's theorem allows; without T, it is M. Every stage is certified by the pass that gives the
gradient, and one within ``tol`` is the last; the listings run a given number of stages, which is
``max_iter`` with a ``tol`` that is out of reach. Steps that are too long are not corrected: where
the objective overflows, the last finite iterate is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.blocks import RowBlock
from ...core.budget import Budget
from ...core.outcome import Outcome, Solution
from ...engines import Engine
from ..block_problem import AnyProblem, BlockProblem
from ..blocks import BlockState, Point, Pose
from ..history import LinearHistory
from ..problem import Evaluation
from .dsvrg import N_PARTS, N_STRATA, divide, joined_lists, solve_on_parts

# Share of 1 / L that is the step where none is given.
SHARE_OF_SAFE_STEP = 0.1


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
    steps: int | None = None,
    step: float | None = None,
    listing: str = "diodm",
    engine: Engine | None = None,
) -> Solution[Array]:
    """Run stages from ``w``; the duals implied at the end go to ``dual``.

    Parameters are those of :func:`.dsvrg.solve`; ``listing`` is 'diodm' or 'sodm'.
    """
    if isinstance(problem, BlockProblem):
        return _descend(PrintedStages(problem, steps, step, listing), w, budget, history)
    parts = divide(problem, n_parts, partition, n_strata, budget.seed, printed=True)
    there = partial(solve, steps=steps, step=step, listing=listing)
    return solve_on_parts(there, problem, parts, w, budget, history, dual, engine)


def _descend(
    stages: PrintedStages, w: Array, budget: Budget, history: LinearHistory
) -> Solution[Array]:
    """Run stages until the certificate is within ``tol`` or a limit is reached."""
    at = stages.evaluate(w)
    outcome = Outcome.CONVERGED
    while not at.certificate.relative_gap <= budget.tol:
        if history.iterations >= budget.max_iter:
            outcome = Outcome.ITERATIONS
            break
        history.note(w, at.certificate, stages.problem.evaluations)
        if budget.out_of_time:
            outcome = Outcome.TIME
            break
        new = stages.walk(w, w - at.gradient, budget.seed)
        there = stages.evaluate(new)
        if not np.isfinite(there.objective):
            outcome = Outcome.STALLED
            break
        w, at = new, there
    history.note(w, at.certificate, stages.problem.evaluations, iterations=0)
    return Solution(w, at.certificate, outcome, history.iterations)


class PrintedStages:
    """The two halves of a stage, on the blocks of an engine."""

    def __init__(
        self, problem: BlockProblem, steps: int | None, step: float | None, listing: str
    ) -> None:
        self.problem = problem
        found = problem.engine.reduce(problem.blocks, Measured(problem.pose), joined_lists)
        self.sizes = [size for size, _ in found]
        steepest = 1.0 + problem.n_rows * max(largest for _, largest in found)
        self.step = SHARE_OF_SAFE_STEP / steepest if step is None else step
        self.in_turns = listing == "sodm"  # one step each
        self.steps = problem.n_rows if steps is None else steps
        if self.in_turns:
            self.steps = sum(size > 0 for size in self.sizes)
        self.turn = 0
        self.used = [0] * len(self.sizes)  # of R_j
        self.filled = [0] * len(self.sizes)  # how often R_j was filled again
        self._start: Point | None = None

    def evaluate(self, w: Array) -> Evaluation:
        """Pass over all parts."""
        self._start = Point.at(w)
        return self.problem.evaluate_at(self._start, duals=True)[0]

    def walk(self, w: Array, v: Array, seed: int) -> Array:
        """Take the steps from ``w``, with v = w − gradient; return the last iterate."""
        assert self._start is not None, "a stage begins with a pass over its parts"
        problem, done = self.problem, 0
        while done < self.steps:
            part = self.turn
            left = self.sizes[part] - self.used[part]
            count = min(left, 1 if self.in_turns else self.steps - done)
            chance = (seed, part, self.filled[part])
            begin = self.used[part]
            if count:
                visit = PrintedVisit(
                    problem.pose, self._start, chance, begin, count, problem.n_rows, v, self.step
                )
                w = problem.engine.visit(problem.blocks, part, visit, w)
            self._drawn(part, count)
            done += count
        problem.evaluations += self.steps
        return w

    def _drawn(self, part: int, count: int) -> None:
        """Take drawn rows out of R_j, and pass on where its turn is over."""
        self.used[part] += count
        empty = self.used[part] == self.sizes[part]
        if empty:
            self.used[part] = 0
            self.filled[part] += 1
        if empty or self.in_turns:
            self.turn = (part + 1) % len(self.sizes)


@dataclass(frozen=True)
class Measured:
    """The number of rows of a part, and the largest L among them."""

    pose: Pose

    def __call__(self, block: RowBlock) -> list[tuple[int, float]]:
        """Answer for one part."""
        state = BlockState.of(self.pose, block)
        each = state.smoothness_of(state.problem(self.pose, block))
        return [(block.n_rows, float(each.max(initial=0.0)))]


@dataclass(frozen=True)
class PrintedVisit:
    """Steps on the rows of one part."""

    pose: Pose  # the problem, but for its rows
    start: Point  # where the stage started
    chance: tuple[int, ...]  # decides the order in which R_j is drawn
    begin: int  # rows of that order that are drawn already
    count: int  # number of steps
    n_rows: int  # of all parts, M
    v: Array  # (size,): Σ γᵢ yᵢ xᵢ over all parts, at the stage's start
    step: float  # η

    def __call__(self, block: RowBlock, w: Array) -> Array:
        """Go on from ``w``."""
        w = w.copy()
        order = drawing_order(self.chance, block.n_rows)[self.begin : self.begin + self.count]
        state = BlockState.of(self.pose, block)
        problem = state.problem(self.pose, block)
        problem.native.svrg_steps(
            order,
            np.ones(block.n_rows),  # every row is as likely as any other of the M
            float(self.n_rows),
            state.duals_at(problem, self.start),
            self.v,
            self.step,
            self.count,  # no iterate is averaged
            w,
            np.zeros_like(w),
        )
        return w


def drawing_order(chance: tuple[int, ...], n_rows: int) -> NDArray[np.int64]:
    """Return the order in which a part's rows are drawn until none is left."""
    return np.random.default_rng(chance).permutation(n_rows)
