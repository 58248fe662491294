"""The fits of a contestant in a process of their own: ``python -m benchmarks.speed.linear.worker``.

Reads a job as JSON from standard input; fits with one value of its ladder after the other, until
the objective is at most the job's target or the time does not allow another; prints what was
measured as a line of JSON after each fit.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.stopwatch import limit_cores, memory_mb, timed

from . import cases
from .adapters import ADAPTERS, Adapter
from .objective import objective

WARM_UP_ROWS = 200
# The next value of a ladder is expected to take this many times as long.
GROWTH = 1.5


def main() -> None:
    limit_cores()
    for result in climb(json.loads(sys.stdin.read())):
        print(json.dumps(result), flush=True)


def climb(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what has been measured so far, after every fit."""
    began = time.perf_counter()
    X, y = cases.saved(Path(job["folder"]), job["form"])
    adapter = ADAPTERS[job["adapter"]]
    _warm_up(job, adapter, X, y)
    data: list[Any] = []
    prepared, _ = timed(lambda: data.append(adapter.prepare(X, y)))
    rungs: list[dict[str, Any]] = []
    result = {
        "rows": len(y),
        "features": X.shape[1],
        "prepare_seconds": prepared,
        "version": f"{adapter.package} {metadata.version(adapter.package)}",
        "rungs": rungs,
    }
    for value in job["ladder"]:
        rungs.append({"value": value, **_fit(job, adapter, data[0], value, X, y)})
        reached = job["target"] is not None and rungs[-1]["objective"] <= job["target"]
        result["finished"] = reached or value == job["ladder"][-1]
        yield result
        spent = time.perf_counter() - began
        if result["finished"] or spent + GROWTH * rungs[-1]["seconds"] > job["budget"]:
            return


def _fit(
    job: dict[str, Any], adapter: Adapter, data: Any, value: float, X: Any, y: np.ndarray
) -> dict[str, Any]:
    settings = {**job["settings"], job["rung"]: value}
    models: list[Any] = []
    before = memory_mb("VmRSS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn that max_iter was too small, as is meant
        seconds, cpu_seconds = timed(
            lambda: models.append(adapter.fit(data, job["loss"], job["C"], settings))
        )
    reached = objective(adapter.weights(models[0]), X, y, job["loss"], job["C"])
    rung = {"seconds": seconds, "cpu_seconds": cpu_seconds, "objective": finite(reached)}
    rung["fit_memory_mb"] = max(0.0, memory_mb("VmHWM") - before)
    for name in ("solver_", "relative_gap_"):
        if hasattr(models[0], name):
            rung[name.rstrip("_")] = getattr(models[0], name)
    return rung


def finite(value: float) -> float:
    """Return the largest number instead of infinity, which JSON does not have."""
    return value if np.isfinite(value) else sys.float_info.max


def _warm_up(job: dict[str, Any], adapter: Adapter, X: Any, y: np.ndarray) -> None:
    """Fit a few rows of both classes: imports, compilers and thread pools are not timed."""
    half = WARM_UP_ROWS // 2
    few = np.concatenate([np.flatnonzero(y == side)[:half] for side in (1, -1)])
    settings = {**job["settings"], job["rung"]: job["ladder"][0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter.fit(adapter.prepare(X[few], y[few]), job["loss"], job["C"], settings)


if __name__ == "__main__":
    main()
