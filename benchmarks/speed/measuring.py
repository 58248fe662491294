"""Start a fit in a process of its own, and wait for it as long as it may take.

A worker is a module that reads a job as JSON from standard input and prints what it measured as a
line of JSON; the last line counts. One that has several things to measure prints a line after each,
so that they are kept when its time is over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
THREADS = 2
LAST_LINES = 5


class FitFailed(RuntimeError):
    """A fit ended with an error."""


def measure(worker: str, job: dict[str, Any], max_time: float) -> dict[str, Any]:
    """Return what the worker measured, and that it was given up if it was."""
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
        printed = late.stdout or b""  # bytes, whatever `text` says
        return {**_last_line(printed.decode()), "out_of_time": True, "max_time": max_time}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()[-LAST_LINES:]
        raise FitFailed("\n".join([f"the fit ended with status {done.returncode}:", *lines]))
    return _last_line(done.stdout)


def _last_line(printed: str) -> dict[str, Any]:
    complete = [line for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    result: dict[str, Any] = json.loads(complete[-1]) if complete else {}
    return result


def thread_limits() -> dict[str, str]:
    """Return the environment that limits OpenMP and the linear algebra libraries."""
    names = ("OMP", "OPENBLAS", "MKL")
    return {f"{name}_NUM_THREADS": str(THREADS) for name in names}


@contextmanager
def noted(failures: list[str], what: str) -> Iterator[None]:
    """Note that a fit failed, and go on: one contestant is no reason to lose the others."""
    try:
        yield
    except FitFailed as error:
        failures.append(f"{what}: {error}")
        print(failures[-1], flush=True)
