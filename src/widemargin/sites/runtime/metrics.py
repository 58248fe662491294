"""The status of a site in Prometheus' text format.

It uses the status alone, which has neither rows nor weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..control import ControlError, ask
from .local_http import LocalServer, Page

__all__ = ["metrics_text", "served_metrics"]

#: Media type of the format.
KIND = "text/plain; version=0.0.4"
SECONDS_FOR_AN_ANSWER = 5.0


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
)
LINK = (
    _Metric("link_connected", "connected", "gauge", "1 if the neighbour is heard."),
    _Metric("link_silent_exchanges", "silent", "gauge", "Exchanges since it was last heard."),
    _Metric("link_sent_total", "sent", "counter", "Messages sent to the neighbour."),
    _Metric("link_received_total", "received", "counter", "Messages taken from the neighbour."),
    _Metric("link_rejected_total", "rejected", "counter", "Messages of the neighbour thrown away."),
    _Metric("link_distance", "distance", "gauge", "How far the neighbour's model is, relatively."),
    _Metric(
        "link_last_heard_seconds", "last_heard_seconds_ago", "gauge", "Seconds since it was heard."
    ),
)


def metrics_text(status: Mapping[str, Any] | None, site: str) -> str:
    """Return a status in Prometheus' format.

    Parameters
    ----------
    status : mapping or None
        Answer to the command ``status``; None if the site did not answer.
    site : str
        Name of the site, a label of every sample.
    """
    answers = {"up": status is not None}
    text = [_family(UP, [({"site": site}, answers)])]
    if status is None:
        return text[0]
    text += [_family(metric, [({"site": site}, status)]) for metric in SITE]
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
