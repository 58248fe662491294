"""SparkSVMClassifier() with its defaults on ten million rows, on a cluster of this machine.

python -m benchmarks.speed.spark.ten_million [--rows 10000000] [--workers 2] [--memory 4g]
python -m benchmarks.speed.spark.ten_million render

Rows × 20 with the labels of a smooth function, 5 % of them flipped, are written to a folder as
Parquet once (:mod:`benchmarks.speed.spark.parquet`; 0.9 GB for ten million). The cluster is a
master and workers in processes of their own; an executor has half of its worker's memory as heap
and the rest for Python. The driver, in a process of its own, has a heap of 512 MB. It reads, fits
and scores test rows as a batch; with a model that can be broadcast, also as a stream. Progress goes
to standard error, results to ``benchmarks/speed/results/spark_ten_million.json``.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.race.processes import PROJECT, FitFailed, serve, thread_limits
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Rows, seconds, write_csv, write_machine

from . import parquet
from .sessions import cluster_of, session_on
from .watching import Counted, counted_jobs, driver_peaks, executors_watched, reading_seconds

RESULTS = Path(__file__).parents[1] / "results" / "spark_ten_million.json"
TABLES = PROJECT / "docs" / "benchmarks" / "tables"
ROWS, TEST_ROWS, FEATURES = 10_000_000, 50_000, 20
# The most that the driver may take, of its Python and its JVM together.
DRIVER_TARGET = 1000.0
# Spark asks for 450 MB of heap, of which the driver needs a fraction. By default Java lets garbage
# fill the heap, compiles as for a long computation, and has memory of its own for each core.
DRIVER = {
    "spark_driver_memory": "512m",
    "spark_driver_extraJavaOptions": "-XX:+UseSerialGC -Xmn64m -XX:MinHeapFreeRatio=10 "
    "-XX:MaxHeapFreeRatio=20 -XX:TieredStopAtLevel=1",
    "spark_cleaner_periodicGC_interval": "2s",
}
DRIVER_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}
MAX_TIME = 6 * 3600.0


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", default="run", choices=["run", "render", "worker"])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="4g", help="of a worker, as in Spark's settings")
    parser.add_argument("--max-time", type=float, default=MAX_TIME, help="seconds")
    folder = Path(tempfile.gettempdir()) / "ten_million_parquet"
    parser.add_argument("--folder", type=Path, default=folder)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--to", type=Path, default=TABLES)
    parser.add_argument("--again", action="store_true", help="measure once more")
    options = parser.parse_args(arguments)
    if options.command == "worker":
        serve(train, cores=False)
        return
    store = Store(options.results, options.again)
    if options.command == "render":
        render(store, options.to)
        return
    settings = {"rows": options.rows, "workers": options.workers, "memory": options.memory}
    cell = store.cell(
        f"{options.rows} rows", settings, lambda: measured(settings, options.folder, options)
    )
    print(*(f"{name}: {value}" for name, value in cell.items()), sep="\n")


def measured(settings: dict[str, Any], folder: Path, options: argparse.Namespace) -> Cell:
    """Write the rows, and fit on a cluster."""
    rows = folder / str(settings["rows"])
    parquet.write_generated(settings["rows"], rows, features=FEATURES)
    heap = f"{int(settings['memory'].rstrip('g')) * 512}m"
    job = {"folder": str(rows), "rows": settings["rows"], "heap": heap}
    with (
        tempfile.TemporaryDirectory() as name,
        cluster_of(Path(name), settings["workers"], settings["memory"]) as cluster,
        executors_watched(cluster) as peaks,
    ):
        cell = in_own_process({**job, "master": cluster.url}, options.max_time)
        return {**cell, **peaks}


def in_own_process(job: dict[str, Any], max_time: float) -> Cell:
    """Run the driver; its progress is shown."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.speed.spark.ten_million", "worker"],
            input=json.dumps(job),
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
            env=os.environ | thread_limits() | DRIVER_ENVIRONMENT,
            timeout=max_time,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise FitFailed(f"the driver took longer than {max_time:.0f} s") from late
    if done.returncode != 0:
        raise FitFailed(f"the driver ended with status {done.returncode}")
    cell: Cell = json.loads(done.stdout.splitlines()[-1])
    return cell


def train(job: dict[str, Any]) -> Iterator[Cell]:
    """Yield what has been measured so far, after every step."""
    from widemargin.spark import SparkSVMClassifier

    # Standard output is for the results.
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("widemargin.spark").setLevel(logging.INFO)
    cell: Cell = {}
    settings = {
        **DRIVER,
        "spark_executor_memory": job["heap"],
        "spark_executor_memoryOverhead": job["heap"],
    }
    with (
        tempfile.TemporaryDirectory() as name,
        session_on(job["master"], Path(name), **settings) as (session, started),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # that the set is divided
        frame = session.read.parquet(job["folder"]).select("features", "label")
        cell |= {**started, "read_seconds": reading_seconds(frame)}
        counted, jobs = Counted(session), counted_jobs(session)
        began = time.perf_counter()
        model = SparkSVMClassifier().fit(frame)
        cell["fit_seconds"] = time.perf_counter() - began
        cell |= {name: after - jobs[name] for name, after in counted_jobs(session).items()}
        cell |= {"counted": counted.totals(), "points": model.numSupportVectors, **driver_peaks()}
        say(f"fitted: {cell}")
        yield cell
        test = Path(name) / "test"
        X, y, _ = parquet.held_out(TEST_ROWS, FEATURES)
        parquet.write_arrays(X, y, test)
        began = time.perf_counter()
        scored = model.transform(session.read.parquet(str(test))).select("label", "prediction")
        right = scored.where("label = prediction").count()
        cell |= {"accuracy": right / TEST_ROWS, "predict_seconds": time.perf_counter() - began}
        yield cell | driver_peaks()
        cell |= streamed(session, model, test, Path(name)) | driver_peaks()
        say(f"scored: {cell}")
        yield cell


def streamed(session: Any, model: Any, folder: Path, place: Path) -> Cell:
    """Score the test rows as a stream of files, unless the model's vectors are on the cluster."""
    from pyspark.errors import AnalysisException

    rows = session.readStream.schema("features array<float>, label double").parquet(str(folder))
    began = time.perf_counter()
    try:
        query = (
            model.transform(rows)
            .select("label", "prediction")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(place / "progress"))
            .trigger(availableNow=True)
            .start(str(place / "scored"))
        )
        query.awaitTermination()
    except (AnalysisException, ValueError) as error:
        say(f"no stream: {error}")
        return {}
    scored = session.read.parquet(str(place / "scored"))
    right = scored.where("label = prediction").count() / TEST_ROWS
    return {"stream_accuracy": right, "stream_seconds": time.perf_counter() - began}


def say(text: str) -> None:
    """Report progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def driver_mb(cell: Cell) -> float:
    """Return the megabytes that a driver took at most, its Python and its JVM together."""
    return float(cell["driver_python_mb"] + cell["driver_java_mb"])


def render(store: Store, folder: Path) -> None:
    """Write the tables of the page."""
    table: Rows = []
    for name, cell in store.cells.items():
        driver = driver_mb(cell)
        stream = cell.get("stream_accuracy")
        table.append(
            [
                f"{store.settings[name]['rows']:,}",
                seconds(cell["fit_seconds"]),
                f"{cell['jobs']}",
                f"{cell['points']:,}",
                f"{100 * cell['accuracy']:.2f}",
                "—" if stream is None else f"{100 * stream:.2f}",
                f"{driver:,.0f}" if driver <= DRIVER_TARGET else f"**{driver:,.0f}**",
                f"{cell['executor_mb']:,.0f}",
            ]
        )
    columns = ["Rows", "Fit (s)", "Jobs", "Points", "Accuracy (%)", "As a stream (%)"]
    columns += ["Driver (MB)", "Largest executor (MB)"]
    write_csv(folder / "spark_ten_million.csv", columns, table)
    write_machine(folder / "spark_ten_million_machine.csv", store)


if __name__ == "__main__":
    main()
