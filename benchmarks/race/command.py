"""The command line of measurements: ``run`` measures what is missing, ``render`` writes tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from . import tables
from .plugin import Race
from .rounds import run
from .store import Store
from .tables import Cells, Table

SPEED = Path(__file__).parents[1] / "speed" / "results"
# Quick runs try the harness on a few rows; their figures never get into the documentation.
QUICK = Path("build/speed_quick")


def parser_of(
    name: str, description: str, parts: Iterable[str], counts: str
) -> tuple[argparse.ArgumentParser, argparse._ArgumentGroup]:
    """Return a parser, and its group of options of a run."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.speed.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("run", "render"), default="run")
    parser.add_argument("--results", type=Path, help="the JSON file")
    group = parser.add_argument_group("run")
    parts = list(parts)
    group.add_argument("--only", nargs="+", choices=parts, default=parts, metavar="SET")
    group.add_argument("--repeats", type=int, default=3, help=f"rounds; {counts} counts")
    group.add_argument("--quick", action="store_true", help="a few rows, to try the harness")
    group.add_argument("--again", action="store_true", help="measure everything again")
    render = parser.add_argument_group("render")
    render.add_argument("--to", type=Path, default=tables.FOLDER, help="folder of the tables")
    return parser, group


def options_of(
    parser: argparse.ArgumentParser, name: str, arguments: list[str] | None
) -> argparse.Namespace:
    """Parse the arguments; ``results`` is then the file to read or to write."""
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}.")
    options.results = options.results or (QUICK if options.quick else SPEED) / f"{name}.json"
    options.repeats = 1 if options.quick else options.repeats
    return options


def write_page(
    store: Store, folder: Path, name: str, found: Callable[[Cells], Iterator[Table]]
) -> None:
    """Write the tables of a page, and what it was measured with."""
    for table, columns, rows in found(store.cells):
        tables.write_csv(folder / f"{table}.csv", columns, rows)
    tables.write_machine(folder / f"{name}_machine.csv", store)


def fail(failures: list[str]) -> None:
    """End with what went wrong, if anything did."""
    if failures:
        raise SystemExit("\n".join(["Some fits failed; the others are stored:", *failures]))


def race_main(race: Race, description: str, arguments: list[str] | None = None) -> None:
    """Measure a race, or write its tables."""
    parser, group = parser_of(race.name, description, race.cases, race.counts)
    limits = race.limits
    group.add_argument(
        "--max-time", type=float, default=limits.max_time, help="seconds a ladder may take"
    )
    group.add_argument(
        "--reference-time", type=float, default=limits.reference_time, help="seconds of a long run"
    )
    group.add_argument(
        "--once-above",
        type=float,
        default=limits.once_above,
        help="slower fits (seconds) are not repeated",
    )
    group.add_argument(
        "--without", nargs="+", choices=race.libraries, default=[], help="leave a library out"
    )
    race.add_options(group)
    options = options_of(parser, race.name, arguments)
    if options.command == "render":
        store = Store(options.results)
        write_page(store, options.to, f"{race.name}_speed", race.tables)
        race.draw(store.cells, options.to)
        return
    options.without = race.check_libraries(tuple(options.without))
    chosen = replace(
        limits,
        repeats=options.repeats,
        max_time=options.max_time,
        reference_time=options.reference_time,
        once_above=options.once_above,
        quick=options.quick,
        without=options.without,
    )
    fail(run(race, Store(options.results, options.again), options.only, chosen, options))
