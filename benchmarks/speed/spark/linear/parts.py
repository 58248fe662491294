"""What is measured, a cell of the results each, and in which process."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.papers.results import Results
from benchmarks.speed import measuring
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.processes import executors_watched
from benchmarks.speed.spark.sessions import cluster_of

MLLIB = ("a9a", "generated")
LARGE = "large"
PARTS = (*MLLIB, LARGE)
BESIDE_MLLIB = "benchmarks.speed.spark.linear.beside_mllib"
ON_CLUSTER = "benchmarks.speed.spark.linear.large"
C = 1.0
LARGE_ROWS, QUICK_ROWS = 5_000_000, 20_000
# Seconds after which a part is given up, with what it has measured.
MAX_TIME = 900.0


def run(results: Results, names: Sequence[str], repeats: int, quick: bool) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name in names:
        with measuring.noted(failures, name):
            if name == LARGE:
                rows = QUICK_ROWS if quick else LARGE_ROWS
                results.cell(name, {"rows": rows}, partial(large, rows))
            else:
                job = {"case": name, "C": C, "repeats": repeats, "quick": quick}
                results.cell(name, job, partial(measuring.measure, BESIDE_MLLIB, job, MAX_TIME))
            print(f"{name}: done", flush=True)
    return failures


def large(rows: int) -> dict[str, Any]:
    """Train on generated rows on a cluster of this machine; the driver is a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet.write_generated(rows, folder / "rows")
        (folder / "cluster").mkdir()
        with cluster_of(folder / "cluster") as cluster, executors_watched(cluster) as peaks:
            job = {"master": cluster.url, "folder": str(folder / "rows"), "rows": rows}
            cell = measuring.measure(ON_CLUSTER, job, MAX_TIME)
        return {**cell, **peaks}
