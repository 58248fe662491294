"""The command: measure what is missing, or write the tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from benchmarks.race import processes
from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Table, seconds
from benchmarks.speed import small_sets

from .fits import CONTESTANTS, FROM_FOLDER, GENERATED, SECONDS, SETS, installed

NAME = "small_sets"
WORKER = "benchmarks.speed.small_sets.fits"
PEER = "svc"
# The share of SVC's time that ours may take.
TARGET = 1.2
MAX_TIME = 600.0
QUICK = (*(name for name in GENERATED if name.endswith(" 100")), "iris")


def main(arguments: list[str] | None = None) -> None:
    """Measure, or write the tables."""
    parser, group = parser_of(NAME, str(small_sets.__doc__), SETS, "the best")
    group.add_argument(
        "--without", nargs="+", choices=CONTESTANTS, default=[], help="leave a contestant out"
    )
    options = options_of(parser, NAME, arguments)
    store = Store(options.results, options.again)
    if options.command == "render":
        write_page(store, options.to, NAME, tables_of)
        return
    sets = [name for name in options.only if not options.quick or name in QUICK]
    if "WIDEMARGIN_DATA" not in os.environ and any(name in FROM_FOLDER for name in sets):
        print("Without sets of the folder: WIDEMARGIN_DATA names none.")
        sets = [name for name in sets if name not in FROM_FOLDER]
    names = [name for name in CONTESTANTS if name not in options.without]
    for name in names:
        if not installed(name):
            print(f"Without {CONTESTANTS[name][0]}: {CONTESTANTS[name][1]} is not installed.")
    failures: list[str] = []
    for number in range(options.repeats):
        for name in filter(installed, names):
            job = {"contestant": name, "sets": sets, "seconds": 0.0 if options.quick else SECONDS}
            with processes.noted(failures, name):
                cell = store.cell(
                    f"{name}/{number}",
                    job,
                    lambda job=job: processes.measure(WORKER, job, MAX_TIME),
                )
                print(f"{name}, round {number}: {len(cell.get('sets', []))} sets", flush=True)
    fail(failures)


def best_fits(cells: Cells, contestant: str) -> dict[str, Cell]:
    """Return the fastest fit of every set."""
    best: dict[str, Cell] = {}
    for name, cell in cells.items():
        if name.partition("/")[0] != contestant:
            continue
        for fit in cell.get("sets", []):
            known = best.get(fit["set"])
            if known is None or fit["cpu_ms"] < known["cpu_ms"]:
                best[fit["set"]] = fit
    return best


def tables_of(cells: Cells) -> Iterator[Table]:
    """Yield CPU times of generated and of other sets, ratios and gaps."""
    found = {name: best_fits(cells, name) for name in CONTESTANTS}
    titles = {name: title for name, (title, _, _) in CONTESTANTS.items()}
    measured = [name for name in SETS if name in found[PEER]]
    ours = [name for name in CONTESTANTS if CONTESTANTS[name][1] == "widemargin"]
    columns = ["Set", "Classes", "Rows", "Features", *titles.values()]
    for table, chosen in (
        ("small_sets_generated", [name for name in measured if name in GENERATED]),
        ("small_sets_real", [name for name in measured if name not in GENERATED]),
    ):
        yield table, columns, [_times(name, found) for name in chosen]
    yield (
        "small_sets_gaps",
        ["Largest over all sets", *(titles[name] for name in ours)],
        [
            ["CPU time, divided by SVC's", *(_worst_ratio(found, name) for name in ours)],
            ["relative gap", *(_worst_gap(found, name) for name in ours)],
        ],
    )


def _times(name: str, found: dict[str, dict[str, Cell]]) -> list[str]:
    peer = found[PEER][name]
    text = [name, *(str(peer[key]) for key in ("classes", "rows", "features"))]
    for contestant, fits in found.items():
        fit = fits.get(name)
        text.append(NONE if fit is None else _time(contestant, fit, peer))
    return text


def _time(contestant: str, fit: Cell, peer: Cell) -> str:
    time, ratio = seconds(fit["cpu_ms"]), fit["cpu_ms"] / peer["cpu_ms"]
    if contestant == PEER:
        return time
    bold = "**" if CONTESTANTS[contestant][1] == "widemargin" and ratio > TARGET else ""
    return f"{time} ({bold}{ratio:.2f}{bold})"


def _worst_ratio(found: dict[str, dict[str, Cell]], contestant: str) -> str:
    peer = found[PEER]
    ratios = [
        fit["cpu_ms"] / peer[name]["cpu_ms"]
        for name, fit in found[contestant].items()
        if name in peer
    ]
    return f"{max(ratios):.2f}" if ratios else NONE


def _worst_gap(found: dict[str, dict[str, Cell]], contestant: str) -> str:
    gaps: list[Any] = [fit["gap"] for fit in found[contestant].values()]
    return f"{max(gaps):.1e}" if gaps else NONE


if __name__ == "__main__":
    main()
