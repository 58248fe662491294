"""The limits of a fit: tolerance, iterations, time, memory and threads; and its seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .resources import memory_bytes, thread_count

# A problem gets at least this part of an equal share of the time, even if others overran theirs.
LEAST_SHARE = 0.2
# Iterations where no limit is set: more than any fit can take.
NO_LIMIT = 2**62


@dataclass(frozen=True)
class Budget:
    """The limits of a fit, made once and handed down to the solvers.

    Divide it with :meth:`share`; nothing else divides time or memory. A budget can travel to
    another process, where its deadline is the same moment; ``stopping`` stays behind.
    """

    tol: float = 1e-3  # relative gap to reach
    max_iter: int = 1000  # iterations allowed for each problem
    max_time: float | None = None  # seconds allowed, from ``started``
    memory: int = 2**30  # bytes for what a solver keeps beside the rows
    threads: int = 1  # results do not depend on them
    seed: int = 0  # decides what is drawn
    # Asked now and then; true means give up, as if the time were over.
    stopping: Callable[[], bool] | None = field(default=None, compare=False)
    # When the fit began, by ``time.perf_counter``.
    started: float = field(default_factory=time.perf_counter, compare=False)
    _deadline: float | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self._deadline is None and self.max_time is not None:
            object.__setattr__(self, "_deadline", self.started + self.max_time)

    @classmethod
    def of(cls, estimator: Any, seed: int, threads: int | None = None) -> Budget:
        """Return the limits of an estimator's fit, which begins now."""
        return cls(
            tol=estimator.tol,
            max_iter=iterations_allowed(estimator.max_iter),
            max_time=estimator.max_time,
            memory=memory_bytes(estimator.memory_limit),
            threads=thread_count(estimator.n_jobs) if threads is None else threads,
            seed=seed,
        )

    @property
    def time_left(self) -> float | None:
        """Seconds left, at least a millisecond; None without a time limit."""
        if self._deadline is None:
            return None
        return max(1e-3, self._deadline - time.perf_counter())

    @property
    def out_of_time(self) -> bool:
        """Whether the time is used up, or the caller asked to stop."""
        if self.stopping is not None and self.stopping():
            return True
        return self._deadline is not None and time.perf_counter() >= self._deadline

    def share(
        self,
        k: int = 0,
        of: int = 1,
        *,
        at_once: int = 1,
        sharers: int = 1,
        threads: int | None = None,
        stopping: Callable[[], bool] | None = None,
    ) -> Budget:
        """Return the budget of one of several pieces of work.

        Parameters
        ----------
        k, of : int
            Pieces begun before this one, and pieces in all. The time that is left is divided
            among those that remain, and each gets at least ``LEAST_SHARE`` of an equal share.
        at_once : int
            Pieces worked on at the same time, which the time is not divided among.
        sharers : int
            Pieces that the memory is divided among.
        threads : int, optional
            Threads of the piece; those of this budget if None.
        stopping : callable, optional
            Tells the piece to stop, in addition to the ``stopping`` of this budget.
        """
        deadline = self._deadline
        if deadline is not None and self.max_time is not None and of > 1:
            now = time.perf_counter()
            part = min(1.0, at_once / (of - k))
            deadline = now + max(part * (deadline - now), LEAST_SHARE / of * self.max_time)
        return replace(
            self,
            memory=self.memory // sharers,
            threads=self.threads if threads is None else threads,
            stopping=_either(self.stopping, stopping),
            _deadline=deadline,
        )

    # Clocks of other processes begin elsewhere: moments travel as wall-clock time.
    def __getstate__(self) -> dict[str, Any]:
        to_wall = time.time() - time.perf_counter()
        state = {**vars(self), "stopping": None, "started": self.started + to_wall}
        if self._deadline is not None:
            state["_deadline"] = self._deadline + to_wall
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        from_wall = time.perf_counter() - time.time()
        state["started"] += from_wall
        if state["_deadline"] is not None:
            state["_deadline"] += from_wall
        vars(self).update(state)


def iterations_allowed(max_iter: int | None) -> int:
    """Return the iterations that the parameter ``max_iter`` allows."""
    return NO_LIMIT if max_iter is None else max_iter


def _either(
    outer: Callable[[], bool] | None, inner: Callable[[], bool] | None
) -> Callable[[], bool] | None:
    """Return a condition that holds if one of the given ones does."""
    if outer is None or inner is None:
        return outer or inner
    return lambda: outer() or inner()


def seed_of(random_state: Any) -> int:
    """Draw the seed of a fit from the parameter ``random_state``.

    None is a fixed seed: the same data and settings give the same model every time.
    """
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
