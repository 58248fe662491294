"""Measure the published tables, or write them into the documentation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.race.store import Store
from benchmarks.race.tables import FOLDER, marked, stamp_rows, write_csv

from .dc_svm import tables as dc
from .gadget import page as gossip_page
from .gadget import tables as gossip
from .linear_odm import accuracy, solvers, speed_up
from .multiclass_odm import accuracy as mcodm
from .multiclass_svm import page as multiclass_page
from .multiclass_svm import speed_up as multiclass_speed_up
from .multiclass_svm import tables as multiclass
from .sodm import page as sodm_page
from .sodm import tables as sodm
from .sodm import theorems

RESULTS = Path(__file__).parent / "results"
# Quick runs try the harness on a few rows; their figures never get into the documentation.
QUICK = Path("build/papers_quick")


class Paper(NamedTuple):
    """The title of a column of the machine table, and the modules that measure and show."""

    title: str
    measured: Any
    page: Any


PAPERS = {
    "sodm": Paper("SODM tables", sodm, sodm_page),
    "theorems": Paper("SODM theorems", theorems, theorems),
    "dc": Paper("DC-SVM tables", dc, dc),
    "linear": Paper("Linear table", accuracy, accuracy),
    "solvers": Paper("Linear solvers", solvers, solvers),
    "speed_up": Paper("Speed-up", speed_up, speed_up),
    "multiclass": Paper("Multi-class tables", multiclass, multiclass_page),
    "multiclass_speed_up": Paper("Multi-class speed-up", multiclass_speed_up, multiclass_speed_up),
    "mcodm": Paper("Multi-class ODM", mcodm, mcodm),
    "gossip": Paper("Gossip tables", gossip, gossip_page),
}
# The measurements that a page of the documentation shows.
PAGES = {
    "sodm": ("sodm", "theorems"),
    "dc_svm": ("dc",),
    "linear_odm": ("linear", "solvers", "speed_up"),
    "multiclass": ("multiclass", "multiclass_speed_up"),
    "multiclass_odm": ("mcodm",),
    "gossip": ("gossip",),
}
# Options that a module may have, by the name of its constant with the default.
CHOICES = {
    "COLUMNS": "fits; a run may be made column by column",
    "TABLES": "tables, some with others of the paper",
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, module, _) in PAPERS.items():
        command = commands.add_parser(name, help=str(module.__doc__).splitlines()[0])
        command.add_argument("--only", choices=module.DATA_SETS, help="one data set")
        command.add_argument("--quick", action="store_true", help="a few rows, to try the harness")
        command.add_argument("--again", action="store_true", help="measure everything again")
        command.add_argument("--results", type=Path, help="folder of the JSON files")
        if hasattr(module, "MAX_TIME"):
            text = "seconds a fit may take"
            command.add_argument("--max-time", type=float, default=module.MAX_TIME, help=text)
        if hasattr(module, "SPLITS"):
            command.add_argument("--splits", type=int, default=module.SPLITS, help="random splits")
        for constant, text in CHOICES.items():
            if hasattr(module, constant):
                kept = {"choices": getattr(module, constant), "default": getattr(module, constant)}
                command.add_argument(f"--{constant.lower()}", nargs="+", help=text, **kept)
    writer = commands.add_parser("render", help="write the tables into docs/benchmarks")
    writer.add_argument("--only", nargs="+", choices=PAPERS, default=list(PAPERS), metavar="PAPER")
    writer.add_argument("--results", type=Path, default=RESULTS)
    writer.add_argument("--to", type=Path, default=FOLDER, help="folder of the tables")
    options = vars(parser.parse_args(arguments))
    command, results = options.pop("command"), options.pop("results")
    if command == "render":
        render(results, options["to"], options["only"])
        return
    folder = results or (QUICK if options["quick"] else RESULTS)
    store = Store(folder / f"{command}.json", options.pop("again"))
    module, only = PAPERS[command].measured, options.pop("only")
    if options["quick"] and "splits" in options:
        options["splits"] = 1
    module.run(store, module.DATA_SETS if only is None else (only,), **options)


def render(results: Path, folder: Path, names: Iterable[str] = PAPERS) -> None:
    """Write the tables of papers from a folder of results; what is missing is left open."""
    stores = {name: Store(results / f"{name}.json") for name in PAPERS}
    for name in names:
        page, cells = PAPERS[name].page, marked(stores[name])
        for table, columns, rows in page.tables(cells):
            write_csv(folder / f"{table}.csv", columns, rows)
        if hasattr(page, "draw"):
            page.draw(cells, folder)
    for shown, of_page in PAGES.items():
        titles = ["", *(PAPERS[name].title for name in of_page)]
        found = stamp_rows(stores[name] for name in of_page)
        write_csv(folder / f"{shown}_machine.csv", titles, found)


if __name__ == "__main__":
    main()
