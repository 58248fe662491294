"""The command of the benchmarks on Spark, and what their pages share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.race import processes
from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Cells, Rows, Table

from .sessions import THREADS, cluster_of
from .watching import executors_watched

# Megabytes that a driver may take.
DRIVER_TARGET = 1500.0
MEMORY = ["Process", "Peak (MB)"]


def memory_rows(cell: dict[str, Any]) -> Rows:
    """Yield the peaks of a cluster's processes, and the driver's in all."""
    names = {
        "driver_python_mb": "driver, Python",
        "driver_java_mb": "driver, JVM",
        "executor_java_mb": "largest executor, JVM",
        "executor_python_mb": "largest executor, Python workers",
    }
    for key, title in names.items():
        if key in cell:
            yield [title, f"{cell[key]:,.0f}"]
    if "driver_java_mb" in cell:
        both = cell["driver_python_mb"] + cell["driver_java_mb"]
        yield ["driver in all", f"{both:,.0f}" if both <= DRIVER_TARGET else f"**{both:,.0f}**"]


# Name of a cell, its settings, and how it is measured.
Planned = tuple[str, dict[str, Any], Callable[[], Cell]]


def main(
    name: str,
    description: str,
    parts: Sequence[str],
    plan: Callable[[Sequence[str], int, bool], Iterator[Planned]],
    tables: Callable[[Cells], Iterator[Table]],
    arguments: list[str] | None = None,
) -> None:
    """Measure the cells of a plan that are missing, or write the tables."""
    parser, _ = parser_of(f"spark.{name}", description, parts, "the median")
    options = options_of(parser, f"spark_{name}", arguments)
    store = Store(options.results, options.again)
    if options.command == "render":
        write_page(store, options.to, f"spark_{name}", tables)
        return
    for cell in [cell for cell, found in store.cells.items() if found.get("out_of_time")]:
        store.drop(cell)  # it is measured again
    failures: list[str] = []
    for cell, settings, measure in plan(options.only, options.repeats, options.quick):
        with processes.noted(failures, cell):
            store.cell(cell, settings, measure)
            print(f"{cell}: done", flush=True)
    fail(failures)


def on_cluster(worker: str, job: dict[str, Any], max_time: float, workers: int = THREADS) -> Cell:
    """Run a worker as the driver of a cluster of this machine; add the executors' peaks."""
    with tempfile.TemporaryDirectory() as name, cluster_of(Path(name), workers) as cluster:
        with executors_watched(cluster) as peaks:
            cell = processes.measure(worker, {**job, "master": cluster.url}, max_time)
        return {**cell, **peaks}
