"""What is measured of linear machines on Spark, a cell each, and in which process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.race import processes
from benchmarks.race.store import Cell
from benchmarks.speed.spark import page as spark_page
from benchmarks.speed.spark import parquet

from . import __doc__ as description
from .page import LARGE, MLLIB, tables

PARTS = (*MLLIB, LARGE)
BESIDE_MLLIB = "benchmarks.speed.spark.linear.beside_mllib"
ON_CLUSTER = "benchmarks.speed.spark.linear.large"
C = 1.0
LARGE_ROWS, QUICK_ROWS = 5_000_000, 20_000
# Seconds after which a part is given up, with what it has measured.
MAX_TIME = 900.0


def plan(names: Sequence[str], repeats: int, quick: bool) -> Iterator[spark_page.Planned]:
    """Yield every cell, its settings and how it is measured."""
    for name in names:
        if name == LARGE:
            rows = QUICK_ROWS if quick else LARGE_ROWS
            yield name, {"rows": rows}, partial(large, rows)
        else:
            job = {"case": name, "C": C, "repeats": repeats, "quick": quick}
            yield name, job, partial(processes.measure, BESIDE_MLLIB, job, MAX_TIME)


def large(rows: int) -> Cell:
    """Train on generated rows on a cluster of this machine; the driver is a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        parquet.write_generated(rows, Path(name))
        return spark_page.on_cluster(ON_CLUSTER, {"folder": name, "rows": rows}, MAX_TIME)


def main(arguments: list[str] | None = None) -> None:
    spark_page.main("linear", str(description), PARTS, plan, tables, arguments)


if __name__ == "__main__":
    main()
