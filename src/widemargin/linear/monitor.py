"""What linear solvers report to while they run: history, budgets, progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.certificates import Certificate

# iteration, relative gap
Listener = Callable[[int, float], None]

COLUMNS = (
    "problem",
    "iteration",
    "seconds",
    "primal",
    "dual",
    "relative_gap",
    "gradient_evaluations",
)


class LinearMonitor:
    """Records the fit of one binary problem and says when its time is up.

    Parameters
    ----------
    tol : float
        Relative gap to reach.
    max_iter : int
        Iterations allowed.
    deadline : float or None
        When to stop, as :func:`time.perf_counter` tells it.
    seed : int
        For solvers that draw rows.
    started : float or None
        Where seconds count from, as :func:`time.perf_counter` tells it; now if None.
    listener : callable, optional
        Called after every iteration.
    stopping : callable, optional
        Asked after every iteration; true means give up, as if the time were over.

    Attributes
    ----------
    iterations : int
        Iterations begun.
    latest : array or None
        Weights after the last iteration: what remains after an interrupt.
    best : Certificate or None
        Lowest primal and highest dual objective seen.
    """

    def __init__(
        self,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        deadline: float | None = None,
        seed: int = 0,
        started: float | None = None,
        listener: Listener | None = None,
        stopping: Callable[[], bool] | None = None,
    ) -> None:
        self.tol, self.max_iter, self.seed = tol, max_iter, seed
        self.iterations = 0
        self.latest: Array | None = None
        self.best: Certificate | None = None
        self._deadline, self._listener, self._stopping = deadline, listener, stopping
        self._started = time.perf_counter() if started is None else started
        self._records: list[tuple[float, ...]] = []

    @property
    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        if self._stopping is not None and self._stopping():
            return True
        return self._deadline is not None and time.perf_counter() >= self._deadline

    def record(
        self, certificate: Certificate, evaluations: float, w: Array, iterations: int = 1
    ) -> bool:
        """Note the state before the next iteration; true means stop, the time is up.

        Parameters
        ----------
        certificate : Certificate
            Objectives now.
        evaluations : float
            Gradients of single rows evaluated so far.
        w : array
            Weights now.
        iterations : int
            Iterations since the last record; 0 if none is to follow.
        """
        self.latest = w
        best = self.best or certificate
        self.best = Certificate(
            min(best.primal, certificate.primal), max(best.dual, certificate.dual)
        )
        gap = certificate.relative_gap
        seconds = time.perf_counter() - self._started
        number = self.iterations + max(iterations, 1) - 1
        self._records.append(
            (number, seconds, certificate.primal, certificate.dual, gap, evaluations)
        )
        self.iterations += iterations
        if self._listener is not None:
            self._listener(self.iterations, gap)
        return self.out_of_time

    def without_records(self, tol: float) -> LinearMonitor:
        """Return a monitor with the same deadline that records for itself and tells nobody."""
        return LinearMonitor(
            tol=tol,
            max_iter=self.max_iter,
            deadline=self._deadline,
            seed=self.seed,
            stopping=self._stopping,
        )

    def records(self, problem: int) -> list[tuple[float, ...]]:
        """Return the rows of the history, marked with the number of the problem."""
        return [(problem, *row) for row in self._records]


def history_of(records: list[tuple[float, ...]]) -> dict[str, Any]:
    """Return records as arrays of equal length, one per column."""
    table = np.array(records, dtype=np.float64).reshape(-1, len(COLUMNS))
    whole = ("problem", "iteration")
    return {
        name: table[:, k].astype(np.int64) if name in whole else table[:, k].copy()
        for k, name in enumerate(COLUMNS)
    }
