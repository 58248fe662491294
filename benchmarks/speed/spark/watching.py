"""What a fit on Spark spends: in the engine's verbs, by Spark's own metrics, and in memory."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from benchmarks.race.processes import field_mb
from widemargin.engines.spark import SparkEngine

from .sessions import Cluster

# ------------------------------------------------------------------------------------- verbs

# Verbs that wait for a job; the others only plan it.
WAITING = ("keep_noted", "numbers", "reduce", "visit", "together", "scatter")
WORKING = ("map", "regroup", "reduce", "visit", "together")


@contextmanager
def verbs_timed(
    engine: type[Any] = SparkEngine, names: tuple[str, ...] = WAITING
) -> Iterator[dict[str, list[float]]]:
    """Yield the seconds of every call by verb, as they are made.

    A verb called by another one counts for the caller.
    """
    seconds: dict[str, list[float]] = {}
    before = {name: getattr(engine, name) for name in names}
    inside: list[str] = []

    def timed(name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def call(*arguments: Any, **named: Any) -> Any:
            if inside:
                return verb(*arguments, **named)
            inside.append(name)
            began = time.perf_counter()
            try:
                return verb(*arguments, **named)
            finally:
                inside.pop()
                seconds.setdefault(name, []).append(time.perf_counter() - began)

        return call

    for name, verb in before.items():
        setattr(engine, name, timed(name, verb))
    try:
        yield seconds
    finally:
        for name, verb in before.items():
            setattr(engine, name, verb)


def totals(seconds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Return how often each verb was called, and its seconds."""
    return {name: {"calls": len(each), "seconds": sum(each)} for name, each in seconds.items()}


# ----------------------------------------------------------------------------------- metrics

# Spark's metrics and their names here; times and bytes are sums over tasks.
METRICS = {
    "time to execute Python code": "python_code_seconds",
    "time to run Python workers": "python_worker_seconds",
    "data sent to Python workers": "to_python_mb",
    "data returned from Python workers": "from_python_mb",
    "shuffle bytes written": "shuffled_mb",
}
SECONDS_OF = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MEGABYTES_OF = {"B": 1e-6, "KiB": 2**10 / 1e6, "MiB": 2**20 / 1e6, "GiB": 2**30 / 1e6}


class Counted:
    """Sums of the metrics of all queries since this object was made."""

    def __init__(self, session: Any) -> None:
        self._store = session._jsparkSession.sharedState().statusStore()
        self._before = {each.executionId() for each in self._queries()}

    def _queries(self) -> list[Any]:
        found = self._store.executionsList()
        return [found.apply(k) for k in range(found.size())]

    def totals(self) -> dict[str, float]:
        """Return the sums so far, and the number of queries."""
        queries = [each for each in self._queries() if each.executionId() not in self._before]
        sums = dict.fromkeys(METRICS.values(), 0.0)
        for query in queries:
            metrics = query.metrics()
            names = {
                metrics.apply(k).accumulatorId(): metrics.apply(k).name()
                for k in range(metrics.size())
            }
            values = self._store.executionMetrics(query.executionId()).iterator()
            while values.hasNext():
                pair = values.next()
                key = METRICS.get(names.get(pair._1(), ""))
                if key is not None:
                    sums[key] += number(pair._2())
        return {"queries": float(len(queries)), **sums}


def counted_jobs(session: Any) -> dict[str, int]:
    """Return the number of jobs and of their tasks so far, as Spark counts them."""
    found = session.sparkContext._jsc.sc().statusStore().jobsList(None)
    jobs = [found.apply(k) for k in range(found.size())]
    # Stages whose results are still there are skipped, and their tasks with them.
    tasks = sum(job.numTasks() - job.numSkippedTasks() for job in jobs)
    return {"jobs": len(jobs), "tasks": tasks}


def number(text: str) -> float:
    """Read a metric as Spark shows it: seconds or megabytes, the total where there is one."""
    shown = text.splitlines()[-1]
    found = re.match(r"([\d,.]+) ?([A-Za-z]+)", shown)
    if found is None:
        raise ValueError(f"expected a number with a unit; got {text!r}.")
    value, unit = float(found[1].replace(",", "")), found[2]
    return value * (SECONDS_OF | MEGABYTES_OF)[unit]


# --------------------------------------------------------------------------------- transport


def reading_seconds(frame: Any) -> float:
    """Return the seconds of reading all rows into the JVM."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def transfer_seconds(frame: Any) -> float:
    """Return the seconds of reading all rows and counting them in Python."""
    began = time.perf_counter()
    counted = frame.mapInArrow(_counted, "rows long").collect()
    assert counted
    return time.perf_counter() - began


def _counted(batches: Any) -> Any:
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})


def empty_pass_seconds(frame: Any, label: str) -> float:
    """Place rows as blocks; return the seconds of a pass over them that does nothing."""
    from widemargin.engines.spark import SparkEngine
    from widemargin.spark.rows.blocks import place
    from widemargin.spark.rows.columns import FrameColumns

    engine = SparkEngine(frame.sparkSession)
    try:
        rows = place(engine, frame, FrameColumns("features", label), skip=False, n_parts=None)
        began = time.perf_counter()
        engine.reduce(rows.parts, _nothing, max)
        return time.perf_counter() - began
    finally:
        engine.release()


def _nothing(block: Any) -> int:
    return 0


# --------------------------------------------------------------------------------- processors


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds so far of a process and of those it started that are alive."""
    total = 0.0
    for each in (pid, *_children(pid)):
        with suppress(OSError, ValueError, IndexError):  # it has ended
            stat = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2]
            total += sum(map(int, stat.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return total


# ------------------------------------------------------------------------------------ memory

SECONDS_BETWEEN_LOOKS = 0.5
EXECUTOR, PYTHON = "CoarseGrainedExecutorBackend", "pyspark.daemon"


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has held."""
    return field_mb(Path(f"/proc/{pid}/status"), "VmHWM")


def driver_peaks() -> dict[str, float]:
    """Return the peaks of this process and of the JVM that it started."""
    java = [pid for pid in _children(os.getpid()) if "java" in _command(pid)]
    return {
        "driver_python_mb": peak_mb(os.getpid()),
        "driver_java_mb": sum(peak_mb(pid) for pid in java),
    }


@contextmanager
def executors_watched(cluster: Cluster) -> Iterator[dict[str, float]]:
    """Yield the peaks so far of the largest executor, its JVM and its Python workers."""
    peaks = {"executor_java_mb": 0.0, "executor_python_mb": 0.0, "executor_mb": 0.0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            for worker in cluster.workers:
                java = _proportional_mb(cluster, EXECUTOR, worker.pid)
                python = _proportional_mb(cluster, PYTHON, worker.pid)
                now = (("java", java), ("python", python))
                for name, value in now:
                    key = f"executor_{name}_mb"
                    peaks[key] = max(peaks[key], value)
                peaks["executor_mb"] = max(peaks["executor_mb"], java + python)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peaks
    finally:
        done.set()
        watcher.join()


def _proportional_mb(cluster: Cluster, mark: str, session: int) -> float:
    """Sum the memory of a worker's processes: shared pages once, pages of files not at all.

    Blocks that Spark has on disk are mapped, and the system may reclaim their pages.
    """
    total = 0.0
    for pid in cluster.processes(mark):
        with suppress(OSError, StopIteration):  # it has ended
            if os.getsid(pid) == session:
                total += field_mb(Path(f"/proc/{pid}/smaps_rollup"), "Pss_Anon")
    return total


def _children(pid: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            after_name = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2]
            if int(after_name.split()[1]) == pid:
                yield int(entry.name)
                yield from _children(int(entry.name))


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8")
    return ""
