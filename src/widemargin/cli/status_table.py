"""Statuses of sites as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .info import size
from .privacy_text import budget_text

DOWN = "down"
FIGURES = ("rows", "rounds", "gap", "apart", "accuracy", "links", "mass")
STYLES = {
    DOWN: "bold red",
    "starting": "dim",
    "gathering": "dim",
    "preparing": "dim",
    "learning": "yellow",
    "content": "cyan",
    "agreed": "green",
}


def progress_of(status: Mapping[str, Any] | None) -> str:
    """Return the state of a site: None if it is down, empty if it does not answer yet."""
    if status is None:
        return DOWN
    if not status:
        return "starting"
    for phase in ("gathering", "preparing"):
        if status.get(phase):
            return phase
    if status.get("agreed"):
        return "agreed"
    return "content" if status.get("content") else "learning"


def status_view(statuses: Mapping[str, Mapping[str, Any] | None]) -> RenderableType:
    """Draw one site that answers in full, several as a table."""
    answers = list(statuses.values())
    if len(answers) == 1 and answers[0] is not None:
        return site_view(answers[0])
    return fleet_table(statuses)


def fleet_table(statuses: Mapping[str, Mapping[str, Any] | None]) -> Table:
    """Return a table with one line for each site, given its name and status."""
    private = any(status and status.get("privacy") for status in statuses.values())
    table = plain_table("site", "state", right=(*FIGURES, "ε spent") if private else FIGURES)
    for name, status in statuses.items():
        state = progress_of(status)
        spent = [_spent(status)] if private else []
        table.add_row(escape(name), Text(state, style=STYLES[state]), *_figures(status), *spent)
    return table


def _spent(status: Mapping[str, Any] | None) -> str:
    account = (status or {}).get("privacy")
    return f"{account['epsilon_spent']:.3g} of {account['epsilon']:g}" if account else "–"


def _figures(status: Mapping[str, Any] | None) -> Sequence[str]:
    if not status:
        return ("–",) * len(FIGURES)
    links = status.get("links", ())
    return (
        f"{status['n_rows']:,}",
        f"{status['rounds']:,}",
        number(status.get("estimated_gap"), ".1e"),
        number(status.get("distance"), ".1e"),
        number(status.get("training_accuracy"), ".4f"),
        f"{sum(bool(link['connected']) for link in links)} of {len(links)}",
        number(status.get("mass"), ".4f"),
    )


def site_view(status: Mapping[str, Any]) -> RenderableType:
    """Draw one site: its figures, and a line for every neighbour."""
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(status):
        facts.add_row(Text(name, style="dim"), value)
    links = plain_table(
        "neighbour", "address", "state", right=("heard", "sent", "received", "rejected", "apart")
    )
    for link in status.get("links", ()):
        connected = bool(link["connected"])
        links.add_row(
            escape(str(link["name"])),
            escape(str(link["address"])),
            Text("connected" if connected else "silent", style="green" if connected else "red"),
            age(link.get("last_heard_seconds_ago")),
            f"{link['sent']:,}",
            f"{link['received']:,}",
            f"{link['rejected']:,}",
            number(link.get("distance"), ".1e"),
        )
    more = [part for table in (_classes(status), _scores(status)) if table for part in (table, "")]
    return Group(facts, "", *more, links)


def _classes(status: Mapping[str, Any]) -> Table | None:
    """Return a line for every class, if there are more than two."""
    if not status.get("classes"):
        return None
    table = plain_table("class", "state", right=("rows", "gap", "apart"))
    for each in status["classes"]:
        state = "content" if each["content"] else "learning"
        table.add_row(
            escape(str(each["label"])),
            Text(state, style=STYLES[state]),
            f"{each['n_rows']:,}",
            number(each.get("estimated_gap"), ".1e"),
            number(each.get("distance"), ".1e"),
        )
    return table


def _scores(status: Mapping[str, Any]) -> Table | None:
    """Return a line for every value of C, if the sites choose one."""
    if not status.get("scores"):
        return None
    table = plain_table("C", "", right=("held-out accuracy",))
    for each in status["scores"]:
        chosen = "chosen" if each["C"] == status.get("C") else ""
        accuracy = number(each.get("held_out_accuracy"), ".4f")
        table.add_row(f"{each['C']:g}", Text(chosen, style="green"), accuracy)
    return table


def _facts(status: Mapping[str, Any]) -> list[tuple[str, RenderableType]]:
    from ..sites.absence import absence_text

    state = progress_of(status)
    transferred = f"{size(status['bytes_sent'])} sent, {size(status['bytes_received'])} received"
    facts: list[tuple[str, RenderableType]] = [
        ("site", Text(str(status["name"]), style="bold")),
        ("state", Text(state, style=STYLES[state])),
        ("public key", Text(str(status["public_key"]))),
        ("process", f"{status['pid']}, up {age(status['uptime_seconds'])}"),
        ("rows", f"{status['n_rows']:,} of {status['n_features']:,} features"),
        ("rounds", f"{status['rounds']:,}, {status['steps']:,} steps"),
        ("estimated gap", number(status.get("estimated_gap"), ".2e")),
        ("neighbours apart", number(status.get("distance"), ".2e")),
        ("objective", number(status.get("objective_estimate"), ".6g")),
        ("accuracy", f"{number(status.get('training_accuracy'), '.4f')} on its own rows"),
        ("mass", number(status.get("mass"), ".6f")),
        ("traffic", transferred),
        ("state saved", f"{age(status.get('state_saved_seconds_ago'))} ago"),
    ]
    if status.get("privacy"):
        facts.insert(-3, ("privacy", budget_text(status["privacy"])))
    if "scores" in status:
        facts.insert(-3, ("scores", _state_of_scores(status)))
    if status.get("gathering"):
        members, needed = status["gathering"]
        facts.insert(2, ("members", f"{members} of {needed} have joined; the study begins then"))
    for each in status.get("missing", ()):
        said = f"{each['name']}, {absence_text(each)}. {each['advice']}"
        facts.append(("missing", Text(said, style="yellow")))
    if refused := status.get("refused_keys"):
        facts.append(("refused", Text(f"{refused:,} connections of unknown keys", style="yellow")))
    return facts


def _state_of_scores(status: Mapping[str, Any]) -> str:
    if status.get("C") is not None:
        return f"C = {status['C']:g} was chosen by the held-out rows of all sites"
    if status.get("scores_settled"):
        return "have stopped changing here; waiting for the other sites"
    return "are still changing"


def plain_table(*left: str, right: Sequence[str]) -> Table:
    """Return a table without a frame; figures are aligned on the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in left:
        table.add_column(heading, no_wrap=heading == "state")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def number(value: Any, spec: str) -> str:
    """Write a number that may be missing."""
    return "–" if value is None else format(float(value), spec)


def age(seconds: Any) -> str:
    """Write a time span in the unit that suits it."""
    if seconds is None:
        return "–"
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
