"""All binary problems of a classification, posed on an engine's blocks and solved.

Where one task can hold all rows, in this process or elsewhere, the problems are solved there:
Newton's method then updates its matrix by the rows that changed, solvers may visit rows in any
order, and several problems are solved at the same time. Otherwise rows stay in their blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.blocks import RowBlock, bytes_of, joined
from ..core.budget import Budget
from ..core.fit import FEWEST_AT_ONCE, Fit
from ..core.history import History
from ..core.outcome import Solution
from ..engines import Engine, LocalEngine
from ..engines.local import MOST_SHARERS
from .block_problem import AnyProblem, BlockProblem
from .blocks import Pose
from .history import LinearHistory
from .model import split_weights
from .problem import LinearProblem, LossConstants
from .solvers import FROM_DUALS, ON_BLOCKS, SolverOptions, choose, solve
from .solvers.newton import DIRECT_SIZE
from .solvers.starts import best_multiple, implied_duals

# Rows of up to so many bytes are solved in one task by "auto": passes over them cost less than
# asking all tasks again and again.
GATHERED_BYTES = 256 * 2**20
# Bytes that a solver keeps of a row: label, piece, and up to three numbers.
BYTES_OF_ROW = 26


@dataclass(frozen=True)
class LinearProblems:
    """The binary problems of a classification: rows, loss, and who is positive.

    Attributes
    ----------
    engine : Engine
        Where the rows are.
    blocks : Parts
        The engine's parts, of :class:`~widemargin.core.blocks.RowBlock`.
    n_rows, n_features, n_classes, stored_bytes : int
        Numbers for all blocks together.
    constants : LossConstants
        The loss, ``C`` included.
    constant : float
        Value of the constant feature; 0 means no intercept.
    factors : tuple of float or None
        Weights of the classes.
    whole : RowBlock or None
        All rows, where they are in one block of this process.
    on_disk : bool
        Whether the rows are read from disk.
    """

    engine: Engine
    blocks: Any
    n_rows: int
    n_features: int
    n_classes: int
    stored_bytes: int
    constants: LossConstants
    constant: float = 0.0
    factors: tuple[float, ...] | None = None
    whole: RowBlock | None = None
    on_disk: bool = False

    @classmethod
    def of_blocks(
        cls,
        engine: Engine,
        blocks: list[RowBlock],
        n_classes: int,
        constants: LossConstants,
        constant: float,
        *,
        on_disk: bool = False,
    ) -> LinearProblems:
        """Place blocks on an engine, and pose the problems there."""
        return cls(
            engine=engine,
            blocks=engine.scatter(blocks),
            n_rows=sum(block.n_rows for block in blocks),
            n_features=int(blocks[0].X.shape[1]),
            n_classes=n_classes,
            stored_bytes=sum(bytes_of(block.X) for block in blocks),
            constants=constants,
            constant=constant,
            whole=blocks[0] if engine.in_process and len(blocks) == 1 else None,
            on_disk=on_disk,
        )

    @property
    def n_problems(self) -> int:
        """Two classes are one problem, more are one each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def size(self) -> int:
        """Length of ``w``."""
        return self.n_features + (self.constant != 0)

    def in_one_place(self, k: int, threads: int) -> LinearProblem:
        """Pose problem ``k`` on all rows: the second class of two, or class ``k``, or the rest."""
        assert self.whole is not None
        return self._pose(k, threads).problem(self.whole)

    def posed(self, k: int, threads: int) -> AnyProblem:
        """Pose problem ``k`` where the rows are."""
        if self.whole is not None:
            return self.in_one_place(k, threads)
        pose = self._pose(k, threads)
        return BlockProblem(
            self.engine, self.blocks, pose, self.n_rows, self.stored_bytes, self.size
        )

    def _pose(self, k: int, threads: int) -> Pose:
        positive = 1 if self.n_classes == 2 else k
        return Pose(positive, self.constants, self.constant, self.factors, threads)

    def at_once(self, budget: Budget) -> int:
        """Return how many problems to solve at the same time, as far as memory allows."""
        if self.n_problems < FEWEST_AT_ONCE:
            return 1
        size = self.n_features + 1
        matrices = 3 * 8 * size**2 if size <= DIRECT_SIZE else 8 * 8 * size
        affordable = max(1, budget.memory // (BYTES_OF_ROW * self.n_rows + matrices))
        return int(min(budget.threads, self.n_problems, MOST_SHARERS, affordable))

    def choose(self, solver: str, memory: int) -> tuple[str, bool]:
        """Return the solver's name, and whether all rows are brought together for it."""
        chosen = choose(solver, self.size, on_disk=self.on_disk)
        if self.whole is not None:
            return chosen, True
        if solver in ON_BLOCKS:
            return solver, False
        if solver == "auto" and self.stored_bytes > min(GATHERED_BYTES, memory):
            return "newton", False
        if self.stored_bytes > memory:
            raise ValueError(
                f"solver={solver!r} needs all rows in one task: {self.stored_bytes / 1e6:,.0f} "
                f"MB, and the memory limit is {memory / 1e6:,.0f} MB. Use 'newton' or 'dsvrg', "
                "which leave rows where they are, or raise the limit."
            )
        return chosen, True


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

    Attributes
    ----------
    solver : str
        Name of the solver that was taken.
    duals : dict of int to array
        Duals of the problems, if they are kept and the solver has any.
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
        super().__init__(name, problems.n_problems, self._solve_one, budget, history)
        self.problems, self.options = problems, options or SolverOptions()
        self.solver, self.together = problems.choose(solver, budget.memory)
        self.start = start if neighbour is None else neighbour.w
        self.keep_duals = keep_duals
        self.duals: dict[int, Array] = {}
        self._known_duals = None if neighbour is None else neighbour.duals

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
            problems = self.problems = replace(problems, whole=whole)
        at_once = problems.at_once(budget)
        threads = budget.threads // at_once
        self.run(LocalEngine(at_once), at_once=at_once, threads=threads, report=report)

    def _solve_elsewhere(self) -> None:
        """Have one task bring the rows together and solve all problems."""
        problems = self.problems
        posed = replace(problems, engine=LocalEngine(self.budget.threads), blocks=None)
        task = SolvedTogether(self.name, posed, self.solver, self.budget, self.options, self.start)
        self.solutions, rows = problems.engine.together(problems.blocks, task)
        self.history.extend(rows)

    def _solve_one(self, k: int, budget: Budget, history: History) -> Solution[Array]:
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
        if self._known_duals is None:
            known = implied_duals(problem, w)
            return w, best_multiple(problem, known, problem.weights_of(known))
        return w, best_multiple(problem, self._known_duals[k], w)

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
class SolvedTogether:
    """All problems, solved by a task that is given all blocks."""

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
