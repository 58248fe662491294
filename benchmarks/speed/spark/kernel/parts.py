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
from benchmarks.speed.spark.sessions import LOCAL, cluster_of

from .cases import CASES

LOCAL_ENGINE, CLUSTER = "local engine", "cluster"
ENGINES = (LOCAL_ENGINE, LOCAL, CLUSTER)
LARGE = "large"
PARTS = (*CASES, LARGE)
FITS, ON_CLUSTER = (f"benchmarks.speed.spark.kernel.{name}" for name in ("fits", "large"))
# Ever more rows; the accuracy of the last must not be below that of the one before.
LARGE_ROWS, QUICK_LARGE_ROWS = (1_000_000, 5_000_000), (8_000, 20_000)
MOST_REPEATS = {"covtype_binary": 1}
# Seconds after which a part is given up, with what it has measured.
MAX_TIME = 1500.0


def run(results: Results, names: Sequence[str], repeats: int, quick: bool) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name in names:
        if name == LARGE:
            rows = QUICK_LARGE_ROWS if quick else LARGE_ROWS
            with measuring.noted(failures, name):
                results.cell(name, {"rows": rows}, partial(large, rows))
                print(f"{name}: done", flush=True)
            continue
        for engine in ENGINES:
            job = {"case": name, "quick": quick, "repeats": min(repeats, MOST_REPEATS.get(name, 9))}
            with measuring.noted(failures, f"{name}/{engine}"):
                results.cell(f"{name}/{engine}", job, partial(fits, engine, job))
                print(f"{name}, {engine}: done", flush=True)
    return failures


def fits(engine: str, job: dict[str, Any]) -> dict[str, Any]:
    """Train on one engine, in a process of its own."""
    if engine != CLUSTER:
        master = None if engine == LOCAL_ENGINE else engine
        return measuring.measure(FITS, {**job, "master": master}, MAX_TIME)
    return _on_cluster(FITS, job)


def large(rows: Sequence[int]) -> dict[str, Any]:
    """Train on generated rows on a cluster of this machine; the driver is a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        for number in rows:
            parquet.write_generated(number, Path(name) / str(number))
        return _on_cluster(ON_CLUSTER, {"folder": name, "rows": list(rows)})


def _on_cluster(worker: str, job: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name, cluster_of(Path(name)) as cluster:
        with executors_watched(cluster) as peaks:
            cell = measuring.measure(worker, {**job, "master": cluster.url}, MAX_TIME)
        return {**cell, **peaks}
