"""Measured and published figures as text.

Accuracies are percentages. ``†`` marks a figure with a fit that ran out of time; ``(n)`` one that
is the mean of fewer splits than the table asks for; ``–`` what was not measured or not published.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean
from typing import Any

NONE = "–"
NAMES = {
    "a9a": "a9a (a7a)",
    "census_income": "census",
    "covtype_binary": "covtype",
    "skin_nonskin": "skin-nonskin",
    "susy_30k": "SUSY (30,000 rows)",
}
Cells = dict[str, dict[str, Any]]
Rows = Iterable[list[str]]


def name_of(data_set: str) -> str:
    """Return what the papers call a data set."""
    return NAMES.get(data_set, data_set)


def percent(value: float | None) -> str:
    """Show a share."""
    return NONE if value is None else f"{100 * value:.2f}"


def seconds(value: float | None) -> str:
    """Show a time with two or three digits."""
    if value is None:
        return NONE
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def figure(cells: list[dict[str, Any]], key: str, text: Callable[[float], str], full: int) -> str:
    """Show the mean of some cells, of which ``full`` are wanted."""
    if not cells:
        return NONE
    late = "†" if any(cell.get("out_of_time") for cell in cells) else ""
    few = f" ({len(cells)})" if len(cells) < full else ""
    return text(mean(cell[key] for cell in cells)) + late + few


def write_csv(path: Path, columns: list[str], rows: Rows) -> None:
    """Write a table that the documentation shows; one without rows has an open one."""
    rows = list(rows) or [[NONE] * len(columns)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
