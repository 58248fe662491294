"""What a worker measures of itself: seconds, CPU seconds, memory; on two cores."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from .measuring import THREADS


def limit_cores() -> None:
    """Keep to two cores, for those who count cores instead of asking."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return wall seconds and the CPU seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def memory_mb(field: str) -> float:
    """Return what the kernel counts for this process alone: VmRSS is now, VmHWM the peak.

    Not ``ru_maxrss``, which begins with the peak of the parent; it is all there is elsewhere.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)
