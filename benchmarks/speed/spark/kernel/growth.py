"""What a fit on Spark takes as rows grow, in parts of one size: the driver of a cluster.

A fit has a process and a cluster of its own, so that its peaks are its own. Models are not
compressed: that takes the same whatever the number of rows (:mod:`..ten_million`).
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.race.processes import serve
from benchmarks.speed.large_sets import LAM, PART_ROWS
from benchmarks.speed.spark.sessions import session_on
from benchmarks.speed.spark.watching import Counted, counted_jobs, driver_peaks

from .fits import DC, SODM

GAMMA, FEATURES = 0.05, 18
METHODS = (SODM, DC)
ROWS, QUICK_ROWS = (100_000, 1_000_000, 4_000_000), (8_000, 20_000)


def machine(method: str, rows: int) -> tuple[Any, int]:
    """Return a classifier whose leaves have about ``PART_ROWS`` rows, and their number."""
    from widemargin.spark import SparkODMClassifier, SparkSVMClassifier

    fan_in = max(2, round((rows / PART_ROWS) ** 0.5))
    levels: dict[str, Any] = {"levels": 2, "fanIn": fan_in, "stopLevel": 2, "gamma": GAMMA}
    levels["compressTo"] = 0
    if method == SODM:
        return SparkODMClassifier(strategy="sodm", lam=LAM, **levels), fan_in**2
    return SparkSVMClassifier(strategy="dc", C=1.0, **levels), fan_in**2


def train(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what one fit took."""
    with (
        tempfile.TemporaryDirectory() as name,
        session_on(job["master"], Path(name)) as (session, started),
    ):
        frame = session.read.parquet(job["folder"]).select("features", "label")
        classifier, parts = machine(job["method"], job["rows"])
        before, counted, jobs = driver_peaks(), Counted(session), counted_jobs(session)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that parts of a quick run are small
            model = classifier.fit(frame)
        result = {
            **started,
            "rows": job["rows"],
            "parts": parts,
            "seconds": time.perf_counter() - began,
            "support": model.numSupportVectors,
            "counted": counted.totals(),
            **{name: after - jobs[name] for name, after in counted_jobs(session).items()},
            **driver_peaks(),
            **{f"{name}_before": value for name, value in before.items()},
        }
        yield result


if __name__ == "__main__":
    serve(train, cores=False)
