"""How much memory processes take: the driver's Python and its JVM, and a cluster's executors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .sessions import Cluster

SECONDS_BETWEEN_LOOKS = 0.5
EXECUTOR, PYTHON = "CoarseGrainedExecutorBackend", "pyspark.daemon"


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has held."""
    return _field(Path(f"/proc/{pid}/status"), "VmHWM")


def driver_peaks() -> dict[str, float]:
    """Return the peaks of this process and of the JVM that it started."""
    java = [pid for pid in _children(os.getpid()) if "java" in _command(pid)]
    return {
        "driver_python_mb": peak_mb(os.getpid()),
        "driver_java_mb": sum(peak_mb(pid) for pid in java),
    }


@contextmanager
def executors_watched(cluster: Cluster) -> Iterator[dict[str, float]]:
    """Yield what the largest executor took, its JVM and its Python workers, so far."""
    peaks = {"executor_java_mb": 0.0, "executor_python_mb": 0.0, "executor_mb": 0.0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            for worker in cluster.workers:
                java = _shared_fairly(cluster, EXECUTOR, worker.pid)
                python = _shared_fairly(cluster, PYTHON, worker.pid)
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


def _shared_fairly(cluster: Cluster, mark: str, session: int) -> float:
    """Add up what processes of a worker take: pages of several once, those of files not at all.

    Blocks that Spark has on disk are mapped, and the system may take their pages back any time.
    """
    total = 0.0
    for pid in cluster.processes(mark):
        with suppress(OSError, StopIteration):  # gone meanwhile
            if os.getsid(pid) == session:
                total += _field(Path(f"/proc/{pid}/smaps_rollup"), "Pss_Anon")
    return total


def _field(path: Path, name: str) -> float:
    lines = path.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


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
