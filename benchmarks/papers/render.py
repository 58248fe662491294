"""Write the tables, ours beside the published ones, as CSV files that the documentation shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import (
    dc_pages,
    gossip_pages,
    linear_pages,
    multiclass_pages,
    sodm_pages,
    solver_pages,
    speed_up_pages,
)
from .figures import NONE, write_csv
from .results import kept_in

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks" / "tables"
PAGES: dict[str, Any] = {
    "sodm": sodm_pages,
    "dc": dc_pages,
    "linear": linear_pages,
    "solvers": solver_pages,
    "speed_up": speed_up_pages,
    "multiclass": multiclass_pages,
    "gossip": gossip_pages,
}
TITLES = {"sodm": "SODM tables", "dc": "DC-SVM tables", "linear": "Linear table"}
TITLES |= {"solvers": "Linear solvers", "speed_up": "Speed-up", "multiclass": "Multi-class tables"}
TITLES |= {"gossip": "Gossip tables"}
MACHINE = ("system", "cores", "instruction_set", "python", "widemargin")


def write(results: Path, folder: Path) -> None:
    """Write all tables from the JSON files of a folder; what is not there is left open."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: kept_in(results / f"{name}.json") for name in PAGES}
    for name, page in PAGES.items():
        cells = kept[name]["cells"]
        for table, columns, rows in page.tables(cells):
            write_csv(folder / f"{table}.csv", columns, rows)
        if hasattr(page, "draw"):
            page.draw(cells, folder)
    machines = (
        [key.replace("_", " "), *(str(each["machine"].get(key, NONE)) for each in kept.values())]
        for key in MACHINE
    )
    write_csv(folder / "machine.csv", ["", *TITLES.values()], machines)
