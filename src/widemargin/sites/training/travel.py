"""How far a neighbour's vectors move this site's own decisions, and how far they may.

A neighbour that wants to see rows must turn its vectors this way and that: each answer gives away
little, the difference of two answers gives away the rows that changed sides between them. Sound
neighbours do not turn: their vectors go to the optimum and stay there. So what counts is the length
of the way, in units that do not depend on the data: with q the last vector that was read,

    way += root mean square over this site's rows of (q_new - q) . x / rho

that is, by how much decisions would move if the site followed at once. Sound neighbours on rows of
binary and of Gaussian features, alike and sorted by class, C from .01 to 1, rings and stars of 2
and 10 sites, with and without lost messages, went 2 to 42 in all in 600 rounds. The attack that
takes all rows goes much farther; one that makes do with the same way takes some of the rows of a
small site, and hardly any of a large one. This delays an attacker and names it. It is no guarantee:
differential privacy is.
"""

from __future__ import annotations

import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...linear.problem import LinearProblem
from ..network.wire import FrameError

__all__ = ["SECONDS_TO_REFILL", "Journey", "RowSample", "most_travel"]

# Rows that stand for all; which ones, nobody outside knows.
SAMPLED = 256
# A neighbour that has used up its way may go it again in this time.
SECONDS_TO_REFILL = 3600.0


def most_travel(C: float) -> float:
    """Return how far a sound neighbour's vectors may go, at a row weight of ``C``."""
    # Twice what was needed by sites with one class each, and more for larger C, as measured.
    return 100.0 * float(max(1.0, C) ** 0.25)


class RowSample:
    """Some of a site's rows, by which movements of decisions are measured.

    Parameters
    ----------
    problem : LinearProblem
        The site's rows.
    rho : float
        Penalty of a link: z / ρ is the model that a neighbour draws this site to.
    """

    def __init__(self, problem: LinearProblem, rho: float) -> None:
        n_rows = problem.n_rows
        kept = np.arange(n_rows)
        if n_rows > SAMPLED:
            random = np.random.default_rng(secrets.randbits(128))
            kept = np.sort(random.choice(n_rows, SAMPLED, replace=False))
        self._X, self._constant, self._rho = problem.X[kept], problem.constant, rho

    def movement(self, change: Array) -> float:
        """Return the root mean square movement of decisions that a change of a vector makes."""
        if self._X.shape[0] == 0:
            return 0.0
        n_features = self._X.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            decisions = self._X @ change[:n_features]
            if self._constant:
                decisions = decisions + self._constant * change[n_features]
            return float(np.sqrt(np.mean(np.square(decisions))) / self._rho)


@dataclass
class Journey:
    """The way of one neighbour's vectors: a bucket that it empties, and that fills again slowly."""

    most: float
    gone: float = 0.0  # since the process started
    refused: int = 0
    _vector: Array | None = field(default=None, repr=False)
    _left: float = field(default=np.inf, repr=False)
    _since: float = field(default_factory=time.monotonic, repr=False)

    @property
    def left(self) -> float:
        """How far the neighbour may still go now."""
        filled = self.most * (time.monotonic() - self._since) / SECONDS_TO_REFILL
        return min(self.most, self._left + filled)

    def saved(self) -> dict[str, Any]:
        """Return the share of the bucket that is left, and the last vector, for a state in JSON."""
        last = None if self._vector is None else self._vector.astype("<f4").tobytes()
        return {
            "left": self.left / self.most,
            "vector": None if last is None else b64encode(last).decode(),
        }

    def resume(self, saved: Mapping[str, Any]) -> None:
        """Go on from where a saved journey was."""
        self._left = self.most * min(max(0.0, float(saved["left"])), 1.0)
        self._since = time.monotonic()
        if saved["vector"] is not None:
            last = np.frombuffer(b64decode(saved["vector"], validate=True), dtype="<f4")
            self._vector = last.astype(np.float64)

    def begin_again(self) -> None:
        """Count the next vector from nothing: the last one is no longer followed."""
        self._vector = None

    def go(self, vector: Array, sample: RowSample) -> None:
        """Go on to a vector; FrameError, and nothing changes, if it is too far away."""
        change: Any = vector if self._vector is None else vector - self._vector
        step, left = sample.movement(change), self.left
        if not step <= left:
            self.refused += 1
            raise FrameError(
                "travel",
                f"the neighbour's vectors have moved the decisions on this site's rows by "
                f"{self.gone:.3g} in all, and the next would by {step:.3g}; {left:.3g} is left of "
                f"{self.most:.3g}. Sound neighbours converge: this one may be trying to see rows. "
                "If it is sound, raise `model.max_travel` at all sites.",
            )
        self._left, self._since = left - step, time.monotonic()
        self.gone += step
        self._vector = vector.copy()
