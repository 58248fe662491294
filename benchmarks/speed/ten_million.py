"""Kernel machines on ten million rows: fit, compression and prediction, with memory.

python -m benchmarks.speed.ten_million [--rows 10000000] [--machine NAME ...] [--points 2000]
python -m benchmarks.speed.ten_million render

Rows × 18 with two classes that overlap (:mod:`benchmarks.race.collisions`) are written to a folder
once, 720 MB for ten million, and mapped from there. A machine is fitted in a process of its own,
compressed by its decisions alone and by its training rows, and all three predict test rows. Memory
is the peak of anonymous memory: the mapped rows do not count. Progress goes to standard error,
results to ``benchmarks/speed/results/ten_million.json``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.anonymous_memory import AnonymousPeak
from benchmarks.race.collisions import best_accuracy, collisions, written
from benchmarks.race.processes import PROJECT, FitFailed, thread_limits, timed
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Rows, seconds, write_csv, write_machine
from widemargin import ODMClassifier, Stratified, SVMClassifier

RESULTS = Path(__file__).parent / "results" / "ten_million.json"
TABLES = PROJECT / "docs" / "benchmarks" / "tables"
ROWS, TEST_ROWS, TIMED_ROWS, POINTS = 10_000_000, 50_000, 1_000_000, 2000
PART_ROWS, REPEATS = 2500, 3
# The papers' scale: with it a part of a given size is the same problem however large the set is.
LAM = 128_000.0
MACHINES: dict[str, Callable[[int], Any]] = {
    "SVMClassifier()": lambda rows: SVMClassifier(random_state=0, verbose=1),
    "ODMClassifier()": lambda rows: ODMClassifier(random_state=0, verbose=1),
    "SODM": lambda rows: ODMClassifier(
        lam=LAM, strategy=leaves_alone(rows), random_state=0, verbose=1
    ),
}
KINDS = {"fitted": "as fitted", "compressed": "compressed", "refitted": "compressed with rows"}


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", default="run", choices=["run", "render", "worker"])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument(
        "--machine",
        nargs="+",
        default=list(MACHINES),
        choices=list(MACHINES),
        # Usage texts lose brackets of choices.
        metavar="NAME",
        help=" or ".join(repr(name) for name in MACHINES),
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "collisions")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--to", type=Path, default=TABLES)
    parser.add_argument("--again", action="store_true", help="measure once more")
    options = parser.parse_args(arguments)
    if options.command == "worker":
        job = json.loads(sys.stdin.read())
        with contextlib.redirect_stdout(sys.stderr):
            result = measured(job)
        print(json.dumps(result), flush=True)
        return
    store = Store(options.results, options.again)
    if options.command == "render":
        render(store, options.to)
        return
    for name in options.machine:
        settings = {"rows": options.rows, "points": options.points, "machine": name}
        job = {**settings, "folder": str(options.folder)}
        cell = store.cell(
            f"{name}, {options.rows} rows", settings, lambda job=job: in_own_process(job)
        )
        print(json.dumps(cell, indent=1))


def leaves_alone(rows: int) -> Stratified:
    """Return SODM that stops at its leaves, of at most so many rows."""
    levels = max(1, (-(-rows // PART_ROWS) - 1).bit_length())
    return Stratified(levels, 2, levels)


def in_own_process(job: dict[str, Any]) -> Cell:
    """Measure in a process whose memory is its own; its progress is shown."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.ten_million", "worker"],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env=os.environ | thread_limits(),
        check=False,
    )
    if done.returncode != 0:
        raise FitFailed(f"the fit ended with status {done.returncode}")
    cell: Cell = json.loads(done.stdout.splitlines()[-1])
    return cell


def measured(job: dict[str, Any]) -> Cell:
    """Fit, compress twice, and predict with all three."""
    rows = int(job["rows"])
    say(f"rows: {rows:,}")
    X, y = written(Path(job["folder"]), rows, seed=0)
    X_test, y_test = collisions(TEST_ROWS, seed=1)
    X_timed, _ = collisions(min(rows, TIMED_ROWS), seed=2)
    model, points = MACHINES[job["machine"]](rows), int(job["points"])
    cell: Cell = {"best": best_accuracy(TEST_ROWS, seed=1)}

    def step(name: str, action: Callable[[], Any], timed_rows: np.ndarray) -> Any:
        say(f"{name} …")
        with AnonymousPeak() as memory, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the set is divided, and how labels change
            made, wall, cpu = timed(action)
        say(f"{name}: {wall:.1f} s, {cpu:.1f} CPU s, {memory.mb:,.0f} MB; predicts …")
        accuracy = float(np.mean(made.predict(X_test) == y_test))
        rate = rows_per_second(made, timed_rows)
        say(f"{name}: {len(made.support_):,} points, accuracy {accuracy:.4f}, {rate:,.0f} rows/s")
        key = "accuracy" if name == "fitted" else f"{name}_accuracy"
        cell.update(
            {
                key: accuracy,
                f"{name}_rate": rate,
                f"{name}_points": len(made.support_),
                f"{name}_mb": memory.mb,
                "fit_seconds" if name == "fitted" else f"{name}_seconds": wall,
                f"{name}_cpu_seconds": cpu,
            }
        )
        return made

    step("fitted", lambda: model.fit(X, y), X_timed[: TEST_ROWS // 10])
    cell["clusters"] = int(model.history_["parts"][-1])
    step("compressed", lambda: model.compress(points), X_timed)
    refitted = step("refitted", lambda: model.compress(points, X, y), X_timed)
    cell["refitted_steps"] = refitted.compression_["n_iter"]
    return cell


def rows_per_second(model: Any, X: np.ndarray) -> float:
    """Return the rate of the fastest of some predictions."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        model.predict(X)
        best = min(best, time.perf_counter() - start)
    return float(len(X) / best)


def say(text: str) -> None:
    """Report progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def render(store: Store, folder: Path) -> None:
    """Write the tables of the page."""
    table: Rows = []
    for name, cell in store.cells.items():
        settings = store.settings[name]
        for kind, text in KINDS.items():
            fitted = kind == "fitted"
            table.append(
                [
                    f"{settings['machine']}, {text}",
                    f"{settings['rows']:,}",
                    f"{cell[f'{kind}_points']:,}",
                    seconds(cell["fit_seconds" if fitted else f"{kind}_seconds"]),
                    f"{cell[f'{kind}_mb'] / 1000:.2f}",
                    f"{100 * cell['accuracy' if fitted else f'{kind}_accuracy']:.2f}",
                    f"{cell[f'{kind}_rate']:,.0f}",
                ]
            )
    columns = ["model", "rows", "points", "seconds", "memory, GB", "accuracy, %", "rows per second"]
    write_csv(folder / "ten_million.csv", columns, table)
    write_machine(folder / "ten_million_machine.csv", store)


if __name__ == "__main__":
    main()
