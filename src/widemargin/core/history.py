"""The record of a fit: one row per iteration or level, in columns that each family declares."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .budget import Budget

# Column names with the type of their values, in the order of `history_`.
Columns: TypeAlias = Mapping[str, type]
# Called with every row of the record, by column name.
Listener: TypeAlias = Callable[[Mapping[str, Any]], None]

# What certified solvers record of an iteration.
CERTIFIED: Columns = {
    "iteration": int,
    "seconds": float,
    "primal": float,
    "dual": float,
    "relative_gap": float,
}


class History:
    """What a solver reports to while it runs.

    Parameters
    ----------
    columns : mapping of str to type
        The columns. ``problem`` and ``seconds`` are filled in here.
    started : float, optional
        Where seconds count from, by :func:`time.perf_counter`; now if None.
    listener : callable, optional
        Called after every row, in the thread of the solver.
    problem : int
        Number of the problem that the rows are about.

    Attributes
    ----------
    latest : object or None
        The last complete iterate: what an interrupt leaves.
    iterations : int
        Iterations so far.
    """

    def __init__(
        self,
        columns: Columns,
        *,
        started: float | None = None,
        listener: Listener | None = None,
        problem: int = 0,
    ) -> None:
        self.columns, self.listener, self.problem = columns, listener, problem
        self.latest: Any = None
        self.iterations = 0
        self._started = time.perf_counter() if started is None else started
        self._rows: list[dict[str, Any]] = []

    @classmethod
    def of(cls, columns: Columns, budget: Budget, listener: Listener | None = None) -> History:
        """Begin the record of a fit with this budget."""
        return cls(columns, started=budget.started, listener=listener)

    def for_problem(self, number: int, *, quiet: bool = False) -> History:
        """Begin the record of one problem of the fit; a quiet one has no listener."""
        listener = None if quiet else self.listener
        return History(self.columns, started=self._started, listener=listener, problem=number)

    def record(self, iterate: Any = None, **values: Any) -> None:
        """Add a row; ``iterate`` is the state that it describes."""
        if iterate is not None:
            self.latest = iterate
        row = {"problem": self.problem, "seconds": time.perf_counter() - self._started, **values}
        self._rows.append(row)
        if self.listener is not None:
            self.listener(row)

    def report(self, iterate: Any = None, **values: Any) -> None:
        """Pass values to the listener without adding a row; ``iterate`` is the latest state."""
        if iterate is not None:
            self.latest = iterate
        if self.listener is not None:
            self.listener({"problem": self.problem, **values})

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows so far."""
        return self._rows

    def extend(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add the rows of a record that was made elsewhere."""
        self._rows += [dict(row) for row in rows]

    def table(self) -> dict[str, Any]:
        """Return the record as arrays of equal length, one per column."""
        return {
            name: np.array(
                [row[name] for row in self._rows],
                dtype=np.int64 if kind is int else np.float64,
            )
            for name, kind in self.columns.items()
        }
