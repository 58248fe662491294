"""The fit of all binary problems of a classification.

Where one task can hold all rows, in this process or elsewhere, the problems are solved there:
Newton's method then updates its matrix by the rows that changed, solvers may visit rows in any
order, and several problems are solved at the same time. Otherwise rows stay in their blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.blocks import RowBlock, joined
from ..core.budget import Budget
from ..core.fit import Fit
from ..core.history import History
from ..core.outcome import Solution
from ..engines import LocalEngine
from .block_problem import AnyProblem
from .history import LinearHistory
from .model import split_weights
from .problem import LinearProblem
from .problems import LinearProblems
from .solvers import FROM_DUALS, SolverOptions, solve
from .solvers.starts import best_multiple, implied_duals


@dataclass
class Solving:
    """Solves one of the problems.

    Apart from the fit, which holds it: an object that refers to itself is freed late, and its
    arrays with it.
    """

    problems: LinearProblems
    solver: str
    options: SolverOptions  # settings of single solvers
    start: Array | None = None  # (n_problems, size): weights to start from
    # Duals that belong to ``start``; None means those that its margins imply.
    known_duals: dict[int, Array] | None = None
    keep_duals: bool = False  # whether ``duals`` are to be kept
    # Duals of the problems, if they are kept and the solver has any.
    duals: dict[int, Array] = field(default_factory=dict)

    def __call__(self, k: int, budget: Budget, history: History) -> Solution[Array]:
        """Solve problem ``k`` within its share of the budget."""
        assert isinstance(history, LinearHistory)
        problem = self.problems.posed(k, budget.threads)
        w, dual = self._started(k, problem)
        if history.score is not None:
            stopping = budget.stopping
            # Validation rows end a solver as its time would.
            budget = replace(
                budget, stopping=lambda: history.ended or (stopping is not None and stopping())
            )
        found = solve(self.solver, problem, w, budget, history, dual, self.options)
        if dual is not None and self.keep_duals:
            self.duals[k] = dual
        if history.best_w is None:
            return found
        certificate = problem.evaluate(history.best_w).certificate
        bound = max(certificate.dual, history.best.dual)  # of all iterates
        return replace(found, iterate=history.best_w, certificate=replace(certificate, dual=bound))

    def _started(self, k: int, problem: AnyProblem) -> tuple[Array, Array | None]:
        """Return the weights to start from, with duals for solvers that go on from those."""
        w = np.zeros(problem.size) if self.start is None else self.start[k].copy()
        if self.solver not in FROM_DUALS:
            return w, None
        assert isinstance(problem, LinearProblem)
        if not w.any():
            return w, np.zeros(problem.n_rows)
        if self.known_duals is None:
            known = implied_duals(problem, w)
            return w, best_multiple(problem, known, problem.weights_of(known))
        return w, best_multiple(problem, self.known_duals[k], w)


class LinearFit(Fit[Array]):
    """Solves every binary problem; the iterates are weights.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problems : LinearProblems
        What to solve.
    solver : str
        Name of the solver, or "auto".
    budget, history
        As in :class:`~widemargin.core.fit.Fit`.
    options : SolverOptions, optional
        Settings of single solvers.
    start : array of shape (n_problems, size), optional
        Weights to start from.
    neighbour : LinearFit, optional
        The same problems solved for another ``C`` with ``keep_duals``, to start from.
    keep_duals : bool
        Whether others will start from this fit.
    """

    def __init__(
        self,
        name: str,
        problems: LinearProblems,
        solver: str,
        budget: Budget,
        history: LinearHistory,
        *,
        options: SolverOptions | None = None,
        start: Array | None = None,
        neighbour: LinearFit | None = None,
        keep_duals: bool = False,
    ) -> None:
        validated = history.score is not None
        chosen, self.together = problems.choose(solver, budget.memory, validated=validated)
        self.solving = Solving(problems, chosen, options or SolverOptions(), start)
        self.solving.keep_duals = keep_duals
        if neighbour is not None:
            self.solving.start, self.solving.known_duals = neighbour.w, neighbour.solving.duals
        super().__init__(name, problems.n_problems, self.solving, budget, history)

    @property
    def problems(self) -> LinearProblems:
        """The problems."""
        return self.solving.problems

    @property
    def solver(self) -> str:
        """Name of the solver that was taken."""
        return self.solving.solver

    def solve_all(self, report: Callable[[int, int], None] | None = None) -> None:
        """Solve all problems; ``report`` receives (problems done, problems) where that is known."""
        problems, budget = self.problems, self.budget
        if not self.together:
            self.run()
            return
        if problems.whole is None and not problems.engine.in_process:
            self._solve_elsewhere()
            return
        if problems.whole is None:
            whole = problems.engine.together(problems.blocks, joined)
            problems = self.solving.problems = replace(problems, whole=whole)
        at_once = problems.at_once(budget)
        threads = budget.threads // at_once
        self.run(LocalEngine(at_once), at_once=at_once, threads=threads, report=report)

    def _solve_elsewhere(self) -> None:
        """Have one task bring the rows together and solve all problems."""
        problems = self.problems
        posed = replace(problems, engine=LocalEngine(self.budget.threads), blocks=None)
        options, start = self.solving.options, self.solving.start
        task = SolveAllProblems(self.name, posed, self.solver, self.budget, options, start)
        self.solutions, rows = problems.engine.together(problems.blocks, task)
        self.history.extend(rows)

    @property
    def w(self) -> Array:
        """Weights of all problems; those of a problem that an interrupt cut short, or zero."""
        none = np.zeros(self.problems.size)
        found = [self.iterate(k) for k in range(self.n_problems)]
        return np.array([none if w is None else w for w in found])

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun, if not finished."""
        return bool(np.all(np.any(self.w, axis=1)))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        found = super().attributes()
        coef, intercept = split_weights(self.w, self.problems.constant)
        return {
            **found,
            "coef_": coef,
            "intercept_": intercept,
            "converged_": bool(found["relative_gap_"] <= self.budget.tol),
            "solver_": self.solver,
        }

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Say what did not converge, unless validation rows ended it."""
        ended = [
            k
            for k, each in enumerate(self.histories)
            if isinstance(each, LinearHistory) and each.ended
        ]
        super().warn([*left_out, *ended])


@dataclass(frozen=True)
class SolveAllProblems:
    """Solves all problems in one task, on all blocks together."""

    name: str
    problems: LinearProblems
    solver: str
    budget: Budget
    options: SolverOptions
    start: Array | None

    def __call__(
        self, blocks: list[RowBlock]
    ) -> tuple[dict[int, Solution[Array]], Sequence[Mapping[str, Any]]]:
        """Return the solutions and the record."""
        problems = replace(self.problems, whole=joined(blocks))
        history = LinearHistory(started=self.budget.started)
        fit = LinearFit(
            self.name,
            problems,
            self.solver,
            self.budget,
            history,
            options=self.options,
            start=self.start,
        )
        fit.solve_all()
        return fit.solutions, fit.history.rows
