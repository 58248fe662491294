"""What a site tells of itself: no weights, no rows."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from .. import _native
from ..linear.problem import LinearProblem

__all__ = ["History", "figures_of"]

MOST_POINTS = 512
# Seconds between points at first; they double whenever the points become too many.
FIRST_STEP = 0.5


class History:
    """Points of time, estimated gap, distance and accuracy: fewer the longer a site runs."""

    def __init__(self) -> None:
        self.points: list[list[float | None]] = []
        self.accuracy: float | None = None
        self._step, self._next = FIRST_STEP, 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for another point."""
        return time.monotonic() >= self._next

    def note(self, site: _native._GossipSite, problem: LinearProblem) -> None:
        """Add a point."""
        model = site.model()
        if problem.n_rows:
            _, right = problem.native.score_models(model[np.newaxis], 1)
            self.accuracy = float(right[0]) / problem.n_rows
        self.points.append(
            [time.time(), finite(site.estimate), relative_distance(site), self.accuracy]
        )
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]
            self._step *= 2.0
        self._next = time.monotonic() + self._step


def finite(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return float(value) if math.isfinite(value) else None


def relative_distance(site: _native._GossipSite) -> float | None:
    """Return how far the farthest neighbour's model is, relative to the length of this one."""
    norm = float(np.linalg.norm(site.model()))
    return finite(site.apart / norm) if norm > 0 else None


def figures_of(site: _native._GossipSite, n_sites: int) -> dict[str, Any]:
    """Return what the native site knows, as numbers that JSON can hold."""
    sums = site.sums()
    assert sums is not None
    held = sums[0]
    objective = n_sites * held[0] / held[-1] if held[-1] > 0 else math.nan
    return {
        "steps": int(site.steps),
        "estimated_gap": finite(site.estimate),
        "content": bool(site.content),
        "counter": int(site.counter),
        "distance": relative_distance(site),
        "objective_estimate": finite(objective),
        "mass": float(held[-1]),
        "model_norm": finite(float(np.linalg.norm(site.model()))),
    }
