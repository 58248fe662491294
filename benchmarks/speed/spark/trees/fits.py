"""All classifiers on the rows of one rule, in one session: a worker."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.race.processes import THREADS, serve
from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.sessions import LOCAL, session_on

from .rules import RULES

WARM_UP_ROWS = 2_000


def compare(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what has been measured so far, after every fit."""
    rule, features = RULES[job["rule"]], job["features"]
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the set is divided
        folder = Path(name)
        for part, rows, number in (
            ("rows", job["rows"], 1),
            ("few", WARM_UP_ROWS, 2),
            ("test", job["test_rows"], 3),
        ):
            parquet.write_arrays(*rule(rows, number, features), folder / part)
        with session_on(LOCAL, folder) as (session, started):
            cell: dict[str, Any] = {**started, "fits": {}}
            frames = {part: vectors(session, folder / part) for part in ("rows", "few", "test")}
            for kind, made in contestants().items():
                made().fit(frames["few"])
                found = [measured(made, frames) for _ in range(job["repeats"])]
                cell["fits"][kind] = {key: median(each[key] for each in found) for key in found[0]}
                yield cell


def vectors(session: Any, folder: Path) -> Any:
    """Read rows as the vectors that MLlib's trees ask for, and keep them."""
    from pyspark.ml.functions import array_to_vector

    frame = session.read.parquet(str(folder))
    kept = frame.withColumn("features", array_to_vector("features")).repartition(THREADS).cache()
    kept.count()
    return kept


def contestants() -> dict[str, Callable[[], Any]]:
    """Return what makes each classifier, by its name in the table."""
    from pyspark.ml.classification import GBTClassifier

    from widemargin.spark import SparkLinearSVMClassifier, SparkODMClassifier, SparkSVMClassifier

    made: dict[str, Callable[[], Any]] = {}
    if find_spec("xgboost"):
        from xgboost.spark import SparkXGBClassifier

        made["xgboost.spark, defaults"] = lambda: SparkXGBClassifier(num_workers=THREADS)
        made["xgboost.spark, 500 trees of depth 8"] = lambda: SparkXGBClassifier(
            num_workers=THREADS, n_estimators=500, max_depth=8, learning_rate=0.1
        )
    made["GBTClassifier, defaults"] = lambda: GBTClassifier(seed=0)
    made["GBTClassifier, 60 trees of depth 7"] = lambda: GBTClassifier(
        seed=0, maxIter=60, maxDepth=7
    )
    made["SparkSVMClassifier, defaults (DC)"] = lambda: SparkSVMClassifier(seed=0)
    made["SparkSVMClassifier, C = 10 (DC)"] = lambda: SparkSVMClassifier(seed=0, C=10.0)
    made["SparkODMClassifier, defaults (DC)"] = lambda: SparkODMClassifier(seed=0)
    made["SparkLinearSVMClassifier"] = lambda: SparkLinearSVMClassifier(seed=0)
    # As many parts as DC has clusters of 500,000 rows, and a level further.
    for stop, parts in ((3, 64), (2, 16)):
        made[f"SparkODMClassifier, SODM, {parts} parts"] = partial(
            SparkODMClassifier, seed=0, strategy="sodm", levels=3, stopLevel=stop
        )
    return made


def measured(made: Callable[[], Any], frames: dict[str, Any]) -> dict[str, float]:
    """Fit once, and score the test rows."""
    began = time.perf_counter()
    model = made().fit(frames["rows"])
    fitted = time.perf_counter()
    scored = model.transform(frames["test"])
    right = scored.where("label = prediction").count() / frames["test"].count()
    return {
        "fit_seconds": fitted - began,
        "predict_seconds": time.perf_counter() - fitted,
        "accuracy": right,
    }


if __name__ == "__main__":
    serve(compare)
