"""Fits of a contestant in a process of their own: ``python -m benchmarks.speed.multiclass.worker``.

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

from benchmarks import multiclass_machines
from benchmarks.speed.linear.adapters import Adapter
from benchmarks.speed.linear.worker import GROWTH, WARM_UP_ROWS, finite
from benchmarks.speed.stopwatch import limit_cores, memory_mb, timed

from .adapters import ADAPTERS, CONSTANT
from .cases import TEST, TRAINING, saved_part
from .objective import dual, primal

Job = dict[str, Any]


def main() -> None:
    limit_cores()
    for result in climb(json.loads(sys.stdin.read())):
        print(json.dumps(result), flush=True)


def climb(job: Job) -> Iterator[dict[str, Any]]:
    """Yield what has been measured so far, after every fit."""
    began = time.perf_counter()
    X, codes = saved_part(Path(job["folder"]), TRAINING, job["form"])
    adapter = ADAPTERS[job["adapter"]]
    _warm_up(job, adapter, X, codes)
    data = adapter.prepare(X, codes)
    rungs: list[dict[str, Any]] = []
    result = {
        "rows": len(codes),
        "features": X.shape[1],
        "classes": int(codes.max()) + 1,
        "version": f"{adapter.package} {metadata.version(adapter.package)}",
        "rungs": rungs,
    }
    for value in job["ladder"]:
        rungs.append({"value": value, **_fit(job, adapter, data, value, X, codes)})
        reached = job["target"] is not None and rungs[-1]["objective"] <= job["target"]
        result["finished"] = reached or value == job["ladder"][-1]
        yield result
        spent = time.perf_counter() - began
        if result["finished"] or spent + GROWTH * rungs[-1]["seconds"] > job["budget"]:
            return


def _fit(
    job: Job, adapter: Adapter, data: Any, value: float, X: Any, codes: np.ndarray
) -> dict[str, Any]:
    settings = {**job["settings"], job["rung"]: value}
    models: list[Any] = []
    before = memory_mb("VmRSS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, cpu_seconds = timed(
            lambda: models.append(adapter.fit(data, job["formulation"], job["C"], settings))
        )
    peak = memory_mb("VmHWM")
    weights, problem = adapter.weights(models[0]), (job["formulation"], job["C"], CONSTANT)
    rung = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_memory_mb": peak}
    rung["fit_memory_mb"] = max(0.0, peak - before)
    rung["objective"] = finite(primal(weights, X, codes, *problem))
    if hasattr(models[0], "duals"):
        rung["bound"] = dual(models[0].duals, X, codes, *problem)
        rung["own_relative_gap"] = models[0].certificate.relative_gap
    X_test, wanted = saved_part(Path(job["folder"]), TEST, job["form"])
    found = multiclass_machines.predict(weights, X_test, CONSTANT)
    return rung | {
        "error": float(np.mean(found != wanted)),
        "density": multiclass_machines.density(weights),
    }


def _warm_up(job: Job, adapter: Adapter, X: Any, codes: np.ndarray) -> None:
    """Fit a few rows: imports, compilers and thread pools are not timed."""
    few = np.random.default_rng(0).permutation(len(codes))[:WARM_UP_ROWS]
    labels = np.unique(codes[few], return_inverse=True)[1]
    settings = {**job["settings"], job["rung"]: job["ladder"][0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter.fit(adapter.prepare(X[few], labels), job["formulation"], job["C"], settings)


if __name__ == "__main__":
    main()
