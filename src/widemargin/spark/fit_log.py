"""Progress of a fit: lines in the driver's log, and descriptions of Spark's jobs."""

from __future__ import annotations

import logging
import time
from typing import Any, Self

log = logging.getLogger("widemargin.spark")

DESCRIPTION = "spark.job.description"


class FitLog:
    """Reports the progress of a fit to the driver's log and to Spark's web pages.

    Parameters
    ----------
    session : SparkSession
        Session of the jobs; over Connect they have no descriptions.
    name : str
        Name of the estimator.
    """

    def __init__(self, session: Any, name: str) -> None:
        # Spark Connect lacks the attribute.
        self._context = getattr(session, "sparkContext", None)
        self._name, self._started = name, time.perf_counter()
        self._before: str | None = None

    def __enter__(self) -> Self:
        if self._context is not None:
            self._before = self._context.getLocalProperty(DESCRIPTION)
        return self

    def __exit__(self, *_: object) -> None:
        if self._context is not None:
            self._context.setLocalProperty(DESCRIPTION, self._before)

    def doing(self, what: str) -> None:
        """Describe the next jobs."""
        if self._context is not None:
            self._context.setJobDescription(f"{self._name}: {what}")

    def tell(self, what: str) -> None:
        """Write a line, with the time since the start."""
        log.info("%s, %.1f s: %s", self._name, time.perf_counter() - self._started, what)

    def step(self, iteration: int, gap: float) -> None:
        """Report a finished iteration of a single problem."""
        self.tell(f"iteration {iteration}: relative gap {gap:.2e}")
        self.doing(f"iteration {iteration + 1}")

    def iteration(self, problem: int, iteration: int, gap: float) -> None:
        """Report a finished iteration of one of several problems."""
        self.tell(f"problem {problem}, iteration {iteration}: relative gap {gap:.2e}")
        self.doing(f"problem {problem}, iteration {iteration + 1}")
