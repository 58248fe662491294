"""Measure what is missing, or write the table and the picture."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.race import processes, tables
from benchmarks.race.command import QUICK, SPEED, fail, write_page
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds

from . import __doc__ as description
from .fits import KINDS, ROWS

WORKER = "benchmarks.speed.rows.fits"
LIMIT = 600.0
# Seconds for imports and for drawing a million rows, which do not count.
START_UP, START_UP_MILLION = 20.0, 5.0
QUICK_ROWS = (2_000, 6_000)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.rows",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("run", "render"), default="run")
    parser.add_argument("--rows", type=int, nargs="+", default=None, help="numbers of rows")
    parser.add_argument("--fit", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a fit may take")
    parser.add_argument("--again", action="store_true", help="measure once more")
    parser.add_argument("--quick", action="store_true", help="a few rows, to try the harness")
    parser.add_argument("--results", type=Path, help="the JSON file")
    parser.add_argument("--to", type=Path, default=tables.FOLDER, help="folder of the tables")
    options = parser.parse_args(arguments)
    results = options.results or (QUICK if options.quick else SPEED) / "rows.json"
    if options.command == "render":
        store = Store(results)
        write_page(store, options.to, "rows", page)
        draw(store.cells, options.to)
        return
    sizes = options.rows or (QUICK_ROWS if options.quick else ROWS)
    failures: list[str] = []
    store = Store(results, options.again)
    for kind in options.fit:
        measure(store, kind, sorted(sizes), options.limit, failures)
    fail(failures)


def measure(
    store: Store, kind: str, sizes: Sequence[int], limit: float, failures: list[str]
) -> None:
    """Measure a kind of fit on ever more rows, until one takes too long."""
    for rows in sizes:
        name, job = f"{kind}/{rows}", {"kind": kind, "rows": rows}
        kept = store.cells.get(name, {})
        if "fit_seconds" not in kept and kept.get("limit", limit) < limit:
            store.drop(name)

        def found(job: Cell = job, name: str = name) -> Cell:
            start_up = START_UP + START_UP_MILLION * job["rows"] / 1e6
            cell = processes.measure(WORKER, job, limit + start_up)
            if "accuracy" not in cell:
                print(f"{name}: {_ending(cell, limit)}", flush=True)
            return {**cell, "rows": job["rows"], "limit": limit}

        with processes.noted(failures, name):
            if "fit_seconds" not in store.cell(name, job, found):
                return


def _ending(cell: Cell, limit: float) -> str:
    if "fit_seconds" in cell:
        return f"{cell['fit_seconds']:.1f} s, and no time to predict"
    return f"more than {limit:g} s"


def page(cells: Cells) -> Iterator[Table]:
    """Yield all fits."""
    columns = ["Fit", "Rows", "Seconds", "CPU seconds", "× the time of the size before"]
    columns += ["Accuracy", "Support vectors", "Relative gap", "Memory of the fit, MB"]
    columns += ["Prediction of 20,000 rows, seconds"]
    yield "rows", columns, _rows(cells)


def of_kind(cells: Cells, kind: str) -> list[Cell]:
    """Return the cells of a kind of fit, by number of rows."""
    found = (cell for name, cell in cells.items() if name.partition("/")[0] == kind)
    return sorted(found, key=lambda cell: cell["rows"])


def _rows(cells: Cells) -> Rows:
    for kind, each in KINDS.items():
        before: float | None = None
        for cell in of_kind(cells, kind):
            row = [each.title, f"{cell['rows']:,}"]
            if "fit_seconds" not in cell:
                yield [*row, f"more than {cell['limit']:g}", *[NONE] * 7]
                continue
            spent, gap = cell["fit_seconds"], cell["relative_gap"]
            row += [seconds(spent), seconds(cell["cpu_seconds"])]
            row += [NONE if before is None else f"{spent / before:.1f}"]
            row += [percent(cell.get("accuracy")), f"{cell['support_vectors']:,}"]
            row += [NONE if gap is None else f"{gap:.1e}", f"{cell['fit_memory_mb']:,.0f}"]
            yield [*row, seconds(cell.get("predict_seconds"))]
            before = spent


def draw(cells: Cells, folder: Path) -> None:
    """Draw seconds against rows, and accuracy against rows."""
    panels = {
        "seconds of training": partial(_lines, cells, "fit_seconds"),
        "accuracy on 20,000 test rows, %": partial(_lines, cells, "accuracy"),
    }
    if not any("fit_seconds" in cell for cell in cells.values()):
        panels = {}
    tables.draw(folder / "rows.svg", panels, columns=2, height=4.2, neutral=True)


def _lines(cells: Cells, key: str, axis: Any) -> None:
    scale = 100.0 if key == "accuracy" else 1.0
    for kind, each in KINDS.items():
        found = [cell for cell in of_kind(cells, kind) if key in cell]
        if found:
            values = [scale * cell[key] for cell in found]
            line = {"color": each.colour, "linestyle": "--" if each.dashed else "-"}
            axis.plot([cell["rows"] for cell in found], values, "o", label=each.title, **line)
    axis.set(xscale="log", xlabel="rows")
    axis.grid(color=tables.GREY, alpha=0.3, linewidth=0.5)
    if key == "fit_seconds":
        axis.set_yscale("log")
        axis.legend(fontsize="small", framealpha=0.0)


if __name__ == "__main__":
    main()
