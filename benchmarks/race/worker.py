"""The fits of a contestant in a process of their own: ``python -m benchmarks.race.worker``.

Fits with one value of the job's ladder after the other, until the score reaches the job's target or
the time does not allow another fit; prints what was measured after each. The memory of a process of
its own is that of the fit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from .data import DataSet, saved
from .processes import memory_mb, serve, timed
from .store import Cell

WARM_UP_ROWS, WARM_UP_CLASSES = 200, 20
# The next value of a ladder is expected to take this many times as long.
GROWTH = 1.5


def climb(job: Cell) -> Iterator[Cell]:
    """Yield what has been measured so far, after every fit."""
    began = time.perf_counter()
    race = import_module(job["race"]).RACE
    library = race.libraries[job["library"]]
    data = saved(Path(job["folder"]), job["form"])
    _warm_up(job, library, data)
    rows, prepared, _ = timed(lambda: library.prepare(data.X, data.y))
    rungs: list[Cell] = []
    result: Cell = {"rows": len(data.y), "features": data.X.shape[1], "prepare_seconds": prepared}
    if data.y_test is not None:
        result["test_rows"] = len(data.y_test)
    result["classes"] = len(np.unique(data.y))
    result["version"] = f"{library.package} {metadata.version(library.package)}"
    for value in job["ladder"]:
        settings = {**job["settings"], job["rung"]: value}
        before = memory_mb("VmRSS")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers warn that max_iter was too small, as intended
            model, wall, cpu = timed(lambda: library.fit(rows, job["problem"], settings))  # noqa: B023
        peak = memory_mb("VmHWM")
        rung = {"value": value, "seconds": wall, "cpu_seconds": cpu, "peak_memory_mb": peak}
        rung["fit_memory_mb"] = max(0.0, peak - before)
        rungs.append(rung | race.score(job, model, data))
        reached = job["target"] is not None and rungs[-1][job["target"][0]] <= job["target"][1]
        result |= {"rungs": rungs, "finished": reached or value == job["ladder"][-1]}
        yield result
        if result["finished"] or time.perf_counter() - began + GROWTH * wall > job["budget"]:
            return


def _warm_up(job: Cell, library: Any, data: DataSet) -> None:
    """Fit a few rows of each class: imports, compilers and thread pools are not timed."""
    labels = np.unique(data.y)[:WARM_UP_CLASSES]
    most = WARM_UP_ROWS // len(labels)
    few = np.concatenate([np.flatnonzero(data.y == label)[:most] for label in labels])
    y = data.y[few] if len(labels) == 2 else np.searchsorted(labels, data.y[few])
    settings = {**job["settings"], job["rung"]: job["ladder"][0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = library.prepare(data.X[few], y)
        model = library.fit(rows, job["problem"], settings)
        if hasattr(model, "predict"):
            model.predict(rows[0])  # with the constant column, where a library gets one


if __name__ == "__main__":
    serve(climb)
