"""Fits of all classes on a cluster, with its jobs and bytes: the driver."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.race.processes import serve, timed
from benchmarks.speed.spark.sessions import session_on
from benchmarks.speed.spark.watching import Counted, driver_peaks
from widemargin import MulticlassSVMClassifier
from widemargin.engines.spark import SparkEngine

from .cases import rows_of, settings_of

# Seconds of a fit; what it has reached by then counts.
MAX_TIME = 300.0


def train(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a fit took."""
    X, y = rows_of(job["set"], job["quick"])
    few = rows_of(job["set"], True)
    settings = settings_of(job["formulation"], job["C"], job["solver"], job["tol"])
    with (
        tempfile.TemporaryDirectory() as folder,
        session_on(job["master"], Path(folder)) as (session, started),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # a fit that runs out of time says so in its gap
        engine = SparkEngine(session)
        MulticlassSVMClassifier(**{**settings, "max_iter": 2}, engine=engine).fit(*few)
        engine.release()
        counted = Counted(session)
        machine = MulticlassSVMClassifier(**settings, engine=engine, max_time=MAX_TIME)
        model, seconds, _ = timed(lambda: machine.fit(X, y))
        engine.release()
        history, metrics = model.history_, counted.totals()
        yield {
            **started,
            "seconds": seconds,
            "jobs": metrics["queries"],
            "shuffled_mb": metrics["shuffled_mb"],
            "to_python_mb": metrics["to_python_mb"],
            "iterations": int(model.n_iter_),
            "objective": float(history["primal"][-1]),
            "relative_gap": float(model.relative_gap_),
            "solver": model.solver_,
            "moved_mb": float(history.get("bytes_moved", [0])[-1]) / 1e6,
            **driver_peaks(),
        }


if __name__ == "__main__":
    serve(train, cores=False)
