"""Measured cells in a JSON file, written after every one of them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import widemargin
from widemargin import _native
from widemargin.core.resources import thread_count

from .scoring import Cell

FOLDER = Path(__file__).parent / "results"


class Results:
    """A file of cells by name.

    A cell is measured once: it is taken from the file where the settings kept with it are the
    same, so that an interrupted run goes on where it was.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    again : bool
        Measure also what the file has, once.
    """

    def __init__(self, path: Path, again: bool = False) -> None:
        self.path = path
        self.cells: dict[str, Cell] = kept_in(path)["cells"]
        self._stale = set(self.cells) if again else set()

    def cell(self, name: str, settings: dict[str, Any], measure: Callable[[], Cell]) -> Cell:
        """Return a cell, measured now if it is not there."""
        settings = json.loads(json.dumps(settings))  # as they come back from the file
        kept = self.cells.get(name)
        if kept is not None and name not in self._stale and kept["settings"] == settings:
            return kept
        cell = {"settings": settings, **measure()}
        self.cells[name] = cell
        self._stale.discard(name)
        self._write()
        if "accuracy" in cell:
            spent = cell.get("fit_seconds", float("nan"))
            late = " (out of time)" if cell.get("out_of_time") else ""
            print(f"{name}: {cell['accuracy']:.4f}, {spent:.1f} s{late}", flush=True)
        return cell

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": machine(), "cells": self.cells}, indent=1, sort_keys=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(text + "\n", encoding="utf-8")
        os.replace(unfinished, self.path)


def kept_in(path: Path) -> dict[str, Any]:
    """Read a file of cells; an empty one, if there is none."""
    if not path.exists():
        return {"machine": {}, "cells": {}}
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def machine() -> dict[str, Any]:
    """Say what ran the benchmark."""
    return {
        "widemargin": widemargin.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": thread_count(None),
        "instruction_set": _native.instruction_set(),
    }
