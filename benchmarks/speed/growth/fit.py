"""Worker: fit one model to some rows of covtype, and say what it took."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.data import DataSet, random_split, whole_set
from benchmarks.race.processes import field_mb, serve, timed
from benchmarks.race.store import Cell
from widemargin import Clustered, ODMClassifier, SVMClassifier

C, GAMMA, TOL = 32.0, 32.0, 1e-3
SVM, ODM, SVM_FROM_LEVELS, ODM_FROM_LEVELS = (
    "SVM",
    "ODM",
    "DC-SVM to the root",
    "DC-ODM to the root",
)
KINDS = {SVM: SVMClassifier, ODM: ODMClassifier}
FROM_LEVELS = {SVM_FROM_LEVELS: SVMClassifier, ODM_FROM_LEVELS: ODMClassifier}
STATUS = Path("/proc/self/status")
SECONDS_BETWEEN_LOOKS = 0.05


class AnonymousPeak:
    """The most anonymous memory of this process while a block of code runs, in megabytes."""

    def __enter__(self) -> AnonymousPeak:
        self.before = self.most = field_mb(STATUS, "RssAnon")
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            self.most = max(self.most, field_mb(STATUS, "RssAnon"))

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._watch.join()


def made(kind: str) -> Any:
    """Return the model to fit."""
    if kind in KINDS:
        model, strategy = KINDS[kind], "exact"
    else:
        model, strategy = FROM_LEVELS[kind], Clustered()
    return model(C=C, gamma=GAMMA, tol=TOL, strategy=strategy, random_state=0)


def drawn(rows: int) -> DataSet:
    """Return so many training rows, and all test rows."""
    data = random_split(*whole_set("covtype_binary"), 0)
    if rows < len(data.y):
        some = np.sort(np.random.default_rng(0).permutation(len(data.y))[:rows])
        data = DataSet(data.X[some], data.y[some], data.X_test, data.y_test)
    return data


def fit(job: Cell) -> Iterator[Cell]:
    """Fit, then predict the test rows."""
    data, model = drawn(job["rows"]), made(job["kind"])
    few = slice(0, 300)
    made(job["kind"]).fit(data.X[few], data.y[few])  # imports are not timed
    gc.collect()
    with AnonymousPeak() as memory:
        _, wall, cpu = timed(lambda: model.fit(data.X, data.y))
    result: Cell = {
        "rows": len(data.y),
        "fit_seconds": wall,
        "cpu_seconds": cpu,
        "relative_gap": float(model.relative_gap_),
        "support": len(model.support_),
        "anonymous_mb": memory.most,
        "anonymous_before_mb": memory.before,
    }
    if "passes" in model.history_:
        result["kernel_values"] = float(model.history_["passes"][-1]) * len(data.y) ** 2
    began = time.perf_counter()
    result["accuracy"] = float(np.mean(model.predict(data.X_test) == data.y_test))
    result["predict_seconds"] = time.perf_counter() - began
    result["test_rows"] = len(data.y_test)
    yield result


if __name__ == "__main__":
    serve(fit)
