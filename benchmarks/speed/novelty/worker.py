"""One fit in a process of its own: ``python -m benchmarks.speed.novelty.worker``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import OneClassSVM as LibsvmOneClass

from benchmarks.race.data import load
from benchmarks.race.processes import memory_mb, serve, timed
from benchmarks.race.store import Cell
from widemargin import OneClassSVM, Stratified

FEATURES, GROUPS = 19, 6
MOST_ROWS, QUICK_ROWS = 20_000, 300
# The parts of an early level are 4 to this; their mean is looked at on so many training rows.
LEVELS, LOOKED_AT = 2, 10_000
# Points that Nystroem's map is made of.
COMPONENTS = 300


def generated(rows: int, seed: int = 0) -> np.ndarray:
    """Draw rows of groups with heavy tails, of zero mean and unit variance."""
    random = np.random.default_rng(seed)
    centre = 1.5 * random.normal(size=(GROUPS, FEATURES))
    shape = random.normal(size=(GROUPS, FEATURES, FEATURES)) / np.sqrt(FEATURES)
    group = random.integers(GROUPS, size=rows)
    X = random.standard_t(5, size=(rows, FEATURES))
    for g in range(GROUPS):
        X[group == g] = centre[g] + X[group == g] @ shape[g]
    return np.asarray(((X - X.mean(0)) / X.std(0)).astype(np.float32))


def usual_and_test(name: str, quick: bool) -> tuple[Any, Any, np.ndarray]:
    """Return rows of the most frequent class, test rows, and which of these are of that class."""
    data = load(name)
    X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    if y_test is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    labels, count = np.unique(y, return_counts=True)
    usual = labels[np.argmax(count)]
    most, random = QUICK_ROWS if quick else MOST_ROWS, np.random.default_rng(0)
    train = random.permutation(np.flatnonzero(y == usual))[:most]
    test = random.permutation(len(y_test))[:most]
    scaler = (MaxAbsScaler() if sp.issparse(X) else StandardScaler()).fit(X[train])
    return scaler.transform(X[train]), scaler.transform(X_test[test]), y_test[test] == usual


def detector(job: Cell) -> Any:
    """Return the method of a job, unfitted."""
    nu, method = job["nu"], job["method"]
    if method == "widemargin":
        return OneClassSVM(nu=nu, strategy="exact")
    if method == "early":
        return OneClassSVM(nu=nu, strategy=Stratified(levels=LEVELS, stop_level=LEVELS))
    if method == "sklearn":
        return LibsvmOneClass(nu=nu, cache_size=1000)
    if method == "forest":
        return IsolationForest(random_state=0, n_jobs=2)
    return make_pipeline(
        Nystroem(gamma=job["gamma"], n_components=COMPONENTS, random_state=0),
        SGDOneClassSVM(nu=nu, random_state=0),
    )


def fit(job: Cell) -> Iterator[Cell]:
    """Yield what was measured of a fit, and then of its scores."""
    if job["set"] == "generated":
        train, test, usual = generated(QUICK_ROWS if job["quick"] else job["rows"]), None, None
    else:
        train, test, usual = usual_and_test(job["set"], job["quick"])
    if job["method"] == "nystroem":  # what "scale" stands for
        squares = train.multiply(train).mean() if sp.issparse(train) else (train * train).mean()
        job = {**job, "gamma": float(1.0 / (train.shape[1] * (squares - train.mean() ** 2)))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the outcome is part of what is measured
        detector(job).fit(train[:200])
        model, wall, cpu = timed(lambda: detector(job).fit(train))
    result: Cell = {
        "rows": train.shape[0],
        "features": train.shape[1],
        "fit_seconds": wall,
        "cpu_seconds": cpu,
        "peak_memory_mb": memory_mb("VmHWM"),
    }
    if hasattr(model, "support_"):
        result["support_vectors"] = len(model.support_)
        result["offset"] = float(np.ravel(model.offset_)[0])
    if np.isfinite(getattr(model, "relative_gap_", np.nan)):
        result |= {"relative_gap": model.relative_gap_, "converged": model.converged_}
        result["blocks"] = model.n_iter_
    if job["method"] == "early":
        some = np.random.default_rng(1).permutation(train.shape[0])[:LOOKED_AT]
        result["outside"] = float(np.mean(model.decision_function(train[some]) < 0))
    yield result
    if test is not None:
        scores, spent, _ = timed(lambda: model.score_samples(test))
        result |= {"auc": float(roc_auc_score(usual, scores)), "score_seconds": spent}
        yield result | {"test_rows": len(usual), "usual_share": float(usual.mean())}


if __name__ == "__main__":
    serve(fit)
