"""Measure the published tables, or write them into the documentation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from . import (
    dc_tables,
    gossip_tables,
    linear_tables,
    multiclass_tables,
    render,
    sodm_tables,
    solver_curves,
    speed_up,
)
from .results import FOLDER, Results

TABLES: dict[str, Any] = {
    "sodm": sodm_tables,
    "dc": dc_tables,
    "linear": linear_tables,
    "solvers": solver_curves,
    "speed_up": speed_up,
    "multiclass": multiclass_tables,
    "gossip": gossip_tables,
}
# Quick runs try the harness on a few rows; their figures never get into the documentation.
QUICK_FOLDER = Path("build/papers_quick")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, tables in TABLES.items():
        command = commands.add_parser(name, help=str(tables.__doc__).splitlines()[0])
        command.add_argument("--only", choices=tables.DATA_SETS, help="one data set")
        command.add_argument("--quick", action="store_true", help="a few rows, to try the harness")
        command.add_argument("--again", action="store_true", help="measure what is there anew")
        command.add_argument(
            "--max-time", type=float, default=tables.MAX_TIME, help="seconds a fit may take"
        )
        command.add_argument("--results", type=Path, help="folder of the JSON files")
        if hasattr(tables, "SPLITS"):
            command.add_argument("--splits", type=int, default=tables.SPLITS, help="random splits")
        if name == "sodm":
            command.add_argument(
                "--columns",
                nargs="+",
                choices=sodm_tables.COLUMNS,
                default=sodm_tables.COLUMNS,
                help="which fits; a run may be made column by column",
            )
        if hasattr(tables, "TABLES"):
            command.add_argument(
                "--tables",
                nargs="+",
                choices=tables.TABLES,
                default=tables.TABLES,
                help="which tables; 3 is 4, too",
            )
    writer = commands.add_parser("render", help="write the tables into docs/benchmarks")
    writer.add_argument("--results", type=Path, default=FOLDER, help="folder of the JSON files")
    writer.add_argument("--to", type=Path, default=render.FOLDER, help="folder of the tables")
    options = parser.parse_args(arguments)
    if options.command == "render":
        render.write(options.results, options.to)
        return
    tables = TABLES[options.command]
    folder = options.results or (QUICK_FOLDER if options.quick else FOLDER)
    results = Results(folder / f"{options.command}.json", options.again)
    names = tables.DATA_SETS if options.only is None else (options.only,)
    settings = {"quick": options.quick, "max_time": options.max_time}
    if hasattr(tables, "SPLITS"):
        settings["splits"] = 1 if options.quick else options.splits
    if options.command == "sodm":
        settings["columns"] = options.columns
    if hasattr(tables, "TABLES"):
        settings["tables"] = options.tables
    tables.run(results, names, **settings)


if __name__ == "__main__":
    main()
