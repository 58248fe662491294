"""Status of a site, without weights or rows."""

from __future__ import annotations

import math
import os
import time
from typing import Any

import numpy as np

from ... import _native
from ...linear.problem import LinearProblem
from ..protocol.links import Link
from ..protocol.transport import Transport
from .participant import Participant

__all__ = ["SiteHistory", "status_of"]

MOST_POINTS = 512
# Initial seconds between points, doubled whenever there are too many.
FIRST_STEP = 0.5


class SiteHistory:
    """Records of time, estimated gap, distance and accuracy, thinned as a site runs."""

    def __init__(self) -> None:
        self.points: list[list[float | None]] = []
        self.accuracy: float | None = None
        self._step, self._next = FIRST_STEP, 0.0

    @property
    def due(self) -> bool:
        """Whether another point is due."""
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
    """Return a number, or None if JSON cannot represent it."""
    return float(value) if math.isfinite(value) else None


def relative_distance(site: _native._GossipSite) -> float | None:
    """Return the largest distance to a neighbour's model, relative to the norm of this one."""
    norm = float(np.linalg.norm(site.model()))
    return finite(site.apart / norm) if norm > 0 else None


def status_of(part: Participant, transport: Transport) -> dict[str, Any]:
    """Return the status of a site and its links, as JSON values."""
    config = part.config
    # A site without a connection knows its own rows only.
    alone = config.n_sites > 1 and all(not link.their_epoch for link in part.links.by_key.values())
    figures = _figures(part.site, config.n_sites)
    return {
        "name": config.name,
        "public_key": part.public_key,
        "pid": os.getpid(),
        "rounds": part.rounds,
        **figures,
        "content": figures["content"] and not alone,
        "n_rows": part.local.n_rows,
        "n_features": config.n_features,
        "bytes_sent": transport.bytes_sent,
        "bytes_received": transport.bytes_received,
        "state_saved_seconds_ago": time.monotonic() - part.saved,
        "links": [
            _link(part, link, transport.dropped(key)) for key, link in part.links.by_key.items()
        ],
        "refused_keys": transport.refused,
    }


def _figures(site: _native._GossipSite, n_sites: int) -> dict[str, Any]:
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


def _link(part: Participant, link: Link, dropped: int) -> dict[str, Any]:
    _, _, silent, _, _, distance = part.site.links()[link.slot]
    ago = None if link.last_heard is None else time.monotonic() - link.last_heard
    norm = float(np.linalg.norm(part.site.model()))
    return {
        "name": link.neighbour.name,
        "address": link.neighbour.address,
        "connected": ago is not None and ago < 3.0 + 3.0 * part.config.heartbeat,
        "silent": int(silent),
        "sent": link.sent,
        "received": link.received,
        "rejected": link.rejected + dropped,
        "reasons": {**link.reasons, **({"rate": dropped} if dropped else {})},
        "distance": finite(distance / norm) if norm > 0 else None,
        "epoch": link.epoch,
        "last_heard_seconds_ago": ago,
    }
