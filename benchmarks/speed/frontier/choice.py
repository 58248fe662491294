"""Measure the cells of a set: first the settings of each grid, then the fits with the best ones.

Names of cells: ``set/choice/grid`` and ``set/contestant``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import processes
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store

from .contestants import CONTESTANTS
from .grids import GRIDS, tried
from .sets import SETS, rows_of

WORKER = "benchmarks.speed.frontier.worker"
# Seconds for reading the rows and the warm-up, which do not count.
START_UP = 30.0
# A grid may take so many times what a fit may.
CHOICE_TIMES = 3.0


class SavedRows:
    """The rows of a set, put into a folder when the first fit needs them."""

    def __init__(self, name: str, quick: bool, folder: Path) -> None:
        self._name, self._quick, self._folder = name, quick, folder

    @cached_property
    def data(self) -> DataSet:
        """Training and test rows."""
        return rows_of(self._name, self._quick)

    @cached_property
    def folder(self) -> Path:
        """The folder with the rows."""
        self.data.save(self._folder)
        return self._folder


@contextmanager
def saved_rows(name: str, quick: bool) -> Iterator[SavedRows]:
    """Give the rows of a set for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        yield SavedRows(name, quick, Path(folder))


def measure(
    store: Store, name: str, contestants: list[str], limit: float, quick: bool, failures: list[str]
) -> None:
    """Measure the cells of a set that are missing, or were given up with less time."""
    with saved_rows(name, quick) as rows:
        classes = len(np.unique(rows.data.y))
        for each in contestants:
            contestant = CONTESTANTS[each]
            if not contestant.competes(name, classes):
                continue
            if not contestant.installed:
                print(f"{name}/{each}: skipped, {contestant.package} is not installed", flush=True)
                continue
            with processes.noted(failures, f"{name}/{each}"):
                settings = choose(store, name, contestant.grid, rows, limit, quick)
                if settings is None:
                    print(f"{name}/{each}: no setting was chosen in time", flush=True)
                    settings = tried(contestant.grid, name)[0]
                job = {"contestant": each, "settings": settings, "grid": None, "quick": quick}
                _measured(store, f"{name}/{each}", job, name, rows, limit)


def choose(
    store: Store, name: str, grid: str, rows: SavedRows, limit: float, quick: bool
) -> dict[str, Any] | None:
    """Return the settings of the highest accuracy on held-out rows, the first of equals."""
    settings = tried(grid, name)
    if len(settings) == 1:
        return settings[0]
    job = {"contestant": GRIDS[grid][0], "settings": None, "grid": settings, "quick": quick}
    cell = f"{name}/choice/{grid}"
    kept = store.kept(cell, job)
    # Accuracies do not depend on the hour: --again keeps choices that came to their end.
    if kept is not None and not kept.get("out_of_time"):
        return best_of(kept)
    return best_of(_measured(store, cell, job, name, rows, CHOICE_TIMES * limit))


def best_of(cell: Cell) -> dict[str, Any] | None:
    """Return the best settings that were tried; None where none ended in time."""
    found = cell.get("tried", [])
    best = max(found, key=lambda each: each["accuracy"], default=None)
    return None if best is None else dict(best["settings"])


def _measured(store: Store, cell: str, job: Cell, name: str, rows: SavedRows, limit: float) -> Cell:
    kept = store.cells.get(cell, {})
    if kept.get("out_of_time") and kept.get("limit", limit) < limit:
        store.drop(cell)

    def found() -> Cell:
        ready = {**job, "folder": str(rows.folder), "form": SETS[name].form}
        measured = processes.measure(WORKER, ready, limit + START_UP)
        if "accuracy" not in measured:
            print(f"{cell}: {_ending(measured, limit)}", flush=True)
        return {**measured, "limit": limit}

    return store.cell(cell, job, found)


def _ending(cell: Cell, limit: float) -> str:
    if cell.get("out_of_memory"):
        return f"more than {cell['memory_gb']} GB"
    if "tried" in cell:
        best = max(each["accuracy"] for each in cell["tried"])
        return f"{best_of(cell)}, {best:.4f} on held-out rows"
    return f"more than {limit:g} s"
