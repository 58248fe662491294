"""What is measured of kernel machines on Spark, a cell each, and in which process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.race import processes
from benchmarks.race.store import Cell
from benchmarks.speed.spark import page as spark_page
from benchmarks.speed.spark import parquet

from . import __doc__ as description
from .bundles import SETS
from .fits import CASES
from .growth import METHODS, QUICK_ROWS, ROWS
from .page import BUNDLES, CLUSTER, ENGINES, GROWTH, LARGE, LOCAL_ENGINE, tables

PARTS = (*CASES, LARGE, BUNDLES, GROWTH)
FITS, ON_CLUSTER, WEIGHED, GROWN = (
    f"benchmarks.speed.spark.kernel.{name}" for name in ("fits", "large", "bundles", "growth")
)
# The accuracy of the last number of rows must not be below that of the first.
LARGE_ROWS, QUICK_LARGE_ROWS = (1_000_000, 5_000_000), (8_000, 20_000)
MOST_REPEATS = {"covtype_binary": 1}
# Seconds after which a part is given up, with what it has measured.
MAX_TIME = 1500.0


def plan(names: Sequence[str], repeats: int, quick: bool) -> Iterator[spark_page.Planned]:
    """Yield every cell, its settings and how it is measured."""
    for name in names:
        if name == LARGE:
            rows = QUICK_LARGE_ROWS if quick else LARGE_ROWS
            yield name, {"rows": rows}, partial(large, rows)
        elif name == BUNDLES:
            for each in SETS:
                job: dict[str, Any] = {"set": each, "quick": quick}
                yield f"{name}/{each}", job, partial(processes.measure, WEIGHED, job, MAX_TIME)
        elif name == GROWTH:
            for method in METHODS:
                for number in QUICK_ROWS if quick else ROWS:
                    job = {"method": method, "rows": number}
                    yield f"{name}/{method}/{number}", job, partial(growth, job)
        else:
            most = min(repeats, MOST_REPEATS.get(name, repeats))
            job = {"case": name, "quick": quick, "repeats": most}
            for engine in ENGINES:
                yield f"{name}/{engine}", job, partial(fits, engine, job)


def fits(engine: str, job: dict[str, Any]) -> Cell:
    """Train on one engine, in a process of its own."""
    if engine == CLUSTER:
        return spark_page.on_cluster(FITS, job, MAX_TIME)
    master = None if engine == LOCAL_ENGINE else engine
    return processes.measure(FITS, {**job, "master": master}, MAX_TIME)


def large(rows: Sequence[int]) -> Cell:
    """Train on generated rows on a cluster of this machine; the driver is a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        for number in rows:
            parquet.write_generated(number, Path(name) / str(number))
        return spark_page.on_cluster(ON_CLUSTER, {"folder": name, "rows": list(rows)}, MAX_TIME)


def growth(job: dict[str, Any]) -> Cell:
    """Train on some generated rows, on a cluster and in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        parquet.write_generated(job["rows"], Path(name))
        return spark_page.on_cluster(GROWN, {**job, "folder": name}, MAX_TIME)


def main(arguments: list[str] | None = None) -> None:
    spark_page.main("kernel", str(description), PARTS, plan, tables, arguments)


if __name__ == "__main__":
    main()
