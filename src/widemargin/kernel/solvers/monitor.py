"""What solvers report to while they run: history, time budget, progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import Any

from ...core.arrays import Array

# iteration, relative gap, active rows, rows
Listener = Callable[[int, float, int, int], None]
# what is counted, how many are done, how many there are
Counter = Callable[[str, int, int], None]

COLUMNS = (
    "problem",
    "iteration",
    "seconds",
    "primal",
    "dual",
    "relative_gap",
    "active_rows",
    "passes",
)


class Monitor:
    """Records a fit and says when its time is up.

    Parameters
    ----------
    tol : float
        Relative gap to reach.
    max_iter : int
        Iterations allowed per binary problem.
    max_time : float or None
        Seconds allowed for the whole fit.
    memory : int
        Bytes for cached kernel rows.
    seed : int
        For solvers that break ties at random.
    listener : callable, optional
        Called after every iteration.
    counter : callable, optional
        Called while pieces of work are done side by side.
    stopping : callable, optional
        Asked after every iteration; true means give up, as if the time were over.

    Attributes
    ----------
    latest : array or None
        The net dual a solver works on, updated in place: what remains after an interrupt.
    solver : str
        Name of the solver at work.
    clusters : list
        The rows that were divided last with what came of it: problems of a fit share rows.
    """

    def __init__(
        self,
        *,
        tol: float,
        max_iter: int = 10_000,
        max_time: float | None = None,
        memory: int = 2**30,
        seed: int = 0,
        listener: Listener | None = None,
        counter: Counter | None = None,
        stopping: Callable[[], bool] | None = None,
    ) -> None:
        self.tol, self.max_iter, self.memory, self.seed = tol, max_iter, memory, seed
        self.latest: Array | None = None
        self.solver = ""
        self.clusters: list[tuple[Any, Any]] = []
        self._started = time.perf_counter()
        self._deadline = None if max_time is None else self._started + max_time
        self.listener, self.counter = listener, counter
        self._stopping = stopping
        self._problem = 0
        self._records: list[tuple[float, ...]] = []

    @property
    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        if self._stopping is not None and self._stopping():
            return True
        return self._deadline is not None and time.perf_counter() >= self._deadline

    @property
    def time_left(self) -> float | None:
        """Seconds left of the time budget, a little more than none; None without a budget."""
        if self._deadline is None:
            return None
        return max(1e-3, self._deadline - time.perf_counter())

    def next_problem(self) -> None:
        """Begin the next binary problem of the fit."""
        self._problem += 1
        self.latest = None

    def of_problem(self, number: int, sharers: int, stopping: Callable[[], bool] | None) -> Monitor:
        """Return a monitor for one of several problems; ``stopping`` if others run beside it."""
        other = copy(self)
        other.memory = self.memory // sharers
        if stopping is not None:  # in another thread, which may not draw
            other.listener, other.counter, other._stopping = None, None, stopping
        other._problem, other._records = number, []
        return other

    def limit_time(self, share: float, least: float) -> None:
        """Take a share of the time that is left, and at least one of the whole budget."""
        if self._deadline is not None:
            now = time.perf_counter()
            whole = self._deadline - self._started
            self._deadline = now + max(share * (self._deadline - now), least * whole)

    def take_records(self, other: Monitor) -> None:
        """Add what the monitor of one problem has recorded."""
        self._records += other._records
        self.solver = other.solver or self.solver

    def record(
        self, iteration: int, primal: float, dual: float, active: int, rows: int, passes: float
    ) -> bool:
        """Note the state after an iteration; true means stop, the time is up."""
        gap = (primal - dual) / primal if primal > 0 else 0.0
        seconds = time.perf_counter() - self._started
        self._records.append((self._problem, iteration, seconds, primal, dual, gap, active, passes))
        if self.listener is not None:
            self.listener(iteration, gap, active, rows)
        return self.out_of_time

    def count(self, what: str, done: int, of: int) -> None:
        """Tell how many of some pieces of work are done."""
        if self.counter is not None:
            self.counter(what, done, of)

    def history(self) -> dict[str, Array]:
        """Return the record as arrays of equal length, one per column."""
        import numpy as np

        table = np.array(self._records, dtype=np.float64).reshape(-1, len(COLUMNS))
        whole = ("problem", "iteration", "active_rows")
        return {
            name: table[:, k].astype(np.int64) if name in whole else table[:, k].copy()
            for k, name in enumerate(COLUMNS)
        }
