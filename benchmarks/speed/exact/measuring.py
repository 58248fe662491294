"""Start a fit in a process of its own, and wait for it as long as it may take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .contestants import THREADS

PROJECT = Path(__file__).parents[3]
WORKER = "benchmarks.speed.exact.worker"
LAST_LINES = 5


class FitFailed(RuntimeError):
    """A fit ended with an error."""


def measure(job: dict[str, Any], max_time: float) -> dict[str, Any]:
    """Return what the worker measured, or that it was given up."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", WORKER],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=max_time,
            cwd=PROJECT,
            env=os.environ | thread_limits(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"out_of_time": True, "max_time": max_time}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()[-LAST_LINES:]
        raise FitFailed("\n".join([f"the fit ended with status {done.returncode}:", *lines]))
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def thread_limits() -> dict[str, str]:
    """Return the environment that limits OpenMP and the linear algebra libraries."""
    names = ("OMP", "OPENBLAS", "MKL")
    return {f"{name}_NUM_THREADS": str(THREADS) for name in names}
