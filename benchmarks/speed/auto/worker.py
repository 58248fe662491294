"""One fit in a process of its own: ``python -m benchmarks.speed.auto.worker``."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
from joblib.externals.loky import get_reusable_executor
from sklearn.metrics import log_loss

from benchmarks.race.data import saved
from benchmarks.race.processes import serve
from benchmarks.race.store import Cell

from .contestants import CONTESTANTS

WARM_UP_ROWS = 60


def measured(job: Cell) -> Iterator[Cell]:
    """Yield accuracy, log loss and seconds of a contestant."""
    contestant = CONTESTANTS[job["contestant"]]
    data = saved(Path(job["folder"]), job["form"])
    warnings.simplefilter("ignore")
    # Imports, thread pools and worker processes are not timed.
    contestant.make(data.X).fit(data.X[:WARM_UP_ROWS], np.arange(WARM_UP_ROWS) % 2)
    model = contestant.make(data.X)
    began, before = time.perf_counter(), os.times()
    model.fit(data.X, data.y)
    wall = time.perf_counter() - began
    get_reusable_executor().shutdown(wait=True)  # the time of workers counts once they have ended
    cell: Cell = {"fit_seconds": wall, "cpu_seconds": sum(os.times()[:4]) - sum(before[:4])}
    began = time.perf_counter()
    predicted = model.predict(data.X_test)
    cell["predict_seconds"] = time.perf_counter() - began
    cell["accuracy"] = float(np.mean(predicted == data.y_test))
    cell["rows"], cell["features"] = data.X.shape
    cell["classes"], cell["test_rows"] = len(np.unique(data.y)), len(data.y_test)
    cell["version"] = f"{contestant.package} {metadata.version(contestant.package)}"
    if hasattr(model, "predict_proba"):
        cell["log_loss"] = float(log_loss(data.y_test, model.predict_proba(data.X_test)))
    if job["contestant"] == "auto":
        board = model.leaderboard_
        cell["chosen"] = str(board["name"][0])
        cell["validation_score"] = float(model.best_score_)
        cell["tried"] = len(board["rank"])
    yield cell


if __name__ == "__main__":
    serve(measured)
