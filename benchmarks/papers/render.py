"""Write the tables, ours beside the published ones, as CSV files that the documentation shows."""

from __future__ import annotations

from pathlib import Path

from . import dc_pages, sodm_pages
from .figures import NONE, write_csv
from .results import kept_in

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks" / "tables"
MACHINE = ("system", "cores", "instruction_set", "python", "widemargin")


def write(results: Path, folder: Path) -> None:
    """Write all tables from the JSON files of a folder; what is not there is left open."""
    folder.mkdir(parents=True, exist_ok=True)
    sodm, dc = kept_in(results / "sodm.json"), kept_in(results / "dc.json")
    for page, kept in ((sodm_pages, sodm), (dc_pages, dc)):
        for name, columns, rows in page.tables(kept["cells"]):
            write_csv(folder / f"{name}.csv", columns, rows)
    machines = (
        [key.replace("_", " "), *(str(each["machine"].get(key, NONE)) for each in (sodm, dc))]
        for key in MACHINE
    )
    write_csv(folder / "machine.csv", ["", "SODM tables", "DC-SVM tables"], machines)
