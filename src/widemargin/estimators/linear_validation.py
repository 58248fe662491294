"""Validation rows that choose among the iterates of a linear solver, and end it early."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.certificates import Certificate
from ..linear.monitor import LinearMonitor
from .linear_prediction import decisions_of

# Iterations in a row that may pass without a better score.
PATIENCE = 5


@dataclass(frozen=True)
class LinearValidation:
    """Rows that are not trained on.

    Attributes
    ----------
    X : array or CSR matrix
        The rows.
    codes : array of shape (n_rows,)
        Position of each row's label in the classes.
    n_classes : int
        Number of classes.
    constant : float
        Value of the constant feature; 0 means no intercept.
    """

    X: Any
    codes: NDArray[np.int64]
    n_classes: int
    constant: float

    def score(self, w: Array, k: int) -> float:
        """Return the share of rows that a binary problem's weights get right."""
        n_features = self.X.shape[1]
        intercept = self.constant * w[n_features:]
        decision = decisions_of(self.X, w[None, :n_features], intercept if self.constant else 0.0)
        positive = self.codes == (1 if self.n_classes == 2 else k)
        return float(np.mean((decision[:, 0] > 0) == positive))


class ValidatingMonitor(LinearMonitor):
    """A monitor that keeps the weights of the best score, and stops when none better comes.

    Attributes
    ----------
    best_w : array or None
        Weights of the best score; of several the last, which are nearest to the optimum.
    scores : list of float
        Score of every record.
    ended : bool
        Whether the solver was stopped for want of a better score.
    """

    def __init__(self, validation: LinearValidation, k: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.validation, self.k = validation, k
        self.best_w: Array | None = None
        self.scores: list[float] = []
        self.ended = False
        self._best, self._since = -np.inf, 0

    @property
    def out_of_time(self) -> bool:
        """Whether to stop, for want of time or of a better score."""
        return self.ended or super().out_of_time

    def record(
        self, certificate: Certificate, evaluations: float, w: Array, iterations: int = 1
    ) -> bool:
        """Note the state and its score; true means stop."""
        stop = super().record(certificate, evaluations, w, iterations)
        score = self.validation.score(w, self.k)
        self.scores.append(score)
        if not w.any():
            return stop  # a start that has learnt nothing is no candidate
        self._since = 0 if score > self._best else self._since + 1
        if score >= self._best:
            self._best, self.best_w = score, w.copy()
        self.ended = self.ended or self._since >= PATIENCE
        return stop or self.ended
