"""Progress of a site: when its next round is due, its status, and its metrics.

A status has neither weights nor rows.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .control import ControlError, ask
from .network.transport import Transport
from .network.wire import Frame
from .training.column_status import (
    choice_figures,
    class_figures,
    finite,
    gap_figures,
    relative_distance,
)
from .training.columns import AnySite, models_of
from .training.links import Link
from .training.local_site import LocalSite
from .training.participant import Participant
from .watch import LocalServer, Page

__all__ = ["Pace", "SiteHistory", "metrics_text", "served_metrics", "status_of"]

# Seconds that a round waits for neighbours that have sent lately.
LONGEST_WAIT = 0.25
# Exchanges without a message after which a neighbour is not waited for, as in the native core.
SILENCE = 6
# Rounds after which a content site with content neighbours rests, even if others are away.
RESTING = 50
MOST_POINTS = 512
# Initial seconds between points, doubled whenever there are too many.
FIRST_STEP = 0.5
# Media type of metrics.
KIND = "text/plain; version=0.0.4"
SECONDS_FOR_AN_ANSWER = 5.0


class Pace:
    """Schedule of the rounds."""

    def __init__(self, participant: Participant) -> None:
        self._of = participant
        self.fresh: set[str] = set()  # keys of neighbours that have sent since the last round
        self.woken = True  # whether a message since then must end the rest of a resting site
        self._epochs: dict[str, int] = {}  # of neighbours whose greetings were heard
        self._content_rounds = 0
        self._last = time.monotonic()

    @property
    def patience(self) -> int:
        """Counter from which every site is known to be content."""
        return self._of.config.longest_path + 1

    @property
    def agreed(self) -> bool:
        """Whether every site was content and this one still is."""
        return self._of.site.counter >= self.patience

    @property
    def resting(self) -> bool:
        """Whether nothing is left to do but to answer."""
        if self.agreed:
            return True
        if self._content_rounds < RESTING:
            return False
        heard = self._of.site.links()[:, 1]
        return all(heard[self._of.links.by_key[key].slot] >= 1 for key in self._awaited)

    def hear(self, key: str, frame: Frame, was_read: bool) -> None:
        """Record a message of a neighbour."""
        if was_read:
            self.fresh.add(key)
            # A site that rests before all agree has content neighbours, and rests while they are.
            self.woken |= bool(frame.numbers[-3] < (self.patience if self.agreed else 1))
        elif self._epochs.get(key) != frame.sender_epoch:
            self._epochs[key] = frame.sender_epoch
            self.woken = True

    def begin_round(self) -> None:
        """Record the beginning of a round."""
        self._last = time.monotonic()
        self.fresh.clear()
        self.woken = False

    def end_round(self) -> None:
        """Record the end of a round."""
        self._content_rounds = self._content_rounds + 1 if self._of.site.content else 0

    def wake(self) -> None:
        """Do not rest until all sites are known to be content again."""
        self.woken, self._content_rounds = True, 0

    def until_next(self) -> float:
        """Return the seconds until the next round is due."""
        config = self._of.config
        since = time.monotonic() - self._last
        if since < config.round_interval:
            return config.round_interval - since
        if self.resting:
            return 0.0 if self.woken else config.heartbeat - since
        awaited = self._awaited
        if awaited <= self.fresh and (awaited or self.woken):
            return 0.0
        return max(config.round_interval, LONGEST_WAIT) - since

    @property
    def _awaited(self) -> set[str]:
        """Neighbours that have sent lately."""
        links = self._of.site.links()
        return {
            key
            for key, link in self._of.links.by_key.items()
            if link.their_epoch and links[link.slot, 2] <= SILENCE
        }


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

    def note(self, site: AnySite, local: LocalSite) -> None:
        """Add a point."""
        self.accuracy = local.accuracy(models_of(site))
        self.points.append(
            [time.time(), finite(site.estimate), relative_distance(site), self.accuracy]
        )
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]
            self._step *= 2.0
        self._next = time.monotonic() + self._step


def status_of(part: Participant, transport: Transport) -> dict[str, Any]:
    """Return the status of a site and its links, as JSON values."""
    config = part.config
    # A site without a connection knows its own rows only.
    alone = config.n_sites > 1 and all(not link.their_epoch for link in part.links.by_key.values())
    figures = _figures(part.site, config.n_sites, config.tol)
    return {
        "name": config.name,
        "public_key": part.public_key,
        "pid": os.getpid(),
        "rounds": part.rounds,
        **figures,
        "content": figures["content"] and not alone,
        **_privacy(part),
        "n_rows": part.local.n_rows,
        "n_sites": config.n_sites,
        "study": None if config.study is None else config.study.name,
        "study_version": None if config.study is None else config.study.version,
        "n_features": config.n_features,
        "bytes_sent": transport.bytes_sent,
        "bytes_received": transport.bytes_received,
        "state_saved_seconds_ago": time.monotonic() - part.saved,
        "links": [_link(part, link, transport, key) for key, link in part.links.by_key.items()],
        "refused_keys": transport.refused,
        "connections": transport.connections,
        "turned_away": transport.turned_away,
        **class_figures(part.local, part.site),
        **choice_figures(part.site),
    }


def _privacy(part: Participant) -> dict[str, Any]:
    """Return what the site has let out about its rows; nothing if it has no such account."""
    if part.budget is None:
        return {"privacy": None}
    statement = part.budget.status()
    return {
        "privacy": statement,
        "privacy_epsilon": statement["epsilon"],
        "privacy_epsilon_spent": statement["epsilon_spent"],
    }


def _figures(site: AnySite, n_sites: int, tol: float) -> dict[str, Any]:
    sums = site.sums()
    assert sums is not None
    held = sums[0]
    objective = n_sites * held[0] / held[-1] if held[-1] > 0 else math.nan
    return {
        "steps": int(site.steps),
        **gap_figures(site, tol),
        "counter": int(site.counter),
        "distance": relative_distance(site),
        "objective_estimate": finite(objective),
        "mass": float(held[-1]),
        "model_norm": finite(float(np.linalg.norm(site.model()))),
    }


def _link(part: Participant, link: Link, transport: Transport, key: str) -> dict[str, Any]:
    dropped, now = transport.dropped(key), time.monotonic()
    _, _, silent, _, _, distance, suspicion = part.site.links()[link.slot]
    ago = None if link.last_heard is None else now - link.last_heard
    # It is not enough to hear the neighbour: it must hear this site, too.
    lately = now - 3.0 - 3.0 * part.config.heartbeat
    answers = link.last_answered is not None and link.last_answered > lately
    norm = float(np.linalg.norm(part.site.model()))
    return {
        "name": link.neighbour.name,
        "address": link.neighbour.address,
        "connected": answers and transport.reaches(key),
        "silent": int(silent),
        "sent": transport.sent(key),
        "received": link.received,
        "rejected": link.rejected + dropped,
        "reasons": {**link.reasons, **({"rate": dropped} if dropped else {})},
        "out_of_limits": link.out_of_limits,
        "travel_left": None if link.journeys is None else link.journeys.left,
        "distance": finite(distance / norm) if norm > 0 else None,
        "suspicion": finite(suspicion),
        "epoch": link.epoch,
        "last_heard_seconds_ago": ago,
    }


@dataclass(frozen=True)
class _Metric:
    name: str  # without the prefix
    key: str  # of the status, or of a link
    kind: str
    help: str


UP = _Metric("up", "up", "gauge", "1 if the site answers.")
SITE = (
    _Metric("uptime_seconds", "uptime_seconds", "gauge", "Seconds since the process began."),
    _Metric("rounds_total", "rounds", "counter", "Rounds of exchanges."),
    _Metric("steps_total", "steps", "counter", "Steps on the site's own rows."),
    _Metric("estimated_gap", "estimated_gap", "gauge", "Relative gap, as the site sees it."),
    _Metric("content", "content", "gauge", "1 if the site itself is within its tolerance."),
    _Metric("agreed", "agreed", "gauge", "1 if the site knows all to be within their tolerance."),
    _Metric("distance", "distance", "gauge", "How far neighbours' models are, relatively."),
    _Metric("objective_estimate", "objective_estimate", "gauge", "Objective, as the site sees it."),
    _Metric("training_accuracy", "training_accuracy", "gauge", "Accuracy on the site's own rows."),
    _Metric("privacy_epsilon", "privacy_epsilon", "gauge", "Privacy budget of the site."),
    _Metric(
        "privacy_epsilon_spent", "privacy_epsilon_spent", "gauge", "What is spent of the budget."
    ),
    _Metric("rows", "n_rows", "gauge", "Rows of the site."),
    _Metric("features", "n_features", "gauge", "Features of a row."),
    _Metric("mass", "mass", "gauge", "Mass that the site holds; that of all sites is constant."),
    _Metric("model_norm", "model_norm", "gauge", "Length of the weights."),
    _Metric("sent_bytes_total", "bytes_sent", "counter", "Bytes sent to neighbours."),
    _Metric("received_bytes_total", "bytes_received", "counter", "Bytes of valid messages."),
    _Metric(
        "state_age_seconds",
        "state_saved_seconds_ago",
        "gauge",
        "Seconds since the state was saved.",
    ),
    _Metric("refused_keys_total", "refused_keys", "counter", "Connections of unknown keys."),
    _Metric("connections", "connections", "gauge", "Connections from outside."),
    _Metric(
        "turned_away_total",
        "turned_away",
        "counter",
        "Connections closed for lack of room, or of a handshake in time.",
    ),
)
LINK = (
    _Metric("link_connected", "connected", "gauge", "1 if both ends hear each other."),
    _Metric("link_silent_exchanges", "silent", "gauge", "Exchanges since it was last heard."),
    _Metric("link_sent_total", "sent", "counter", "Messages sent to the neighbour."),
    _Metric("link_received_total", "received", "counter", "Messages taken from the neighbour."),
    _Metric("link_rejected_total", "rejected", "counter", "Messages of the neighbour thrown away."),
    _Metric(
        "link_out_of_limits_total",
        "out_of_limits",
        "counter",
        "Messages of the neighbour that no sound site sends.",
    ),
    _Metric(
        "link_travel_left",
        "travel_left",
        "gauge",
        "How far the neighbour's vectors may still move this site's decisions.",
    ),
    _Metric("link_distance", "distance", "gauge", "How far the neighbour's model is, relatively."),
    _Metric("link_suspicion", "suspicion", "gauge", "How hard it pulls; more than 1 is much."),
    _Metric(
        "link_last_heard_seconds", "last_heard_seconds_ago", "gauge", "Seconds since it was heard."
    ),
)


CLASS = (
    _Metric("class_rows", "n_rows", "gauge", "Rows of the class at the site."),
    _Metric("class_estimated_gap", "estimated_gap", "gauge", "Relative gap of the class."),
    _Metric("class_content", "content", "gauge", "1 if the class is within the tolerance."),
    _Metric("class_distance", "distance", "gauge", "How far neighbours' models of it are."),
)
CHOICE = (
    _Metric("chosen_C", "C", "gauge", "The value of C that the sites chose."),
    _Metric("scores_settled", "scores_settled", "gauge", "1 if scores have stopped changing."),
)
SCORE = (
    _Metric(
        "held_out_accuracy",
        "held_out_accuracy",
        "gauge",
        "Accuracy on the held-out rows of all sites, as the site sees it.",
    ),
)
# Metrics of a list in the status, with the label that names an entry and its key.
LISTS = ((CLASS, "classes", "class", "label"), (SCORE, "scores", "C", "C"))


def metrics_text(status: Mapping[str, Any] | None, site: str) -> str:
    """Return a status in Prometheus' format; the status is None if the site did not answer.

    The name of the site is a label of every sample.
    """
    answers = {"up": status is not None}
    text = [_family(UP, [({"site": site}, answers)])]
    if status is None:
        return text[0]
    text += [_family(metric, [({"site": site}, status)]) for metric in (*SITE, *CHOICE)]
    for metrics, entries, label, key in LISTS:
        each = [({"site": site, label: str(one[key])}, one) for one in status.get(entries, ())]
        text += [_family(metric, each) for metric in metrics]
    links = [({"site": site, "neighbour": link["name"]}, link) for link in status.get("links", ())]
    text += [_family(metric, links) for metric in LINK]
    return "".join(text)


def _family(metric: _Metric, samples: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]) -> str:
    """Return a metric with all of its samples, empty if it has none."""
    lines = []
    for labels, source in samples:
        if (value := source.get(metric.key)) is not None:
            pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            lines.append(f"widemargin_site_{metric.name}{{{pairs}}} {_number(value)}\n")
    if not lines:
        return ""
    name = f"widemargin_site_{metric.name}"
    return f"# HELP {name} {metric.help}\n# TYPE {name} {metric.kind}\n{''.join(lines)}"


def _escaped(text: str) -> str:
    return str(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: Any) -> str:
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)


def served_metrics(folder: Path, site: str, port: int) -> LocalServer:
    """Return a server, for this machine only, of the metrics of the site in a folder."""

    def current() -> str:
        try:
            return metrics_text(ask(folder, "status", timeout=SECONDS_FOR_AN_ANSWER), site)
        except ControlError:
            return metrics_text(None, site)

    return LocalServer(port, {"/metrics": Page(KIND, current)})
