"""Measure exact training and prediction against peers, or write the tables of it."""

from __future__ import annotations

from benchmarks.speed.arguments import CommandLine, measure_or_fail

from . import tables
from .cases import CASES
from .contestants import PEERS, check_peers
from .rounds import Limits, run

COMMAND_LINE = CommandLine("exact", str(__doc__), CASES, PEERS, "the best")


def main(arguments: list[str] | None = None) -> None:
    parser, run_only = COMMAND_LINE.parser()
    run_only.add_argument("--max-time", type=float, default=300.0, help="seconds a fit may take")
    run_only.add_argument(
        "--once-above", type=float, default=30.0, help="slower fits (seconds) are not repeated"
    )
    run_only.add_argument(
        "--curves", action="store_true", help="also every tol of intelex, for time against gap"
    )
    options = COMMAND_LINE.parsed(parser, arguments)
    if options.command == "render":
        tables.write(options.results, options.to)
        return
    check_peers(options.without)
    limits = Limits(
        repeats=options.repeats,
        max_time=options.max_time,
        once_above=options.once_above,
        quick=options.quick,
        curves=options.curves,
        without=options.without,
    )
    measure_or_fail(options, lambda results: run(results, tuple(options.only), limits))


if __name__ == "__main__":
    main()
