"""SODM on millions of rows from Parquet, stopped at the leaves: the driver of a cluster."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.race.processes import serve
from benchmarks.speed.large_sets import LAM, PART_ROWS
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.sessions import session_on
from benchmarks.speed.spark.watching import (
    Counted,
    driver_peaks,
    reading_seconds,
    totals,
    transfer_seconds,
    verbs_timed,
)

GAMMA, TEST_ROWS = 0.05, 5_000


def train(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what has been measured so far, after every number of rows."""
    result: dict[str, Any] = {"fits": {}}
    with (
        tempfile.TemporaryDirectory() as name,
        session_on(job["master"], Path(name)) as (session, started),
    ):
        result |= started
        X, y, _ = parquet.held_out(TEST_ROWS)
        test_rows = Path(job["folder"]) / "test"
        parquet.write_arrays(X, y, test_rows)
        test = session.read.parquet(str(test_rows))
        for rows in job["rows"]:
            frame = session.read.parquet(str(Path(job["folder"]) / str(rows)))
            frame = frame.select("features", "label")
            result["fits"][str(rows)] = _fit(session, frame, test, rows)
            result |= driver_peaks()
            yield result
        result["finished"] = True
        yield result


def _fit(session: Any, frame: Any, test: Any, rows: int) -> dict[str, Any]:
    from widemargin.spark import SparkODMClassifier

    found: dict[str, Any] = {"read_seconds": reading_seconds(frame)}
    found["transfer_seconds"] = transfer_seconds(frame)
    fan_in = max(2, round((rows / PART_ROWS) ** 0.5))
    classifier = SparkODMClassifier(
        lam=LAM, gamma=GAMMA, strategy="sodm", levels=2, fanIn=fan_in, stopLevel=2, compressTo=0
    )
    counted = Counted(session)
    with verbs_timed() as seconds:
        began = time.perf_counter()
        model = classifier.fit(frame)
        found["seconds"] = time.perf_counter() - began
    found |= {"verbs": totals(seconds), "counted": counted.totals(), "parts": fan_in**2}
    found["support"] = model.numSupportVectors
    began = time.perf_counter()
    predicted = model.transform(test).select("label", "prediction").collect()
    found["predict_seconds"] = time.perf_counter() - began
    found["accuracy"] = sum(row.label == row.prediction for row in predicted) / len(predicted)
    return found


if __name__ == "__main__":
    serve(train, cores=False)
