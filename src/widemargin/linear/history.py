"""The record of a linear fit, and the validation rows that may end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..core.arrays import Array
from ..core.history import CERTIFIED, Columns, History, Listener
from ..core.outcome import Certificate

COLUMNS: Columns = {"problem": int, **CERTIFIED, "gradient_evaluations": float}
# Iterations in a row that may pass without a better score.
PATIENCE = 5

# Scores the weights of a binary problem: (weights, number of the problem) to a number.
Score: TypeAlias = Callable[[Array, int], float]


class LinearHistory(History):
    """What a linear solver reports to.

    With a score, every iterate is scored: the best one is kept, and ``ended`` is set when no better
    one has come for a while.

    Parameters
    ----------
    started, listener, problem
        As in :class:`~widemargin.core.history.History`. Rows have a value ``begun`` beside their
        columns, the iterations begun so far.
    score : callable, optional
        Scores weights by rows that are not trained on.

    Attributes
    ----------
    best_w : array or None
        Weights of the best score; of several the last, which are nearest to the optimum.
    ended : bool
        Whether the solver should stop because scores no longer improve.
    """

    def __init__(
        self,
        *,
        started: float | None = None,
        listener: Listener | None = None,
        problem: int = 0,
        score: Score | None = None,
    ) -> None:
        columns = COLUMNS if score is None else {**COLUMNS, "validation_score": float}
        super().__init__(columns, started=started, listener=listener, problem=problem)
        self.score = score
        self.best_w: Array | None = None
        self.ended = False
        self._best_score, self._since = -np.inf, 0

    def for_problem(self, number: int, *, quiet: bool = False) -> LinearHistory:
        """Begin the record of one problem of the fit; a quiet one has no listener."""
        listener = None if quiet else self.listener
        return LinearHistory(
            started=self._started, listener=listener, problem=number, score=self.score
        )

    def note(
        self, w: Array, certificate: Certificate, evaluations: float, iterations: int = 1
    ) -> None:
        """Record the state before the next iteration.

        Parameters
        ----------
        w : array
            Weights now.
        certificate : Certificate
            Objectives now.
        evaluations : float
            Gradients of single rows evaluated so far.
        iterations : int
            Iterations since the last record; 0 if none is to follow.
        """
        number = self.iterations + max(iterations, 1) - 1
        self.iterations += iterations
        scored = {} if self.score is None else {"validation_score": self._scored(self.score, w)}
        self.record(
            w,
            iteration=number,
            begun=self.iterations,
            primal=certificate.primal,
            dual=certificate.dual,
            relative_gap=certificate.relative_gap,
            gradient_evaluations=evaluations,
            **scored,
        )

    def _scored(self, score_of: Score, w: Array) -> float:
        score = score_of(w, self.problem)
        if w.any():  # a start that has learnt nothing is no candidate
            self._since = 0 if score > self._best_score else self._since + 1
            if score >= self._best_score:
                self._best_score, self.best_w = score, w.copy()
            self.ended = self.ended or self._since >= PATIENCE
        return score

    @property
    def best(self) -> Certificate:
        """The lowest primal and the highest dual objective recorded."""
        return Certificate(
            min(row["primal"] for row in self.rows), max(row["dual"] for row in self.rows)
        )
