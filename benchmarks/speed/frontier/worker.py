"""The fits of a contestant in a process of their own.

A job either tries all settings of a grid on held-out rows, or fits all training rows with one of
them; what has been measured is printed after every fit, so that it remains at the time limit.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.data import DataSet, saved
from benchmarks.race.processes import memory_mb, serve, timed
from benchmarks.race.store import Cell

from .contestants import CONTESTANTS, Contestant
from .sets import held_out

WARM_UP_ROWS, WARM_UP_CLASSES = 300, 3
# A fit that wants more is refused the memory, before the machine starts to swap.
MEMORY_GB = 14


def served(job: Cell) -> Iterator[Cell]:
    """Yield what has been measured so far."""
    limit = MEMORY_GB * 2**30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    warnings.simplefilter("ignore")
    contestant = CONTESTANTS[job["contestant"]]
    data = saved(Path(job["folder"]), job["form"])
    try:
        yield from (chosen if job["grid"] else fitted)(job, contestant, data)
    except (MemoryError, RuntimeError) as error:
        # PyTorch has no error of its own for it.
        if isinstance(error, RuntimeError) and "can't allocate memory" not in str(error):
            raise
        yield {"out_of_memory": True, "memory_gb": MEMORY_GB}


def chosen(job: Cell, contestant: Contestant, data: DataSet) -> Iterator[Cell]:
    """Yield the accuracies of the settings tried so far, on training rows that are held out."""
    fit, validation = held_out(data.X, data.y)
    part = DataSet(data.X[fit], data.y[fit], data.X[validation], data.y[validation])
    found: list[Cell] = []
    for settings in job["grid"]:
        found.append({"settings": settings, **_measured(contestant, settings, part)})
        yield {"tried": found, "rows": len(fit), "validation_rows": len(validation)}


def fitted(job: Cell, contestant: Contestant, data: DataSet) -> Iterator[Cell]:
    """Yield the time of the fit, then accuracy and time of predictions."""
    _warm_up(contestant, job["settings"], data)
    cell: Cell = {"rows": len(data.y), "features": data.X.shape[1], "test_rows": len(data.y_test)}
    cell |= {"classes": len(np.unique(data.y)), "settings": job["settings"]}
    cell["version"] = f"{contestant.package} {metadata.version(contestant.package)}"
    model, rows = _prepared(contestant, job["settings"], data.X, data.y)
    model, wall, cpu = timed(lambda: model.fit(*rows))
    cell |= {"fit_seconds": wall, "cpu_seconds": cpu, "peak_memory_mb": memory_mb("VmHWM")}
    yield cell
    labels, wall, cpu = timed(lambda: model.predict(data.X_test))
    cell |= {"predict_seconds": wall, "predict_cpu_seconds": cpu}
    yield {**cell, "accuracy": float(np.mean(labels == data.y_test))}


def _measured(contestant: Contestant, settings: Cell, part: DataSet) -> Cell:
    began = time.perf_counter()
    model, rows = _prepared(contestant, settings, part.X, part.y)
    found = model.fit(*rows).predict(part.X_test)
    accuracy = float(np.mean(found == part.y_test))
    return {"accuracy": accuracy, "seconds": time.perf_counter() - began}


def _prepared(contestant: Contestant, settings: Cell, X: Any, y: np.ndarray) -> tuple[Any, Any]:
    """Return a model, and the rows in the form that it takes."""
    model = contestant.make({**contestant.fixed, **settings}, len(y))
    prepare = getattr(model, "prepare", None)
    return model, (X, y) if prepare is None else prepare(X, y)


def _warm_up(contestant: Contestant, settings: Cell, data: DataSet) -> None:
    """Fit a few rows: imports, compilers and thread pools are not timed."""
    labels = np.unique(data.y)[:WARM_UP_CLASSES]
    most = WARM_UP_ROWS // len(labels)
    few = np.concatenate([np.flatnonzero(data.y == label)[:most] for label in labels])
    y = np.searchsorted(labels, data.y[few])
    model, rows = _prepared(contestant, settings, data.X[few], y)
    model.fit(*rows).predict(data.X[few[:10]])


if __name__ == "__main__":
    serve(served)
