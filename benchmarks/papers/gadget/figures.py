"""Measured and published figures of the gossip tables as text."""

from __future__ import annotations

from statistics import pstdev
from typing import Any

from benchmarks.race.tables import NONE, percent

from . import published
from .runs import RUNS

# Per cent above the optimum beyond which figures say nothing more.
FAR = 1_000_000
NAMES = {
    "a9a": "a9a (Adult)",
    "covtype_binary": "covtype (Covertype)",
    "census_income": "census",
    "reuters_moneyfx": "reuters money-fx",
}


def name_of(data_set: str) -> str:
    """Return what a data set is called, here and in the paper."""
    return NAMES.get(data_set, data_set)


def accuracy(cell: dict[str, Any] | None, deviation: bool = True) -> str:
    """Show the mean over sites and runs, with its deviation."""
    if cell is None:
        return NONE
    late = "†" if cell.get("out_of_time") else ""
    sites = cell["accuracy_of_sites"]
    spread = f" ± {100 * pstdev(sites):.2f}" if deviation and len(sites) > 1 else ""
    runs = cell.get("runs", RUNS)
    few = f" ({runs})" if runs < RUNS else ""
    return percent(cell["accuracy"]) + spread + late + few


def above(cell: dict[str, Any] | None) -> str:
    """Show how far the worst site's objective is above the optimum, per cent; a mean over runs."""
    excess = None if cell is None else cell.get("excess")
    if excess is None:
        return NONE
    if any(each is None for each in excess):
        return f"> {FAR:,}"
    worst = 100 * max(0.0, *excess)
    if worst >= FAR:
        return f"> {FAR:,}"
    return f"{worst:.2f}" if worst < 100 else f"{worst:,.0f}"


def printed(figure: published.Figure | None) -> str:
    """Show a published share, as coarse as it is printed."""
    if figure is None:
        return NONE
    mean, deviation = figure
    return f"{100 * mean:.0f}" if deviation is None else f"{100 * mean:.0f} ± {100 * deviation:g}"


def megabytes(value: float) -> str:
    """Show bytes in millions."""
    return f"{value / 1e6:.3g}"
