"""One fit in a process of its own: ``python -m benchmarks.speed.exact.worker``.

Reads a job as JSON from standard input and writes what was measured as the last line of standard
output. A process of its own makes the peak of its memory that of the fit.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.speed.measuring import THREADS
from benchmarks.speed.stopwatch import limit_cores, memory_mb, timed

from . import cases
from .binary_problems import problems_of
from .contestants import PEERS, estimator
from .scoring import loss_of, score

WARM_UP_ROWS, CURVE_POINTS = 200, 100


def main() -> None:
    limit_cores()
    print(json.dumps(measure(json.loads(sys.stdin.read()))))


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Fit, predict, and score if asked to."""
    X, y, X_test, y_test = cases.saved(Path(job["folder"]), job["format"])
    _warm_up(job, X)
    model = estimator(job["family"], job["settings"])
    before = memory_mb("VmRSS")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = timed(lambda: model.fit(X, y))
    peak = memory_mb("VmHWM")
    if job["family"] == "intelex" and not hasattr(model, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex fell back to scikit-learn's SVC.")
    labels: list[np.ndarray] = []
    predict = timed(lambda: labels.append(model.predict(X_test)))
    cell: dict[str, Any] = {
        "fit_seconds": fit[0],
        "fit_cpu_seconds": fit[1],
        "predict_seconds": predict[0],
        "predict_cpu_seconds": predict[1],
        "peak_memory_mb": peak,
        "fit_memory_mb": peak - before,
        "accuracy": float(np.mean(labels[0] == y_test)),
        "rows": len(y),
        "features": X.shape[1],
        "test_rows": len(y_test),
        "warnings": sorted({str(each.message) for each in caught}),
        "version": version_of(job["family"]),
    }
    if job["loss"] is not None:
        cell["support_vectors"] = len(model.support_)
        if job["scored"]:
            gaps = _gaps(model, job, X, y)
            cell.update(relative_gap=max(gaps), problems=len(gaps))
            if job["family"] in ("svm", "odm") and len(gaps) == 1:
                cell["history"] = _thinned(model.history_)
    return cell


def _gaps(model: Any, job: dict[str, Any], X: Any, y: np.ndarray) -> list[float]:
    settings = job["settings"]
    loss = loss_of(job["loss"], settings["C"])
    return [
        score(problem, loss, X[problem.rows], settings["gamma"], THREADS).relative_gap
        for problem in problems_of(model, y)
    ]


def _warm_up(job: dict[str, Any], X: Any) -> None:
    """Fit and predict noise of the same kind: imports and thread pools are not what is timed."""
    random = np.random.default_rng(0)
    noise: Any = random.random((WARM_UP_ROWS, X.shape[1]), dtype=np.float32)
    if sp.issparse(X):
        noise = sp.csr_matrix(noise)
    labels = random.integers(0, 2, WARM_UP_ROWS)
    estimator(job["family"], job["settings"]).fit(noise, labels).predict(noise)


def _thinned(history: dict[str, np.ndarray]) -> dict[str, list[float]]:
    count = len(history["seconds"])
    kept = np.unique(np.linspace(0, count - 1, min(count, CURVE_POINTS)).astype(int))
    return {name: history[name][kept].tolist() for name in ("seconds", "relative_gap", "passes")}


def version_of(family: str) -> str:
    """Name the package that was measured, with its version."""
    ours = "scikit-learn" if family == "svc" else "widemargin"
    package = PEERS[family][1] if family in PEERS else ours
    return f"{package} {metadata.version(package)}"


if __name__ == "__main__":
    main()
