"""Take the binary problems of a fit through the levels of a strategy, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...core.budget import Budget
from ...core.fit import Fit, warn
from ...core.history import History, Listener
from ...core.outcome import Certificate, Outcome, Solution
from ...engines import Engine, Report
from ..partition.tree_growth import LARGEST
from ..solvers.block_descent import least_memory
from .checkpoints import Folder, LevelStore
from .levels import LEVEL_COLUMNS, Level, RowSize, SolvedLevels, Stop, Whole
from .loop import DivideAndConquer
from .part_solver import level_tol
from .strategies import STRATEGIES, Clustered, Plan, Strategy

# Up to this many rows, strategy="auto" solves the whole set.
EXACT_ROWS = 100_000
# Beyond, it uses clusters of at most this many rows, whose cost is linear in the number of rows.
PART_ROWS = 8_000
# Copies of a part's rows that a task in another process has at the same time: as they come, as an
# object, and as the result goes back.
COPIES_IN_A_TASK = 3


class LevelFit(Fit[SolvedLevels]):
    """A fit whose problems go through the levels of a strategy, one after another.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    n_problems : int
        Number of binary problems.
    pose : callable
        ``pose(k)`` returns the training set of problem ``k``, on the engine.
    strategy : Strategy
        The way it is divided and merged.
    loss : str
        Name of the loss, which methods as published depend on.
    engine : Engine
        Keeps the parts and runs the solves.
    solver : str
        Name of the solver of parts, or "auto".
    budget : Budget
        Limits of all problems together.
    judge : callable, optional
        ``judge(k, level)`` scores a level of problem ``k`` on validation rows.
    folder : Folder, optional
        Keeps finished levels.
    announce : callable, optional
        Called with the problem, the level and its number of parts when a level begins.
    report : callable, optional
        Called with the level, its parts that are solved and all its parts.
    listener : callable, optional
        Called after every iteration of a single part in this process.
    """

    def __init__(
        self,
        name: str,
        n_problems: int,
        pose: Callable[[int], Whole],
        strategy: Strategy,
        loss: str,
        engine: Engine,
        solver: str,
        budget: Budget,
        *,
        judge: Callable[[int, Level], float] | None = None,
        folder: Folder | None = None,
        announce: Callable[[int, int, int], None] | None = None,
        report: Callable[[int, int, int], None] | None = None,
        listener: Listener | None = None,
    ) -> None:
        history = History.of(LEVEL_COLUMNS, budget)
        super().__init__(name, n_problems, self._solve, budget, history)
        self.pose, self.strategy, self.method = pose, strategy, strategy.row(loss)
        self.engine, self.solver, self.judge, self.folder = engine, solver, judge, folder
        self.announce, self.report, self.listener = announce, report, listener
        self._blind = False  # whether blind leaves were warned of

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[SolvedLevels]:
        return self._solve_levels(k, self.pose(k), budget, history)

    def _solve_levels(
        self, k: int, whole: Whole, budget: Budget, history: History
    ) -> Solution[SolvedLevels]:
        nobody_asks = self.judge is None and self.folder is None and budget.max_time is None
        plan = self.strategy.plan(whole.n_rows, self.method.last_level, direct=nobody_asks)
        largest = 1.0
        if self.method.routed and not self.engine.in_process:  # clusters are not of one size
            largest = float(whole.n_rows) if self.method.printed else LARGEST
        check_memory(plan, whole.n_rows, whole.row, self.engine, budget.memory, largest=largest)
        announce, report = self._calls(k)
        judge = self.judge
        levels = DivideAndConquer(
            whole,
            self.method,
            plan,
            self.engine,
            self.solver,
            budget,
            history,
            judge=None if judge is None else lambda level: judge(k, level),
            store=None if self.folder is None else LevelStore(self.folder, k),
            announce=announce,
            report=report,
            listener=self.listener,
            blind=self._warn_of_blind_leaves,
        ).run()
        return _solution(levels)

    def _warn_of_blind_leaves(self, share: float) -> None:
        """Warn at the first level, once for all problems."""
        if self._blind:
            return
        self._blind = True
        warn(
            f"{self.name} divides the training set into parts that are blind with this kernel: "
            f"around {share:.0%} of the rows, all other rows of a part together weigh less than "
            "the row itself. Levels before the root will be poor models and poor starts. Use "
            "strategy='clustered', which keeps neighbours in one part, or a wider kernel."
        )

    def _calls(self, k: int) -> tuple[Callable[[int, int], None], Report]:
        """Return what the loop calls when a level begins, and when a part of it is solved."""
        level = 0

        def announce(number: int, n_parts: int) -> None:
            nonlocal level
            level = number
            if self.announce is not None:
                self.announce(k, number, n_parts)

        def report(done: int, of: int) -> None:
            if self.report is not None:
                self.report(level, done, of)

        return announce, report

    @property
    def reached(self) -> list[SolvedLevels]:
        """The last complete level of every problem that has one, in the order of the problems."""
        found = [self.iterate(k) for k in range(self.n_problems)]
        return [each for each in found if each is not None]

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: a complete level of some problem."""
        return bool(self.reached)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that describe how the fit went."""
        done = self.reached
        complete = len(done) == self.n_problems
        exact = complete and all(each.exact for each in done)
        summaries = [each.level.summary for each in done]
        gap = float(np.sum([each.primal - each.dual for each in summaries]))
        return {
            "dual_gap_": gap if exact else np.nan,
            "relative_gap_": float(np.max([s.worst_gap for s in summaries])) if exact else np.nan,
            "history_": self.history.table(),
            "n_iter_": max([each.iterations for each in summaries], default=0),
            "converged_": complete and all(each.converged for each in done),
            "solver_": summaries[0].solver if summaries else "",
            "level_": max([each.level.number for each in done], default=0),
            "strategy_": self.method.name,
        }

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn once about problems that ran out of time or did not converge."""
        done = self.reached
        late = [each for each in done if each.stop is Stop.TIME]
        if late:
            model = "The model is that of the last complete level"
            if any(each.level.summary.unfinished for each in late):
                model = "Not even the leaves were complete: the model is that of unfinished parts"
            warn(
                f"{self.name} stopped at level {max(each.level.number for each in late)} of "
                f"{late[0].plan.levels}, before level {late[0].plan.stop_level}: `max_time` was "
                f"reached. {model}; raise `max_time` to go on.",
                ConvergenceWarning,
            )
        lowest = min((each.level.summary.lowest_eigenvalue for each in done), default=0.0)
        if lowest < 0:
            warn(
                f"The kernel matrix of a part is indefinite (lowest eigenvalue about {lowest:.3g}),"
                " so no duality gap certifies its solution. Use a positive semi-definite kernel "
                "(rbf, laplacian, linear, poly with coef0 >= 0) for a certificate.",
                ConvergenceWarning,
            )
        in_time = [each.level for each in done if each.stop is not Stop.TIME]
        failed = [level for level in in_time if level.summary.failed]
        if failed:
            level = max(failed, key=lambda each: float(np.nan_to_num(each.summary.worst_gap)))
            worst = level.summary
            wanted = level_tol(self.budget.tol, level.number == 0, self.method.printed)
            warn(
                f"{self.name} did not converge in {sum(each.summary.failed for each in failed)} of "
                f"{sum(each.summary.parts for each in failed)} parts: relative gap "
                f"{worst.worst_gap:.3g}, wanted {wanted:g}. {Outcome[worst.advice].value}",
                ConvergenceWarning,
            )


def _solution(levels: SolvedLevels) -> Solution[SolvedLevels]:
    summary = levels.level.summary
    outcome = Outcome.CONVERGED
    if levels.stop is Stop.TIME:
        outcome = Outcome.TIME
    elif summary.failed:
        outcome = Outcome[summary.advice]
    certificate = Certificate(summary.primal, summary.dual)
    return Solution(levels, certificate, outcome, summary.iterations, summary.solver)


def resolve_strategy(strategy: Any, n_rows: int, name: str) -> Strategy | None:
    """Turn the parameter into a strategy; None means the whole set at once."""
    if isinstance(strategy, Strategy):
        strategy._validate_params()
        return strategy
    if strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    if strategy == "exact" or n_rows <= EXACT_ROWS:
        return None
    levels = 1
    while n_rows > PART_ROWS * 4**levels:
        levels += 1
    warn(
        f"{name} divides {n_rows} training rows into {4**levels} clusters and stops there: a row "
        "is predicted by its nearest cluster. strategy='exact' solves the whole set, which takes "
        "longer and is often a little better; strategy=Clustered(...) or Stratified(...) sets how "
        "it is divided."
    )
    return Clustered(levels=levels, stop_level=levels)


def check_memory(
    plan: Plan, n_rows: int, row: RowSize, engine: Engine, memory: int, *, largest: float = 1.0
) -> None:
    """Refuse a memory limit that is too small for some level, before any level is solved.

    ``largest`` is how many times its share of the rows a part may have.
    """
    for level in range(plan.levels, plan.stop_level - 1, -1):
        parts = plan.parts(level)
        rows = min(n_rows, int(np.ceil(largest * n_rows / parts)))
        sharers = engine.share(parts).sharers
        needed = sharers * least_memory(rows, row.itemsize, row.pairwise)
        if not engine.in_process:  # rows come along, and are copied on the way
            needed += COPIES_IN_A_TASK * row.row_bytes * rows
        if needed > memory and plan.levels == 0:
            raise ValueError(
                f"`memory_limit` must be at least {needed} bytes to solve {rows} rows; got "
                f"{memory}. Raise it, or divide the rows by another `strategy`."
            )
        if needed > memory:
            raise ValueError(
                f"`memory_limit` must be at least {needed} bytes for level {level}, where "
                f"{sharers} parts of {rows} rows share it; got {memory}. Raise it, or stop at a "
                "level further from the root."
            )
