"""What multi-class solvers report to while they run: history, budgets, progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..core.certificates import Certificate

COLUMNS = ("iteration", "seconds", "primal", "dual", "relative_gap")


class State(Protocol):
    """Where a solver is: what an interrupt leaves."""

    def weights(self) -> Any:
        """Return the weights of every class."""
        ...

    def duals(self) -> Any:
        """Return the multipliers."""
        ...


class MulticlassMonitor:
    """Records a fit and says when its time is up.

    Parameters
    ----------
    tol : float
        Relative gap to reach.
    max_iter : int
        Epochs or Newton steps allowed.
    max_time : float or None
        Seconds allowed.
    seed : int
        For the order in which rows are visited.
    listener : callable, optional
        Told (iteration, relative gap), which between certificates is an estimate.

    Attributes
    ----------
    latest : State or None
        What remains after an interrupt.
    certificate : Certificate or None
        Of the latest state: the last that was computed.
    """

    def __init__(
        self,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        seed: int = 0,
        listener: Callable[[int, float], None] | None = None,
    ) -> None:
        self.tol, self.max_iter, self.max_time, self.seed = tol, max_iter, max_time, seed
        self.latest: State | None = None
        self.certificate: Certificate | None = None
        self.iterations = 0
        self._started = time.perf_counter()
        self._deadline = None if max_time is None else self._started + max_time
        self._listener = listener
        self._records: list[tuple[float, ...]] = []
        self._moved: list[int | None] = []

    @property
    def out_of_time(self) -> bool:
        """Whether the time budget is used up."""
        return self._deadline is not None and time.perf_counter() >= self._deadline

    def tell(self, iteration: int, relative_gap: float, state: State) -> None:
        """Note an iteration whose gap is only estimated."""
        self.iterations, self.latest = iteration, state
        if self._listener is not None:
            self._listener(iteration, relative_gap)

    def record(self, iteration: int, certificate: Certificate, state: State) -> None:
        """Note a state with its certificate."""
        self.certificate = certificate
        seconds = time.perf_counter() - self._started
        gap = certificate.relative_gap
        self._records.append((iteration, seconds, certificate.primal, certificate.dual, gap))
        self._moved.append(getattr(state, "bytes_moved", None))
        self.tell(iteration, gap, state)

    def history(self) -> dict[str, Any]:
        """Return the records as arrays of equal length, one per column."""
        table = np.array(self._records, dtype=np.float64).reshape(-1, len(COLUMNS))
        history: dict[str, Any] = {name: table[:, k].copy() for k, name in enumerate(COLUMNS)}
        history["iteration"] = history["iteration"].astype(np.int64)
        if None not in self._moved:  # of states that lie in several places
            history["bytes_moved"] = np.array(self._moved, dtype=np.int64)
        return history
