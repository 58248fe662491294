"""The fit of several binary problems on one training set, which share kernel values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import FEWEST_AT_ONCE
from ..core.history import History
from ..core.outcome import Certificate, Outcome, Solution
from ..core.rows import canonical, copies
from .divide.starts import best_on_ray
from .duplicates import WORTHWHILE
from .problem import Duals, KernelProblem
from .problems import ExactFit, KernelProblems
from .solvers.row_groups import SharedProblem
from .solvers.shared_blocks import FEWEST_BLOCK_ROWS, SharedBlocks, rows_of_block
from .solvers.shared_certificates import SAFETY, certified

# Share of the memory that duals, margins and what is computed from them may take.
SHARE_FOR_STATE = 0.125
# Arrays of the size of all duals that exist at the same time.
ARRAYS = 4


def can_share_blocks(problems: KernelProblems, solver: str, budget: Budget) -> bool:
    """Whether :class:`SharedFit` is for these problems.

    They must be several and one-vs-rest (those of pairs of classes have few rows in common), their
    kernel positive semi-definite and not linear, for which there are other solvers. Few rows may
    be copies of others, which are better merged, and there must be memory for blocks and for the
    duals of all problems.
    """
    kernel = problems.kernel
    if len(problems) < FEWEST_AT_ONCE or solver not in ("auto", "blocks"):
        return False
    if not kernel.positive_semidefinite or kernel.name == "linear":
        return False
    tasks = problems.tasks
    if tasks[0].rows is not None:
        return False
    if 8 * ARRAYS * len(problems) * problems.n_rows > SHARE_FOR_STATE * budget.memory:
        return False
    if rows_of_block(budget.memory, 8) < FEWEST_BLOCK_ROWS:
        return False
    _, first = copies(canonical(problems.rows), tasks.codes)
    return first.size > (1 - WORTHWHILE) * problems.n_rows


class SharedFit(ExactFit):
    """An exact fit that solves all problems at the same time, on shared blocks.

    Problems that are not solved by that are solved one by one, from where it left them.
    """

    def _prepare(self) -> None:
        problems = self.problems
        terms = problems.loss.terms(problems.weights)
        self.shared = [
            SharedProblem(
                task.label, terms if task.rows is None else terms.at(task.rows), task.rows
            )
            for task in problems.tasks
        ]
        self.net_dual = [np.zeros(len(each.label)) for each in self.shared]
        self.margin = [np.zeros(len(each.label)) for each in self.shared]
        self.sets = np.zeros(len(self.shared), dtype=np.int64)
        self.proofs: list[Certificate] = []
        self.timed_out = False

    def run_all(self) -> None:
        """Solve all problems."""
        self._solve_together()
        super().run_all()

    def _solve_together(self) -> None:
        problems, budget = self.problems, self.budget
        blocks = SharedBlocks(
            problems.rows,
            problems.kernel,
            budget.threads,
            budget.memory,
            budget.seed,
            own_rows=any(each.rows is not None for each in self.shared),
        )
        state = self.shared, self.net_dual, self.margin
        target = np.full(len(self.shared), SAFETY * budget.tol)
        self._begin(blocks)

        def record(primal: Array, gap: Array, sets: NDArray[np.int64]) -> None:
            self._record(blocks, primal, primal - gap, self.sets + sets)

        self.sets += blocks.solve(
            *state,
            target,
            max_sets=budget.max_iter,
            stop=lambda gap: budget.out_of_time,
            record=record,
        )
        left = budget.max_iter - int(self.sets.max())
        self.proofs, more = certified(
            blocks,
            *state,
            budget.tol,
            max_sets=left,
            stop=lambda gap: left <= 0 or budget.out_of_time,
        )
        self.sets += more
        self._record(
            blocks,
            np.array([each.primal for each in self.proofs]),
            np.array([each.dual for each in self.proofs]),
            self.sets,
        )
        self.timed_out = budget.out_of_time

    def _begin(self, blocks: SharedBlocks) -> None:
        """Take the duals of an earlier fit, multiples of those of another ``C``, or zero."""
        for k, each in enumerate(self.shared):
            start = self.problems.start(k)
            if self.neighbours is not None:
                start = self.neighbours[k].net_dual
            if start is not None:
                self.net_dual[k][:] = each.terms.nearest(start)
        if not any(dual.any() for dual in self.net_dual):
            return
        for k, margin in enumerate(blocks.margins.of(self.shared, self.net_dual, single=True)):
            best = Duals(self.net_dual[k], margin)
            if self.neighbours is not None:
                best = best_on_ray(self.shared[k].terms, self.net_dual[k], margin)
            self.net_dual[k][:], self.margin[k][:] = best.net_dual, best.margin

    def _record(
        self, blocks: SharedBlocks, primal: Array, dual: Array, sets: NDArray[np.int64]
    ) -> None:
        """Record a state of all problems; passes count the kernel values of all together."""
        passes = blocks.entries / self.problems.n_rows**2
        for k, each in enumerate(self.shared):
            active = blocks.active if each.rows is None else blocks.active[each.rows]
            self.history.record(
                problem=k,
                iteration=int(sets[k]),
                primal=float(primal[k]),
                dual=float(dual[k]),
                relative_gap=Certificate(float(primal[k]), float(dual[k])).relative_gap,
                active_rows=int(active.sum()),
                passes=passes,
                rows=len(each.label),
            )

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[Duals]:
        if self.proofs[k].relative_gap <= self.budget.tol:
            outcome = Outcome.CONVERGED
        elif self.timed_out:
            outcome = Outcome.TIME
        elif self.sets[k] >= self.budget.max_iter:
            outcome = Outcome.ITERATIONS
        else:
            return super()._solve(k, budget, history)
        duals = Duals(self.net_dual[k], self.margin[k])
        return Solution(duals, self.proofs[k], outcome, int(self.sets[k]), "blocks")

    def _start(self, k: int, problem: KernelProblem) -> Duals:
        return Duals(self.net_dual[k])

    def iterate(self, k: int) -> Duals | None:
        """Return the solution of a problem, or where an interrupt left it."""
        found = super().iterate(k)
        return Duals(self.net_dual[k]) if found is None else found
