"""Measure linear training on Spark, or write the tables of it."""

from __future__ import annotations

from benchmarks.speed.arguments import CommandLine, measure_or_fail

from . import tables
from .parts import PARTS, run

COMMAND_LINE = CommandLine("spark.linear", str(__doc__), PARTS, (), "the median")


def main(arguments: list[str] | None = None) -> None:
    parser, _ = COMMAND_LINE.parser()
    options = COMMAND_LINE.parsed(parser, arguments)
    if options.command == "render":
        tables.write(options.results, options.to)
        return
    measure_or_fail(
        options, lambda results: run(results, options.only, options.repeats, options.quick)
    )


if __name__ == "__main__":
    main()
