"""What a method comes to: decisions of every site, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .divided_problem import DividedProblem


@dataclass(frozen=True)
class Outcome:
    """The end of a run.

    Attributes
    ----------
    decisions : array of shape (n_test_rows, n_sites)
        Whose signs are the predictions.
    models : array of shape (n_sites, size) or None
        Weights of every site, if that is what it has.
    rounds, messages, bytes_sent : int
        Of all sites together.
    seconds : float
        Of all sites together, without the test rows.
    stopped : bool
        By its own rule, rather than for want of time or rounds.
    facts : dict
        What else there is to say.
    """

    decisions: np.ndarray
    models: np.ndarray | None
    rounds: int
    messages: int
    bytes_sent: int
    seconds: float
    stopped: bool
    facts: dict[str, Any] = field(default_factory=dict)

    def of_sites(self, sites: Sequence[int]) -> Outcome:
        """Return the same with the decisions and models of some sites only."""
        models = None if self.models is None else self.models[list(sites)]
        return replace(self, decisions=self.decisions[:, list(sites)], models=models)

    def accuracy(self, problem: DividedProblem) -> np.ndarray:
        """Return the share of test rows that every site gets right."""
        right = np.where(self.decisions > 0, 1.0, -1.0) == problem.y_test[:, None]
        return np.asarray(right.mean(axis=0))

    def recall(self, problem: DividedProblem, label: float = 1.0) -> np.ndarray:
        """Return the share of a class's test rows that every site finds."""
        found = np.where(self.decisions > 0, 1.0, -1.0)[problem.y_test == label] == label
        return np.asarray(found.mean(axis=0))

    def balanced_accuracy(self, problem: DividedProblem) -> np.ndarray:
        """Return the mean recall of both classes at every site."""
        return 0.5 * (self.recall(problem, 1.0) + self.recall(problem, -1.0))


class Stopwatch:
    """Seconds since it was made, without those spent on watching."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._began

    def skip(self, seconds: float) -> None:
        """Leave out some seconds."""
        self._began += seconds
