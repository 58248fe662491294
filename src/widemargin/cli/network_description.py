"""What is told of a model that the sites of a network agreed on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

__all__ = ["describe_network", "network_lines", "network_parameters"]


def network_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the settings, those that are objects by name and values."""
    shown = dict(parameters)
    if not isinstance(shown["solver"], str):
        solver = shown["solver"]
        shown["solver"] = {"name": type(solver).__name__, **solver.get_params()}
    if shown["faults"] is not None:
        shown["faults"] = asdict(shown["faults"])
    if not isinstance(shown["topology"], str | tuple):
        shown["topology"] = "graph"
    if shown["loss"] != "odm":
        del shown["upsilon"], shown["theta"]
    return shown


def describe_network(estimator: Any) -> dict[str, Any]:
    """Return what other models do not have."""
    if not hasattr(estimator, "topology"):
        return {}
    return {
        "sites": len(estimator.sites_),
        "links": estimator.topology_.n_links // 2,
        "mixing_time": estimator.mixing_time_,
        "label_skew": estimator.label_skew_,
        "estimated_gap": estimator.estimated_gap_,
        "messages": estimator.n_messages_,
        "message_bytes": estimator.n_bytes_,
    }


def network_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Lay the description of a network out for reading."""
    if "sites" not in summary:
        return []
    topology, mixing = summary["parameters"]["topology"], summary["mixing_time"]
    name = topology[0] if isinstance(topology, list) and topology else topology
    rounds = "endless" if mixing is None else f"{mixing:.3g} rounds"
    sent = summary["message_bytes"] / 1e6
    return [
        ("sites", f"{summary['sites']:,}, label skew {summary['label_skew']:.2f}"),
        ("topology", f"{name}, {summary['links']:,} links, mixing time {rounds}"),
        ("messages", f"{summary['messages']:,}, {sent:,.3g} MB"),
    ]
