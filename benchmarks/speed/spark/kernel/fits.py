"""SODM and DC-SVM on one set and one engine: a worker."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.data import DataSet, random_split, whole_set
from benchmarks.race.processes import serve
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.sessions import session_on
from benchmarks.speed.spark.watching import (
    WORKING,
    Counted,
    driver_peaks,
    reading_seconds,
    totals,
    transfer_seconds,
    verbs_timed,
)
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier
from widemargin.engines import LocalEngine

TEST_ROWS, QUICK_ROWS = 2_000, 3_000
SODM, DC = "SODM", "DC-SVM"


@dataclass(frozen=True)
class Case:
    """A set, divided once and stopped at the leaves.

    Attributes
    ----------
    C, gamma : float
        Parameters of the machine; features are in [0, 1].
    parts, clusters : int
        Leaves of SODM and of DC-SVM.
    sample : int
        Rows that clusters are found on.
    """

    C: float
    gamma: float
    parts: int
    clusters: int
    sample: int


CASES = {
    "cod-rna": Case(32.0, 4.0, 40, 32, 256),
    "ijcnn1": Case(32.0, 2.0, 36, 32, 256),
    "covtype_binary": Case(32.0, 32.0, 256, 256, 1000),
}


def split_of(name: str, quick: bool) -> DataSet:
    """Return training rows, float32, and a few test rows."""
    split = random_split(*whole_set(name, QUICK_ROWS if quick else None), 0)
    some = slice(0, TEST_ROWS)
    X, X_test = (np.asarray(X, dtype=np.float32) for X in (split.X, split.X_test))
    return DataSet(X, split.y, X_test[some], split.y_test[some])


def local_machine(method: str, case: Case) -> Any:
    """Return the estimator for arrays."""
    common = {"C": case.C, "gamma": case.gamma, "random_state": 0, "n_jobs": 2}
    if method == SODM:
        return ODMClassifier(strategy=Stratified(1, case.parts, 1), **common)
    return SVMClassifier(strategy=Clustered(1, case.clusters, 1, n_sample=case.sample), **common)


def spark_machine(method: str, case: Case) -> Any:
    """Return the estimator for DataFrames, with the same settings."""
    from widemargin.spark import SparkODMClassifier, SparkSVMClassifier

    common = {"C": case.C, "gamma": case.gamma, "seed": 0, "levels": 1, "stopLevel": 1}
    common["maxModelRows"] = 1_000_000  # small rows: the driver has room
    if method == SODM:
        return SparkODMClassifier(strategy="sodm", fanIn=case.parts, **common)
    return SparkSVMClassifier(strategy="dc", fanIn=case.clusters, nSample=case.sample, **common)


METHODS = (SODM, DC)
WARM_UP_ROWS, WARM_UP_PARTS = 1_000, 4


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


def _on_arrays(job: dict[str, Any], split: DataSet, result: dict[str, Any]) -> Iterator[Any]:
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
    job: dict[str, Any], session: Any, folder: Path, split: DataSet, result: dict[str, Any]
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
    split: DataSet,
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
    """Return the case with parts for a few rows, for a warm-up."""
    return replace(CASES[job["case"]], parts=WARM_UP_PARTS, clusters=WARM_UP_PARTS)


if __name__ == "__main__":
    serve(train, cores=False)
