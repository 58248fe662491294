"""Measure what is missing, or write the tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.race import processes
from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.store import Cell, Store

from . import __doc__ as description
from .contestants import CONTESTANTS
from .page import page
from .sets import QUICK_ROWS, SETS, drawn

WORKER = "benchmarks.speed.auto.worker"
# Seconds after which a contestant is ended.
MAX_TIME = 900.0


def main() -> None:
    parser, group = parser_of("auto", str(description), SETS, "the last one")
    group.add_argument(
        "--contestants", nargs="+", choices=list(CONTESTANTS), default=list(CONTESTANTS)
    )
    options = options_of(parser, "auto", None)
    store = Store(options.results, options.again)
    if options.command == "render":
        write_page(store, options.to, "auto", page)
        return
    failures: list[str] = []
    for name in options.only:
        measure(store, name, options.contestants, options.quick, failures)
    fail(failures)


def measure(
    store: Store, name: str, contestants: list[str], quick: bool, failures: list[str]
) -> None:
    """Measure the cells of a set that are missing."""
    with tempfile.TemporaryDirectory() as folder:
        saved = False
        for contestant in contestants:

            def fitted(contestant: str = contestant) -> Cell:
                nonlocal saved
                if not saved:
                    drawn(name, QUICK_ROWS if quick else None).save(Path(folder))
                    saved = True
                job = {"contestant": contestant, "folder": folder, "form": SETS[name].form}
                return processes.measure(WORKER, job, MAX_TIME)

            settings = {"set": name, "contestant": contestant, "quick": quick}
            with processes.noted(failures, f"{name}/{contestant}"):
                store.cell(f"{name}/{contestant}", settings, fitted)


if __name__ == "__main__":
    main()
