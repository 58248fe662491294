"""Fits and compressions whose memory is measured, by the growth of a process for each of them."""

from __future__ import annotations

import ctypes
import gc
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import widemargin as wm

ROWS = 12_000
SVM, ODM = wm.SVMClassifier, wm.ODMClassifier
LINEAR_SVM, LINEAR_ODM = wm.LinearSVMClassifier, wm.LinearODMClassifier
STRATIFIED, CLUSTERED = wm.Stratified(2, 2), wm.Clustered(2, 2)


def dense(
    features: int, classes: int = 2, dtype: Any = np.float32, rows: int = ROWS
) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(rows, features)).astype(dtype)
    return X, _labels(X[:, :classes])


def sparse(features: int, classes: int = 2) -> tuple[Any, Any]:
    random, stored = np.random.default_rng(0), 12
    values = random.random(ROWS * stored, dtype=np.float32)
    indptr = np.arange(0, ROWS * stored + 1, stored)
    X = sp.csr_matrix(
        (values, random.integers(features, size=values.size), indptr), (ROWS, features)
    )
    X.sum_duplicates()
    return X, _labels(X[:, :classes].toarray())


def kinds() -> tuple[Any, Any]:
    """Rows of eight kinds, far from each other."""
    random = np.random.default_rng(0)
    kind = np.eye(8, dtype=np.float32)[random.integers(8, size=20_000)]
    X = np.hstack([kind, random.random((20_000, 4), dtype=np.float32)])
    noise = 0.5 * random.normal(size=len(X))
    return X, np.sign(np.sin(9 * X[:, -1]) + np.cos(7 * X[:, -2]) + noise)


def _labels(columns: Any) -> Any:
    """The class of the largest column, or the sign of the first of two; some are wrong."""
    noise = 0.3 * columns.std() * np.random.default_rng(1).normal(size=columns.shape)
    noisy = columns + noise
    if columns.shape[1] > 2:
        return noisy.argmax(axis=1)
    return (noisy.sum(axis=1) > np.median(noisy.sum(axis=1))).astype(int)


@dataclass(frozen=True)
class Case:
    limit: int  # MiB
    rows: Callable[[], tuple[Any, Any]]
    kind: Any
    settings: dict[str, Any] = field(default_factory=dict)
    fills: bool = False  # whether the fit would take far more without a limit
    stream: bool = False  # whether the rows are read from a file
    points: int = 0  # of a compression, which is measured in place of the fit
    with_rows: bool = False  # whether it has the training rows

    def work(self, X: Any, y: Any) -> Callable[[], Any]:
        """Return what is measured."""
        exact = {"strategy": "exact"} if self.kind in (SVM, ODM) else {}
        limits = {"memory_limit": f"{self.limit}MiB", "n_jobs": 2, "random_state": 0}
        model = self.kind(**{**exact, **limits, **self.settings})
        if self.stream:
            return lambda: model.fit_stream(X)
        if not self.points:
            return lambda: model.fit(X, y)
        model.fit(X, y)
        rows = (X, y) if self.with_rows else ()
        return lambda: model.compress(self.points, *rows)


CASES = {
    "SVM": Case(32, lambda: dense(12), SVM, {"gamma": 0.1}),
    "ODM": Case(32, lambda: dense(12), ODM, {"gamma": 0.1}),
    "ODM, float64": Case(32, lambda: dense(12, dtype=np.float64), ODM, {"gamma": 0.1}),
    "ODM, narrow kernel": Case(16, kinds, ODM, {"gamma": 30.0, "C": 10.0}),
    "SVM, kept rows": Case(64, lambda: dense(80), SVM, {"gamma": 0.01}, fills=True),
    "ODM, kept rows": Case(64, lambda: dense(80), ODM, {"gamma": 0.01}, fills=True),
    "SVM, sparse": Case(32, lambda: sparse(400), SVM, {"gamma": 0.5}),
    "ODM, sparse": Case(32, lambda: sparse(400), ODM, {"gamma": 0.5}),
    "SVM, one-vs-rest": Case(
        32, lambda: dense(80, 5), SVM, {"gamma": 0.01, "multi_class": "ovr"}, fills=True
    ),
    "ODM, one-vs-rest": Case(
        32, lambda: dense(12, 5), ODM, {"gamma": 0.1, "multi_class": "ovr"}, fills=True
    ),
    "SVM, all classes": Case(
        32, lambda: dense(80, 5), SVM, {"gamma": 0.01, "multi_class": "ww"}, fills=True
    ),
    "SVM, pairs": Case(32, lambda: dense(12, 3), SVM, {"gamma": 0.1, "multi_class": "ovo"}),
    "ODM, many pairs": Case(
        128, lambda: dense(15, 15), ODM, {"gamma": 0.1, "multi_class": "ovo"}, fills=True
    ),
    "ODM, Newton": Case(32, lambda: dense(12), ODM, {"gamma": 0.1, "solver": "newton"}, fills=True),
    "ODM, coordinates": Case(
        32, lambda: dense(12), ODM, {"gamma": 0.1, "solver": "coordinate"}, fills=True
    ),
    "SSVM": Case(32, lambda: dense(12), SVM, {"gamma": 0.1, "strategy": STRATIFIED}),
    "SODM": Case(32, lambda: dense(12), ODM, {"gamma": 0.1, "strategy": STRATIFIED}),
    "DC-SVM": Case(32, lambda: dense(12), SVM, {"gamma": 0.1, "strategy": CLUSTERED}),
    "DC-ODM": Case(32, lambda: dense(12), ODM, {"gamma": 0.1, "strategy": CLUSTERED}),
    "ODM, compressed": Case(48, lambda: dense(12), ODM, {"gamma": 0.1}, fills=True, points=700),
    "SVM, compressed with rows": Case(
        48, lambda: dense(12), SVM, {"gamma": 0.1}, fills=True, points=700, with_rows=True
    ),
    "SODM, compressed": Case(
        48,
        lambda: dense(12),
        ODM,
        {"gamma": 0.1, "strategy": wm.Stratified(2, 2, stop_level=2)},
        fills=True,
        points=700,
    ),
    "DC-ODM, compressed with rows": Case(
        48,
        lambda: dense(12),
        ODM,
        {"gamma": 0.1, "strategy": wm.Clustered(2, 2, stop_level=2)},
        fills=True,
        points=700,
        with_rows=True,
    ),
    "linear SVM": Case(32, lambda: dense(100, 10), LINEAR_SVM),
    "linear ODM": Case(32, lambda: dense(100, 10), LINEAR_ODM),
    "linear ODM, sparse": Case(32, lambda: sparse(20_000, 5), LINEAR_ODM),
    "linear ODM, stream": Case(16, lambda: dense(100, rows=10 * ROWS), LINEAR_ODM, stream=True),
}


def growth(name: str) -> float:
    """Return how much anonymous memory grows at most during a case, in MiB."""
    warnings.simplefilter("ignore")
    case = CASES[name]
    X, y = case.rows()
    with tempfile.TemporaryDirectory() as folder:
        if not case.stream:
            return _growth(case, (X[:300], y[:300]), (X, y))
        few, all_ = Path(folder, "few.npz"), Path(folder, "all.npz")
        np.savez(few, X=X[:300], y=y[:300])
        np.savez(all_, X=X, y=y)
        del X, y
        return _growth(case, (few, None), (all_, None))


def _growth(case: Case, few: tuple[Any, Any], all_: tuple[Any, Any]) -> float:
    case.work(*few)()  # what the first fit of a process takes
    work = case.work(*all_)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory that was freed must not serve the fit
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins anew
    before = _status()
    with _AnonymousMemory() as seen:
        work()
    after = _status()
    if case.stream:  # pages of the mapped rows come and go, and VmHWM counts them
        return seen.most - before["RssAnon"]
    return after["VmHWM"] - before["VmRSS"] - (after["RssFile"] - before["RssFile"])


class _AnonymousMemory:
    """The most that is seen by looking every few milliseconds."""

    def __enter__(self) -> _AnonymousMemory:
        self.most, self._over = 0.0, threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.002):
            self.most = max(self.most, _status()["RssAnon"])

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._watch.join()


def _status() -> dict[str, float]:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    wanted = ("VmHWM", "VmRSS", "RssFile", "RssAnon")
    return {name: int(fields[name].split()[0]) / 1024 for name in wanted}
