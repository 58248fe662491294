"""A ladder of settings, climbed by a worker in a process of its own, as a cell of the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.papers.results import Results

from . import measuring

Cell = dict[str, Any]
# A process is ended when its ladder has taken so many times its budget.
PATIENCE = 2.0


def climbed(
    results: Results,
    name: str,
    job: Cell,
    *,
    worker: str,
    folder: Callable[[], Path],
    budget: float,
) -> Cell:
    """Measure a cell that is not there, or was given up when there was less time.

    Parameters
    ----------
    results : Results
        Where it is kept.
    name : str
        Name of the cell.
    job : dict
        What the worker does: among others its ``ladder``, whose values are those of the setting
        ``rung``, and the ``target`` where it ends, an objective or None.
    worker : str
        Module that does it.
    folder : callable
        Returns the folder with the rows; asked only if needed.
    budget : float
        Seconds for the ladder.
    """
    kept = results.cells.get(name, {})
    if not kept.get("finished") and kept.get("budget", budget) < budget:
        del results.cells[name]

    def measure() -> Cell:
        ready = {**job, "folder": str(folder()), "budget": budget}
        cell = measuring.measure(worker, ready, PATIENCE * budget)
        print(f"{name}: {_ending(job, cell)}", flush=True)
        return {**cell, "budget": budget}

    return results.cell(name, job, measure)


def _ending(job: Cell, cell: Cell) -> str:
    """Say where a ladder ended."""
    if not cell.get("rungs"):
        return "nothing in time"
    rung = cell["rungs"][-1]
    above = "" if job["target"] is None or rung["objective"] <= job["target"] else " (above target)"
    found = f"objective {rung['objective']:.6g}{above}, {rung['seconds']:.3f} s"
    return f"{job['rung']} {rung['value']:g}, {found}"
