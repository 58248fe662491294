"""Untidy tables: one command of widemargin each, against LightGBM's default on the same rows.

WIDEMARGIN_DATA=... python -m benchmarks.tables [--sets adult customers ...] [--max-time 120]
    [--again]

Every table is written as a training and a test file. `widemargin train` is run on the first as a
user would (a fifth of the rows held out, with a report), `widemargin evaluate` and `predict` on the
second. LightGBM trains on all training rows, prepared by hand in the form that suits it. Results go
to benchmarks/tables/results.json and to the tables of docs/benchmarks/tables.rst; `adult` needs a9a
in WIDEMARGIN_DATA.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.race import tables as pages
from benchmarks.race.store import Store

from .adult import adult
from .messy import MESSY, Table
from .peers import lightgbm

SETS: dict[str, tuple[Callable[[], Table], str, str]] = {"adult": (adult, "income", ","), **MESSY}
RESULTS = Path(__file__).with_name("results.json")
#: Accuracy that may be lost to LightGBM.
ALLOWED = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds for a training")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    options = parser.parse_args()
    store = Store(RESULTS, again=options.again)
    for name in options.sets:
        make, label, delimiter = SETS[name]
        train, test = make()
        store.cell(
            f"{name}/widemargin",
            {"max_time": options.max_time, "rows": len(train)},
            lambda: commands(train, test, label, delimiter, options.max_time),  # noqa: B023
        )
        store.cell(
            f"{name}/lightgbm",
            {"rows": len(train)},
            lambda: lightgbm(train, test, label),  # noqa: B023
        )
    render(store)


def commands(
    train: pd.DataFrame, test: pd.DataFrame, label: str, delimiter: str, max_time: float
) -> dict[str, Any]:
    """Train, evaluate and predict by the command line, and return what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("train.csv", train), ("test.csv", test)):
            table.to_csv(Path(folder, name), sep=delimiter, index=False)

        def widemargin(*arguments: str) -> str:
            command = [sys.executable, "-m", "widemargin", *arguments]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
            return done.stdout

        began = time.perf_counter()
        options = ["--label", label, "--report", "report.html", "--max-time", str(max_time)]
        summary = json.loads(widemargin("train", "train.csv", "--json", *options))
        seconds = time.perf_counter() - began
        evaluate = ("evaluate", "train.wm", "test.csv", "--label", label, "--json")
        measured = json.loads(widemargin(*evaluate))
        widemargin("predict", "train.wm", "test.csv", "--proba", "-o", "predictions.csv")
        predictions = Path(folder, "predictions.csv").read_text("utf-8").splitlines()
        assert len(predictions) == len(test) + 1
        return {
            "accuracy": measured["accuracy"],
            "log_loss": measured["log_loss"],
            "roc_auc": measured["roc_auc"],
            "held_out": summary["held_out"]["accuracy"],
            "fit_seconds": summary["seconds"],
            "seconds": seconds,
            "chosen": summary["steps"][-1]["estimator"],
            "rows": summary["rows"],
            "report_bytes": Path(folder, "report.html").stat().st_size,
        }


def render(store: Store) -> None:
    """Write the tables of the documentation."""
    rows = []
    for name in SETS:
        ours = store.cells.get(f"{name}/widemargin")
        peer = store.cells.get(f"{name}/lightgbm")
        if ours is None or peer is None:
            continue
        behind = peer["accuracy"] - ours["accuracy"]
        text = f"{-100 * behind:+.2f}"
        rows.append(
            [
                name,
                f"{peer['rows']:,}",
                pages.percent(ours["accuracy"]),
                pages.percent(ours["held_out"]),
                pages.percent(peer["accuracy"]),
                text if behind <= ALLOWED else f"**{text}**",
                pages.seconds(ours["seconds"]),
                ours["chosen"],
            ]
        )
    columns = ["table", "rows", "test", "held out", "LightGBM", "difference", "seconds", "chosen"]
    pages.write_csv(pages.FOLDER / "tables.csv", columns, rows)
    pages.write_machine(pages.FOLDER / "tables_machine.csv", store)


if __name__ == "__main__":
    main()
