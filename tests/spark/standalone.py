"""A real Spark cluster on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

SECONDS_TO_START = 60


@dataclass
class Cluster:
    """A running cluster."""

    url: str
    folder: Path
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self, memory: str = "2g") -> None:
        """Start one more worker of one core."""
        name = f"worker-{len(self.workers)}"
        self.workers.append(
            _start(
                self.folder,
                name,
                "org.apache.spark.deploy.worker.Worker",
                [
                    *("--cores", "1", "--memory", memory, "--webui-port", "0"),
                    *("--work-dir", str(self.folder / name), self.url),
                ],
            )
        )

    def processes(self, mark: str) -> list[int]:
        """Return those of the workers and what they started whose command has a mark in it."""
        sessions = {worker.pid for worker in self.workers}
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):  # no process, or gone meanwhile
                if os.getsid(int(entry.name)) in sessions:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if mark in command:
                        found.append(int(entry.name))
        return sorted(found)


@contextmanager
def standalone(folder: Path, workers: int = 2, memory: str = "2g") -> Iterator[Cluster]:
    """Start a cluster, and end all of its processes."""
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    master = _start(folder, "master", "org.apache.spark.deploy.master.Master", arguments)
    cluster = Cluster(url, folder, master)
    try:
        _wait_for(port)
        for _ in range(workers):
            cluster.add_worker(memory)
        yield cluster
    finally:
        for process in [*cluster.workers, master]:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(folder: Path, name: str, main: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), main, *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_DIRS": str(folder),
            },
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"no master on port {port} after {SECONDS_TO_START} s")
