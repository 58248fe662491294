"""The command line that the comparisons with peers share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.papers.results import Results

TABLES = Path(__file__).parents[2] / "docs" / "benchmarks" / "tables"


@dataclass(frozen=True)
class CommandLine:
    """What differs between the comparisons.

    Attributes
    ----------
    name : str
        Package below ``benchmarks.speed``, and name of the JSON file.
    description : str
        What it does.
    cases, peers : iterable of str
        What may be chosen, and who may be left out.
    rounds : str
        What counts of several rounds.
    """

    name: str
    description: str
    cases: Iterable[str]
    peers: Iterable[str]
    rounds: str

    def parser(self) -> tuple[argparse.ArgumentParser, argparse._ArgumentGroup]:
        """Return the parser, and its group of options of a run."""
        prog = f"python -m benchmarks.speed.{self.name}"
        parser = argparse.ArgumentParser(prog=prog, description=self.description)
        parser.add_argument("command", nargs="?", choices=("run", "render"), default="run")
        parser.add_argument("--results", type=Path, help="the JSON file")
        run = parser.add_argument_group("run")
        cases = list(self.cases)
        run.add_argument("--only", nargs="+", choices=cases, default=cases, metavar="SET")
        run.add_argument("--repeats", type=int, default=3, help=f"rounds; {self.rounds} counts")
        run.add_argument("--quick", action="store_true", help="a few rows, to try the harness")
        run.add_argument("--again", action="store_true", help="measure what is there anew")
        if peers := list(self.peers):
            run.add_argument(
                "--without", nargs="+", choices=peers, default=[], help="leave one out"
            )
        render = parser.add_argument_group("render")
        render.add_argument("--to", type=Path, default=TABLES, help="folder of the tables")
        return parser, run

    def parsed(
        self, parser: argparse.ArgumentParser, arguments: list[str] | None
    ) -> argparse.Namespace:
        """Read the arguments; ``results`` is then the file to read or to write."""
        options = parser.parse_args(arguments)
        if options.repeats < 1:
            parser.error(f"--repeats must be at least 1; got {options.repeats}.")
        # Quick runs try the harness on a few rows; their figures never get into the documentation.
        folder = Path("build/speed_quick") if options.quick else Path(__file__).parent / "results"
        file = f"{self.name.replace('.', '_')}.json"
        options.results = options.results or folder / file
        options.repeats = 1 if options.quick else options.repeats
        options.without = tuple(getattr(options, "without", ()))
        return options


def measure_or_fail(options: argparse.Namespace, run: Callable[[Results], list[str]]) -> None:
    """Run, and end with what went wrong, if anything did."""
    failures = run(Results(options.results, options.again))
    if failures:
        raise SystemExit("\n".join(["Some fits failed; what is there is kept:", *failures]))
