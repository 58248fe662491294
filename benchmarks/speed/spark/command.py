"""The command that both benchmarks on Spark share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.papers.results import Results
from benchmarks.speed.arguments import CommandLine, measure_or_fail


def measure_or_render(
    name: str,
    description: str,
    parts: Sequence[str],
    run: Callable[[Results, Sequence[str], int, bool], list[str]],
    write: Callable[[Path, Path], None],
    arguments: list[str] | None,
) -> None:
    """Measure the parts that are missing, or write the tables of what there is."""
    command_line = CommandLine(name, description, parts, (), "the median")
    parser, _ = command_line.parser()
    options = command_line.parsed(parser, arguments)
    if options.command == "render":
        write(options.results, options.to)
        return

    def measure(results: Results) -> list[str]:
        drop_unfinished(results)
        return run(results, options.only, options.repeats, options.quick)

    measure_or_fail(options, measure)


def drop_unfinished(results: Results) -> None:
    """Forget what ran out of time, so that it is measured anew."""
    for name in [name for name, cell in results.cells.items() if cell.get("out_of_time")]:
        del results.cells[name]
