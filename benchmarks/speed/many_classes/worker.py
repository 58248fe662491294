"""One fit in a process of its own: ``python -m benchmarks.speed.many_classes.worker``."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.race.data import TF_IDF, DataSet, load
from benchmarks.race.generated import topics
from benchmarks.race.processes import memory_mb, serve, timed
from benchmarks.race.store import Cell
from widemargin import MulticlassSVMClassifier, load_model

ROWS, FEATURES, CLASSES, TEST_ROWS = 128_710, 381_581, 12_294, 5_000
# Natural logarithm of a text's length: a row of LSHTC's shape stores about a hundred words.
LENGTH_MEAN = 4.6
QUICK_SHARE, QUICK_ROWS, QUICK_CLASSES = 400, 300, 12
WARM_UP_ROWS = 200


def rows_of(name: str, quick: bool) -> DataSet:
    """Generate a set, or read it."""
    if name.startswith("lshtc"):
        part = QUICK_SHARE if quick else int(name.partition("_")[2] or 1)
        return topics(
            CLASSES // part, ROWS // part, TEST_ROWS, FEATURES // part, length_mean=LENGTH_MEAN
        )
    data = load(name)
    data = data.few(QUICK_ROWS, QUICK_CLASSES) if quick else data
    return data.scaled(TF_IDF) if name == "clinc150" else data


def fit(job: Cell) -> Iterator[Cell]:
    """Yield what was measured of a fit, and then of what follows it."""
    data = rows_of(job["set"], job["quick"])
    model = MulticlassSVMClassifier(
        job["formulation"], C=job["C"], fit_intercept=job["intercept"], tol=job["tol"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the outcome is part of what is measured
        few = data.few(WARM_UP_ROWS, 20)
        type(model)(**model.get_params()).fit(few.X, few.y)
        before = memory_mb("VmRSS")
        _, wall, cpu = timed(lambda: model.fit(data.X, data.y))
    result: Cell = {
        "rows": len(data.y),
        "features": data.X.shape[1],
        "classes": len(model.classes_),
        "stored": int(data.X.nnz),
        "largest_class": int(np.bincount(data.y).max()),
        "fit_seconds": wall,
        "cpu_seconds": cpu,
        "rows_memory_mb": before,
        "peak_memory_mb": memory_mb("VmHWM"),
        "relative_gap": float(model.relative_gap_),
        "converged": bool(model.converged_),
        "epochs": int(model.n_iter_),
        "solver": model.solver_,
        "density": float(model.density_),
    }
    yield result
    predicted, spent, _ = timed(lambda: model.predict(data.X_test))
    result |= {"accuracy": float(np.mean(predicted == data.y_test)), "predict_seconds": spent}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.wm"
        model.save(path)
        result["file_mb"] = os.path.getsize(path) / 1e6
        again = load_model(path).predict(data.X_test[:100])
        result["file_predicts_the_same"] = bool(np.array_equal(again, predicted[:100]))
    yield result | {"peak_memory_with_prediction_mb": memory_mb("VmHWM")}


if __name__ == "__main__":
    serve(fit)
