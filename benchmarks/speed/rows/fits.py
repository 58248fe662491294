"""The fits, and how one of them is measured in a process of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.race.generated import waves
from benchmarks.race.processes import THREADS, forget_peak, memory_mb, serve, timed
from benchmarks.race.store import Cell

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
TEST_ROWS = 20_000
LAM, GAMMA = 64_000.0, 0.05
# Rows of a cluster, as with strategy="auto", and of a part of SODM; 1,024 clusters at most, since
# kernel k-means has a sample of 4,096 rows.
CLUSTER_ROWS, PART_ROWS = 8_000, 2_000
MOST_CLUSTER_LEVELS = 5


def levels_of(rows: int, part_rows: int) -> int:
    """Return how often rows are divided by four until parts are small enough."""
    levels = 1
    while rows > part_rows * 4**levels:
        levels += 1
    return levels


def _exact(rows: int) -> Any:
    return "exact"


def _clustered(rows: int, early: bool) -> Any:
    from widemargin import Clustered

    levels = min(levels_of(rows, CLUSTER_ROWS), MOST_CLUSTER_LEVELS)
    return Clustered(levels, 4, levels if early else 0)


def _stratified(rows: int, early: bool) -> Any:
    from widemargin import Stratified

    levels = levels_of(rows, PART_ROWS)
    return Stratified(levels, 4, levels if early else 0)


@dataclass(frozen=True)
class Kind:
    """A kind of fit; ``strategy(rows)`` is what the estimator gets."""

    title: str
    strategy: Callable[[int], Any]
    colour: str
    dashed: bool = False


KINDS = {
    "exact": Kind("exact", _exact, "#808080"),
    "dc": Kind("DC to the root", lambda rows: _clustered(rows, False), "#2A86C8"),
    "dc_early": Kind("DC early", lambda rows: _clustered(rows, True), "#2A86C8", True),
    "sodm": Kind("SODM to the root", lambda rows: _stratified(rows, False), "#D9690F"),
    "sodm_early": Kind("SODM at the leaves", lambda rows: _stratified(rows, True), "#D9690F", True),
}


def measured(job: Cell) -> Iterator[Cell]:
    """Yield time and memory of a fit, then the accuracy of its predictions."""
    from widemargin import ODMClassifier

    rows = job["rows"]
    X, y = waves(rows, 0)
    X_test, y_test = waves(TEST_ROWS, 1)
    model = ODMClassifier(lam=LAM, gamma=GAMMA, n_jobs=THREADS, random_state=0)
    model.set_params(strategy=KINDS[job["kind"]].strategy(rows))
    forget_peak()  # drawing rows takes more memory than they do
    before = memory_mb("VmRSS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the root of a set is large
        model, wall, cpu = timed(lambda: model.fit(X, y))
    peak = memory_mb("VmHWM")
    gap = model.relative_gap_
    cell: Cell = {"fit_seconds": wall, "cpu_seconds": cpu, "peak_memory_mb": peak}
    cell |= {"fit_memory_mb": max(0.0, peak - before), "support_vectors": len(model.support_)}
    cell["relative_gap"] = None if gap is None or gap != gap else float(gap)
    yield cell
    labels, wall, _ = timed(lambda: model.predict(X_test))
    cell |= {"predict_seconds": wall, "test_rows": TEST_ROWS}
    yield {**cell, "accuracy": float(np.mean(labels == y_test))}


if __name__ == "__main__":
    serve(measured)
