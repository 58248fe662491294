"""What a fit tells while it runs: lines in the driver's log, descriptions of its jobs."""

from __future__ import annotations

import logging
import time
from types import TracebackType
from typing import Any, Self

log = logging.getLogger("widemargin.spark")

DESCRIPTION = "spark.job.description"


class FitLog:
    """Tells the driver's log, and Spark's web pages, what a fit is doing.

    Parameters
    ----------
    session : SparkSession
        Where jobs run; over Connect they have no descriptions.
    name : str
        Of the estimator.
    """

    def __init__(self, session: Any, name: str) -> None:
        # Over Connect the attribute is not there.
        self._context = getattr(session, "sparkContext", None)
        self._name, self._started = name, time.perf_counter()
        self._before: str | None = None

    def __enter__(self) -> Self:
        if self._context is not None:
            self._before = self._context.getLocalProperty(DESCRIPTION)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._context is not None:
            self._context.setLocalProperty(DESCRIPTION, self._before)

    def doing(self, what: str) -> None:
        """Say what the next jobs are for."""
        if self._context is not None:
            self._context.setJobDescription(f"{self._name}: {what}")

    def tell(self, what: str) -> None:
        """Write a line, with the time since the start."""
        log.info("%s, %.1f s: %s", self._name, time.perf_counter() - self._started, what)

    def step(self, iteration: int, gap: float) -> None:
        """Note that an iteration is done, where there is one problem."""
        self.tell(f"iteration {iteration}: relative gap {gap:.2e}")
        self.doing(f"iteration {iteration + 1}")

    def iteration(self, problem: int, iteration: int, gap: float) -> None:
        """Note that an iteration is done."""
        self.tell(f"problem {problem}, iteration {iteration}: relative gap {gap:.2e}")
        self.doing(f"problem {problem}, iteration {iteration + 1}")
