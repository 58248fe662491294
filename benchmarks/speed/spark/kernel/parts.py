"""What is measured, a cell of the results each, and in which process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.papers.results import Results
from benchmarks.speed import measuring
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.processes import executors_watched
from benchmarks.speed.spark.sessions import LOCAL, cluster_of

from .bundles import SETS
from .cases import CASES

LOCAL_ENGINE, CLUSTER = "local engine", "cluster"
ENGINES = (LOCAL_ENGINE, LOCAL, CLUSTER)
LARGE, BUNDLES = "large", "bundles"
PARTS = (*CASES, LARGE, BUNDLES)
FITS, ON_CLUSTER, WEIGHED = (
    f"benchmarks.speed.spark.kernel.{name}" for name in ("fits", "large", "bundles")
)
# Ever more rows; the accuracy of the last must not be below that of the one before.
LARGE_ROWS, QUICK_LARGE_ROWS = (1_000_000, 5_000_000), (8_000, 20_000)
MOST_REPEATS = {"covtype_binary": 1}
# Seconds after which a part is given up, with what it has measured.
MAX_TIME = 1500.0


def run(results: Results, names: Sequence[str], repeats: int, quick: bool) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name, job, measure in _planned(names, repeats, quick):
        with measuring.noted(failures, name):
            results.cell(name, job, measure)
            print(f"{name}: done", flush=True)
    return failures


def _planned(
    names: Sequence[str], repeats: int, quick: bool
) -> Iterator[tuple[str, dict[str, Any], Callable[[], dict[str, Any]]]]:
    """Give every cell, its settings and how it is measured."""
    for name in names:
        if name == LARGE:
            rows = QUICK_LARGE_ROWS if quick else LARGE_ROWS
            yield name, {"rows": rows}, partial(large, rows)
        elif name == BUNDLES:
            for each in SETS:
                job: dict[str, Any] = {"set": each, "quick": quick}
                yield f"{name}/{each}", job, partial(measuring.measure, WEIGHED, job, MAX_TIME)
        else:
            most = min(repeats, MOST_REPEATS.get(name, repeats))
            job = {"case": name, "quick": quick, "repeats": most}
            for engine in ENGINES:
                yield f"{name}/{engine}", job, partial(fits, engine, job)


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
