"""Linear ODM on millions of rows from Parquet: the driver of a cluster."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.race.objective import objective
from benchmarks.race.processes import serve
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.sessions import session_on
from benchmarks.speed.spark.watching import (
    driver_peaks,
    empty_pass_seconds,
    reading_seconds,
    totals,
    transfer_seconds,
    verbs_timed,
)
from widemargin import LinearODMClassifier

LABEL = "linear_label"
SOLVERS = ("newton", "dsvrg")
TEST_ROWS = 100_000
# Seconds of a fit; it warns when it has not converged by then.
MAX_TIME = 240.0


def train(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what has been measured so far, after every step."""
    fits: dict[str, dict[str, Any]] = {}
    result: dict[str, Any] = {"rows": job["rows"], "fits": fits}
    models: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        session_on(job["master"], Path(folder)) as (session, started),
    ):
        result |= started
        frame = session.read.parquet(job["folder"]).select("features", LABEL)
        result["read_seconds"] = reading_seconds(frame)
        result["transfer_seconds"] = transfer_seconds(frame)
        result["pass_seconds"] = empty_pass_seconds(frame, LABEL)
        yield result
        for solver in SOLVERS:
            models[solver], fits[solver] = _fit(frame, solver)
            result |= driver_peaks()
            yield result
    # With all rows in one process, once the driver's memory has been read.
    X, y = _all_rows(Path(job["folder"]))
    began = time.perf_counter()
    models["local"] = LinearODMClassifier(n_jobs=2).fit(X, y)
    fits["local"] = {"seconds": time.perf_counter() - began, **_scores(models["local"])}
    for name, model in models.items():
        w = np.append(model.coef_, model.intercept_)
        fits[name]["objective"] = objective(w, X, np.where(y > 0, 1, -1), "odm", model.C)
    result["finished"] = True
    yield result


def _fit(frame: Any, solver: str) -> tuple[Any, dict[str, Any]]:
    from widemargin.spark import SparkLinearODMClassifier

    classifier = SparkLinearODMClassifier(labelCol=LABEL, solver=solver, maxTime=MAX_TIME)
    with verbs_timed() as seconds:
        began = time.perf_counter()
        model = classifier.fit(frame).toLocal()
        spent = time.perf_counter() - began
    return model, {"seconds": spent, "verbs": totals(seconds), **_scores(model)}


def _all_rows(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(folder, columns=["features", LABEL])
    y = table[LABEL].to_numpy()
    return table["features"].combine_chunks().values.to_numpy().reshape(len(y), -1), y


def _scores(model: Any) -> dict[str, float]:
    X, _, y = parquet.held_out(TEST_ROWS)
    right = (model.decision_function(X) > 0) == (y > 0)
    return {"accuracy": float(right.mean()), "relative_gap": float(model.relative_gap_)}


if __name__ == "__main__":
    serve(train, cores=False)
