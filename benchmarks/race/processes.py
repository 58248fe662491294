"""Workers: a process that reads a job as JSON and prints what it measured, with limits.

A worker prints a line of JSON after each measurement; the last complete line counts, so that what
it has measured remains when its time is over.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
THREADS = 2
LAST_LINES = 5


class FitFailed(RuntimeError):
    """A fit ended with an error."""


def measure(worker: str, job: dict[str, Any], max_time: float) -> dict[str, Any]:
    """Start a worker module; return what it measured, and that it ran out of time if it did."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", worker],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=max_time,
            cwd=PROJECT,
            env=os.environ | thread_limits(),
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""  # bytes, in spite of `text`
        return {**_last_line(printed.decode()), "out_of_time": True, "max_time": max_time}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()[-LAST_LINES:]
        raise FitFailed("\n".join([f"the fit ended with status {done.returncode}:", *lines]))
    return _last_line(done.stdout)


def serve(work: Callable[[dict[str, Any]], Iterable[dict[str, Any]]], cores: bool = True) -> None:
    """Read a job from standard input and print each of its results: the main of a worker."""
    if cores:
        limit_cores()
    for result in work(json.loads(sys.stdin.read())):
        print(json.dumps(result), flush=True)


def _last_line(printed: str) -> dict[str, Any]:
    complete = [line for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    result: dict[str, Any] = json.loads(complete[-1]) if complete else {}
    return result


def thread_limits() -> dict[str, str]:
    """Return the environment that limits OpenMP and the linear algebra libraries."""
    names = ("OMP", "OPENBLAS", "MKL")
    return {f"{name}_NUM_THREADS": str(THREADS) for name in names}


def limit_cores() -> None:
    """Keep this process to two cores, for libraries that count cores instead of asking."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


@contextmanager
def noted(failures: list[str], what: str) -> Iterator[None]:
    """Note that a fit failed and continue, so that the others are still measured."""
    try:
        yield
    except FitFailed as error:
        failures.append(f"{what}: {error}")
        print(failures[-1], flush=True)


def timed(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what an action returns, its wall seconds and the CPU seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def memory_mb(field: str) -> float:
    """Return the memory of this process alone: VmRSS is the present value, VmHWM the peak.

    ``ru_maxrss``, which starts with the peak of the parent, is used where there is no /proc.
    """
    status = Path("/proc/self/status")
    return field_mb(status, field) if status.exists() else peak_mb()


def forget_peak() -> None:
    """Let VmHWM begin anew, so that it does not show what was used before; nothing elsewhere."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5", encoding="ascii")


def field_mb(path: Path, name: str) -> float:
    """Read a field of kilobytes from a file of /proc."""
    lines = path.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def peak_mb() -> float:
    """Return the peak memory of this process or of its parent before it started."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)
