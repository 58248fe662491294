"""Measure multi-class training against peers, or write the tables of it."""

from __future__ import annotations

from benchmarks.speed.arguments import CommandLine, measure_or_fail
from benchmarks.speed.linear.contestants import check_libraries
from benchmarks.speed.linear.rounds import Limits

from . import tables
from .adapters import ADAPTERS
from .cases import BEST, CASES, ONE
from .rounds import run

COMMAND_LINE = CommandLine("multiclass", str(__doc__), CASES, ADAPTERS, "the median")


def main(arguments: list[str] | None = None) -> None:
    parser, run_only = COMMAND_LINE.parser()
    run_only.add_argument(
        "--c", nargs="+", choices=(ONE, BEST), default=[ONE, BEST], help="C = 1, and the best"
    )
    run_only.add_argument(
        "--max-time", type=float, default=Limits.max_time, help="seconds a ladder may take"
    )
    run_only.add_argument(
        "--reference-time", type=float, default=Limits.reference_time, help="seconds of a long run"
    )
    options = COMMAND_LINE.parsed(parser, arguments)
    if options.command == "render":
        tables.write(options.results, options.to)
        return
    check_libraries(options.without, ADAPTERS)
    limits = Limits(
        repeats=options.repeats,
        max_time=options.max_time,
        reference_time=options.reference_time,
        quick=options.quick,
        without=options.without,
    )
    measure_or_fail(options, lambda results: run(results, options.only, options.c, limits))


if __name__ == "__main__":
    main()
