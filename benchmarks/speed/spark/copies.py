"""What copies of rows on the workers save, in one session on this machine.

WIDEMARGIN_DATA=folder python -m benchmarks.speed.spark.copies [--rows N] [--repeats K]

Fits of covtype on ``local[2]`` with ``localCopies`` as it is and with 0 take turns with fits of the
local engine. Seconds are those of the clock; CPU seconds are those of all processes: this one, the
JVM and its Python workers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.speed.spark import parquet
from benchmarks.speed.spark.kernel.fits import (
    CASES,
    DC,
    WARM_UP_PARTS,
    WARM_UP_ROWS,
    local_machine,
    spark_machine,
    split_of,
)
from benchmarks.speed.spark.sessions import LOCAL, session_on
from benchmarks.speed.spark.watching import Counted, cpu_seconds
from widemargin import LinearODMClassifier

CASE = "covtype_binary"
LINEAR = "linear ODM, newton"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=None, help="training rows; default: all")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    split = split_of(CASE, quick=False)
    X, y = split.X[: asked.rows], split.y[: asked.rows]
    share = len(y) / len(split.y)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet.write_arrays(X, y, folder / "rows")
        parquet.write_arrays(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS], folder / "few")
        with session_on(LOCAL, folder) as (session, _):
            few, frame = (session.read.parquet(str(folder / each)) for each in ("few", "rows"))
            for method in (DC, LINEAR):
                compare(method, 0.0, session, few, X[:WARM_UP_ROWS], y[:WARM_UP_ROWS], 1)
                show(method, len(y), compare(method, share, session, frame, X, y, asked.repeats))


def compare(
    method: str, share: float, session: Any, frame: Any, X: Any, y: Any, repeats: int
) -> dict[str, list[list[float]]]:
    """Return what each way of fitting the same rows took, every time."""
    local, on_spark = machines(share)[method]
    ways: dict[str, Callable[[], Any]] = {
        "local engine": lambda: local().fit(X, y),
        "Spark, copies": lambda: on_spark().fit(frame),
        "Spark, no copies": lambda: on_spark().setLocalCopies(0).fit(frame),
    }
    found: dict[str, list[list[float]]] = {way: [] for way in ways}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that parts of a few rows are small
        for _ in range(repeats):
            for way, fit in ways.items():
                found[way].append(measured(session, fit))
    return found


def machines(share: float) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return, by method, what makes a machine for arrays and one for DataFrames."""
    from widemargin.spark import SparkLinearODMClassifier

    case = CASES[CASE]
    clusters = max(WARM_UP_PARTS, round(share * case.clusters))
    case = replace(case, clusters=clusters)
    return {
        DC: (lambda: local_machine(DC, case), lambda: spark_machine(DC, case)),
        LINEAR: (
            lambda: LinearODMClassifier(solver="newton", random_state=0),
            lambda: SparkLinearODMClassifier(solver="newton"),
        ),
    }


def measured(session: Any, fit: Callable[[], Any]) -> list[float]:
    """Return the seconds of a fit, its CPU seconds, and the megabytes sent to Python."""
    counted, cpu, began = Counted(session), cpu_seconds(os.getpid()), time.perf_counter()
    fit()
    seconds = time.perf_counter() - began
    cpu = cpu_seconds(os.getpid()) - cpu
    return [seconds, cpu, counted.totals()["to_python_mb"]]


def show(method: str, rows: int, found: dict[str, list[list[float]]]) -> None:
    """Print medians, and their ratios to those of the local engine."""
    print(f"{method}, {rows:,} rows: seconds (CPU seconds), times the local engine, to Python (MB)")
    base: list[float] = []
    for way, each in found.items():
        seconds, cpu, sent = (median(column) for column in zip(*each, strict=True))
        base = base or [seconds, cpu]
        ratios = f"{seconds / base[0]:.2f} ({cpu / base[1]:.2f})"
        print(f"  {way:<18}{seconds:8.2f} ({cpu:.2f})   {ratios}   {sent:,.0f}", flush=True)


if __name__ == "__main__":
    main()
