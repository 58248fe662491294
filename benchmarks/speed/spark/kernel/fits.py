"""The methods on one set and one engine: ``python -m`` this module reads a job."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.preparation import Split
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.metrics import Counted
from benchmarks.speed.spark.processes import driver_peaks
from benchmarks.speed.spark.sessions import session_on
from benchmarks.speed.spark.transport import reading_seconds, transfer_seconds
from benchmarks.speed.spark.verbs import WORKING, totals, verbs_timed
from widemargin.engines import LocalEngine

from .cases import CASES, DC, SODM, local_machine, spark_machine, split_of

METHODS = (SODM, DC)
WARM_UP_ROWS, WARM_UP_PARTS = 1_000, 4


def main() -> None:
    for result in train(json.loads(sys.stdin.read())):
        print(json.dumps(result), flush=True)


def train(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what has been measured so far, after every fit."""
    split = split_of(job["case"], job["quick"])
    result: dict[str, Any] = {"rows": len(split.y), "features": split.X.shape[1], "fits": {}}
    if job["master"] is None:
        yield from _on_arrays(job, split, result)
        return
    result["version"] = f"pyspark {metadata.version('pyspark')}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet.write_arrays(split.X, split.y, folder / "rows")
        parquet.write_arrays(split.X[:WARM_UP_ROWS], split.y[:WARM_UP_ROWS], folder / "few")
        with session_on(job["master"], folder) as (session, started):
            result |= started
            yield from _on_frames(job, session, folder, split, result)


def _on_arrays(job: dict[str, Any], split: Split, result: dict[str, Any]) -> Iterator[Any]:
    few = slice(0, WARM_UP_ROWS)
    for method in METHODS:
        _fit(local_machine(method, _small(job)), split.X[few], split.y[few])
    for _ in range(job["repeats"]):
        for method in METHODS:
            machine = local_machine(method, CASES[job["case"]])

            def fit(machine: Any = machine) -> Any:
                return _fit(machine, split.X, split.y)

            watched = verbs_timed(LocalEngine, WORKING)
            _measure(result, method, fit, watched, lambda model: model, split)
            yield result


def _on_frames(
    job: dict[str, Any], session: Any, folder: Path, split: Split, result: dict[str, Any]
) -> Iterator[Any]:
    frame = session.read.parquet(str(folder / "rows"))
    result["read_seconds"] = reading_seconds(frame)
    result["transfer_seconds"] = transfer_seconds(frame)
    for method in METHODS:
        _fit(spark_machine(method, _small(job)), session.read.parquet(str(folder / "few")))
    for _ in range(job["repeats"]):
        for method in METHODS:
            counted = Counted(session)
            machine = spark_machine(method, CASES[job["case"]])

            def fit(machine: Any = machine) -> Any:
                return _fit(machine, frame)

            found = _measure(
                result, method, fit, verbs_timed(), lambda model: model.toLocal(), split
            )
            found["counted"] = counted.totals()
            result |= driver_peaks()
            yield result


def _measure(
    result: dict[str, Any],
    method: str,
    fit: Callable[[], Any],
    watched: AbstractContextManager[dict[str, list[float]]],
    local_of: Callable[[Any], Any],
    split: Split,
) -> dict[str, Any]:
    with watched as seconds:
        began = time.perf_counter()
        model = fit()
        found: dict[str, Any] = {"seconds": time.perf_counter() - began, "verbs": totals(seconds)}
    local = local_of(model)
    positive = local.decision_function(split.X_test) > 0
    found["accuracy"] = float(np.mean(positive == (split.y_test == split.y_test.max())))
    found["predicted"] = np.packbits(positive).tobytes().hex()
    found["objective"] = float(local.history_["objective"][-1])
    found["support"] = len(local.support_)
    result["fits"].setdefault(method, []).append(found)
    return found


def _fit(machine: Any, *rows: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that parts of the few rows of a warm-up are small
        return machine.fit(*rows)


def _small(job: dict[str, Any]) -> Any:
    """Return the case with parts for a few rows, to load what is loaded late."""
    return replace(CASES[job["case"]], parts=WARM_UP_PARTS, clusters=WARM_UP_PARTS)


if __name__ == "__main__":
    main()
