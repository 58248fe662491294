"""Runs of the same fit: rows dealt anew, other draws, another split where none is published."""

from __future__ import annotations

from statistics import mean
from typing import Any

from benchmarks.race.store import Cell
from benchmarks.race.tables import Cells

RUNS = 5
# Figures of a run of which tables show the mean.
AVERAGED = ("accuracy", "rounds", "messages", "bytes", "fit_seconds")
# Figures of every site, of which tables show mean, deviation and extremes over all runs.
OF_SITES = ("accuracy_of_sites", "first", "recall", "balanced_accuracy", "iterations")


def run_cell(table: str, name: str, number: int, fit: str) -> str:
    """Return the name of a run's cell."""
    return f"{table}/{name}/{number}/{fit}"


def joined(cells: Cells, table: str, name: str, fit: str) -> Cell | None:
    """Return one cell of all runs; the history is that of the first.

    ``excess`` has a single value: that of the worst site, on average over the runs.
    """
    names = (run_cell(table, name, number, fit) for number in range(RUNS))
    found = [cells[each] for each in names if each in cells]
    if not found:
        return None
    together: dict[str, Any] = {**found[0], "runs": len(found)}
    together |= {key: mean(cell[key] for cell in found) for key in AVERAGED}
    for key in OF_SITES:
        if key in together:
            together[key] = [each for cell in found for each in cell[key]]
    together["out_of_time"] = any(cell["out_of_time"] for cell in found)
    if "excess" in together:
        finite = all(each is not None for cell in found for each in cell["excess"])
        together["excess"] = [mean(max(cell["excess"]) for cell in found) if finite else None]
    return together
