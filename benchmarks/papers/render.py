"""Write the tables, ours beside the published ones, as CSV files that the documentation shows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from . import dc_pages, sodm_pages
from .figures import NONE, Rows

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks" / "tables"
MACHINE = ("system", "cores", "instruction_set", "python", "widemargin")


def write(results: Path, folder: Path) -> None:
    """Write all tables from the JSON files of a folder; what is not there is left open."""
    folder.mkdir(parents=True, exist_ok=True)
    sodm, dc = _kept(results / "sodm.json"), _kept(results / "dc.json")
    for page, kept in ((sodm_pages, sodm), (dc_pages, dc)):
        for name, columns, rows in page.tables(kept["cells"]):
            _csv(folder / f"{name}.csv", columns, rows)
    machines = (
        [key.replace("_", " "), *(str(each["machine"].get(key, NONE)) for each in (sodm, dc))]
        for key in MACHINE
    )
    _csv(folder / "machine.csv", ["", "SODM tables", "DC-SVM tables"], machines)


def _kept(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"machine": {}, "cells": {}}
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def _csv(path: Path, columns: list[str], rows: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
