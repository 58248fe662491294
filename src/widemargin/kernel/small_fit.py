"""The fit of a small training set: its binary problems share a kernel matrix."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _native
from ..core.arrays import Array
from ..core.budget import Budget
from ..core.history import History
from ..core.outcome import Solution
from ..core.rows import as_rows
from .problem import Duals, KernelProblem
from .problems import ExactFit, KernelProblems
from .solvers.block_descent import EXPENSIVE_ROW, stored_per_row
from .solvers.small_problems import (
    LEAST_GAP,
    MOST_COSTLY_ROWS,
    MOST_ROWS,
    MOST_SHARED_ROWS,
    SmallProblems,
    least_memory,
    threads_for,
)


def is_small(
    problems: KernelProblems,
    solver: str,
    budget: Budget,
    most_rows: int = MOST_ROWS,
    *,
    one_matrix: bool = False,
) -> bool:
    """Whether :class:`SmallFit` is for these problems.

    They must be of classes. None may have more than ``most_rows`` rows (pairs of classes more where
    kernel values are costly), their kernel must be positive semi-definite, its matrices fit into
    memory, and ``tol`` be larger than rounding. With ``one_matrix``, all rows must share one.
    """
    tasks = problems.tasks
    if problems.target is not None:
        return False
    if _has_one_matrix(problems):
        kept = problems.n_rows**2
    elif one_matrix or not tasks.pairs:
        return False
    else:
        kept = int(np.sum(np.bincount(tasks.codes) ** 2))
    if tasks.pairs and stored_per_row(problems.rows) >= EXPENSIVE_ROW:
        most_rows = max(most_rows, MOST_COSTLY_ROWS)
    return (
        solver == "auto"
        and tasks.most_rows <= most_rows
        and problems.kernel.positive_semidefinite
        and budget.tol >= LEAST_GAP
        and least_memory(kept, tasks.most_rows, budget.threads) <= budget.memory
    )


def _has_one_matrix(problems: KernelProblems) -> bool:
    """Whether a kernel matrix of all rows is computed."""
    return problems.n_rows <= MOST_SHARED_ROWS


class SmallFit(ExactFit):
    """An exact fit that solves all problems in one call, to ``tol`` and no further.

    Problems that are not solved by that are solved one by one, from where it left them.
    """

    def _prepare(self) -> None:
        problems, tasks = self.problems, self.problems.tasks
        self.small = SmallProblems(
            tasks.codes,
            tasks.by_class,
            problems.loss.terms(problems.weights),
            tasks.positive,
            tasks.negative,
            self._coefficients_to_start_from(),
        )
        self._finished = False

    def _coefficients_to_start_from(self) -> Array:
        if self.neighbours is not None:
            duals = enumerate(self.neighbours)
            return np.array([self.problems.coefficients(k, each.net_dual) for k, each in duals])
        if self.problems.previous is not None:
            return np.array(self.problems.previous, order="C")
        return np.zeros((self.n_problems, self.problems.n_rows))

    def run_all(self) -> None:
        """Solve all problems."""
        problems, threads = self.problems, threads_for(self.problems.n_rows, self.budget)
        rows = as_rows(problems.rows, np.float64)
        diagonal = problems.kernel.diagonal(rows)
        if _has_one_matrix(problems):
            self.small.solve(problems.matrix(threads), diagonal, self.budget)
        else:
            assert isinstance(rows, _native.Rows64)
            self.small.solve(None, diagonal, self.budget, rows, problems.kernel.spec)
        self._finished = bool(self.small.finished.all())
        if self._finished:
            self._record()
        else:
            super().run_all()

    def _record(self) -> None:
        rows = self.small.record(time.perf_counter() - self.budget.started)
        self.history.extend(rows)
        if len(rows) == 1:
            self.history.report(**rows[0])
        else:
            self.history.report(counted="binary problems", done=len(rows), of=len(rows))

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[Duals]:
        if self.small.finished[k]:
            return self._solution(k)
        return super()._solve(k, budget, history)

    def _start(self, k: int, problem: KernelProblem) -> Duals:
        return self._duals(k)

    def _solution(self, k: int) -> Solution[Duals]:
        return Solution(
            self._duals(k),
            self.small.certificate(k),
            self.small.outcome(k, self.budget),
            int(self.small.sets[k]),
            "blocks",
        )

    def _duals(self, k: int) -> Duals:
        task = self.problems.tasks[k]
        coef = self.small.coef[k] if task.rows is None else self.small.coef[k, task.rows]
        return Duals(coef * task.label)

    # What follows says the same as the methods of the base class, without a Python object for each
    # of many problems that one call has solved.

    @property
    def complete(self) -> bool:
        """Whether every problem is solved."""
        return self._finished or super().complete

    @property
    def solved(self) -> list[Solution[Duals]]:
        """The solutions so far, in the order of the problems."""
        if self._finished:
            return [self._solution(k) for k in range(self.n_problems)]
        return super().solved

    def iterate(self, k: int) -> Duals | None:
        """Return the solution of a problem, or where an interrupt left it."""
        found = super().iterate(k)
        return self._duals(k) if found is None else found

    def coefficients(self) -> Array:
        """Return the coefficients as (problems, rows); where an interrupt left them, if one did."""
        return super().coefficients() if self.histories else self.small.coef

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that describe how the fit went."""
        if not self._finished:
            return super().attributes()
        return {
            "dual_gap_": float(self.small.gap.sum()),
            "relative_gap_": float(self.small.relative_gap.max()),
            "converged_": True,
            "n_iter_": int(self.small.sets.max()),
            "solver_": "blocks",
            "history_": self.history.table(),
        }

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn once about problems that did not converge or have no certificate."""
        if not self._finished:
            super().warn(left_out)
