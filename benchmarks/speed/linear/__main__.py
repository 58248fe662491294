"""Measure linear training against peers, or write the tables of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.papers.results import Results

from . import tables
from .adapters import ADAPTERS
from .cases import CASES
from .contestants import LOSSES, check_libraries
from .rounds import Limits, run

RESULTS = Path(__file__).parents[1] / "results" / "linear.json"
# Quick runs try the harness on a few rows; their figures never get into the documentation.
QUICK_RESULTS = Path("build/speed_quick/linear.json")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.linear", description=__doc__)
    parser.add_argument("command", nargs="?", choices=("run", "render"), default="run")
    parser.add_argument("--results", type=Path, help="the JSON file")
    run_only = parser.add_argument_group("run")
    run_only.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="SET")
    run_only.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    run_only.add_argument("--repeats", type=int, default=3, help="rounds; the median counts")
    run_only.add_argument("--quick", action="store_true", help="a few rows, to try the harness")
    run_only.add_argument("--again", action="store_true", help="measure what is there anew")
    run_only.add_argument(
        "--max-time", type=float, default=Limits.max_time, help="seconds a ladder may take"
    )
    run_only.add_argument(
        "--reference-time", type=float, default=Limits.reference_time, help="seconds of a long run"
    )
    run_only.add_argument(
        "--without", nargs="+", choices=ADAPTERS, default=[], help="leave a library out"
    )
    render_only = parser.add_argument_group("render")
    render_only.add_argument("--to", type=Path, default=tables.FOLDER, help="folder of the tables")
    options = parser.parse_args(arguments)
    if options.command == "render":
        tables.write(options.results or RESULTS, options.to)
        return
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}.")
    check_libraries(tuple(options.without))
    path = options.results or (QUICK_RESULTS if options.quick else RESULTS)
    limits = Limits(
        repeats=1 if options.quick else options.repeats,
        max_time=options.max_time,
        reference_time=options.reference_time,
        quick=options.quick,
        without=tuple(options.without),
    )
    failures = run(Results(path, options.again), options.only, options.losses, limits)
    if failures:
        raise SystemExit("\n".join(["Some fits failed; what is there is kept:", *failures]))


if __name__ == "__main__":
    main()
