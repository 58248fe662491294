"""The fits of the benchmark, and their tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import benchmarks.speed.many_classes as about
from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.processes import measure, noted
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds

NAME = "many_classes"
WORKER = "benchmarks.speed.many_classes.worker"
TOL = 1e-2
GENERATED = ("lshtc_20", "lshtc_8", "lshtc_4", "lshtc")
TEXTS = ("clinc150", "sector")
TITLES = {"clinc150": "CLINC150", "lshtc": "LSHTC's shape"} | {
    f"lshtc_{part}": f"1/{part} of it" for part in (20, 8, 4)
}
LARGE_C = (10.0, 100.0, 1000.0)
# The hour that the largest fit may take, and as much again for what surrounds it.
MAX_TIME = 7200.0


def jobs_of(name: str) -> Iterator[Cell]:
    """Yield the fits of a set."""
    if name in GENERATED:
        # Without an intercept, weights of words must say that a row is not of a class.
        for formulation, intercept in (("ww", False), ("ovr", True)):
            yield {"set": name, "formulation": formulation, "C": 1.0, "intercept": intercept}
    else:
        for C in LARGE_C:
            yield {"set": name, "formulation": "llw", "C": C, "intercept": True}


def key_of(job: Cell) -> str:
    """Return the name of a fit's cell."""
    return f"{job['set']}/{job['formulation']}/{job['C']:g}"


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the tables."""
    parser, _ = parser_of(NAME, str(about.__doc__), (*GENERATED, *TEXTS), "the fastest")
    parser.set_defaults(repeats=1)
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store, failures = Store(options.results, options.again), list[str]()
    for name in options.only:
        for job in jobs_of(name):
            full = {**job, "tol": TOL, "quick": options.quick}
            for number in range(options.repeats):
                key = f"{key_of(job)}/{number}"
                with noted(failures, key):
                    cell = store.cell(key, full, partial(measure, WORKER, full, MAX_TIME))
                    show(key, cell)
    fail(failures)


def show(key: str, cell: Cell) -> None:
    """Print a fit."""
    if "fit_seconds" in cell:
        print(
            f"{key}: {cell['fit_seconds']:.1f} s ({cell['cpu_seconds']:.1f} CPU), peak memory "
            f"{cell['peak_memory_mb'] / 1e3:.2f} GB, gap {cell['relative_gap']:.1e} after "
            f"{cell['epochs']} epochs",
            flush=True,
        )


def best(cells: Cells, job: Cell) -> Cell | None:
    """Return the cell of the fastest round."""
    start = key_of(job) + "/"
    found = [cell for key, cell in cells.items() if key.startswith(start) and "fit_seconds" in cell]
    return min(found, key=lambda cell: cell["fit_seconds"], default=None)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the sets, the fits of thousands of classes, and those of LLW."""
    columns = ["Data set", "Rows", "Features", "Classes", "Stored values", "Largest class"]
    yield f"{NAME}_cases", columns, _cases(cells)
    columns = ["Data set", "Formulation", "C", "Relative gap", "Epochs", "Seconds", "CPU seconds"]
    columns += ["Peak memory, GB", "Density, %", "Accuracy, %", "File, MB"]
    yield f"{NAME}_generated", columns, _figures(cells, GENERATED)
    yield f"{NAME}_llw", columns, _figures(cells, TEXTS)


def _cases(cells: Cells) -> Rows:
    for name in (*GENERATED, *TEXTS):
        cell = next((found for job in jobs_of(name) if (found := best(cells, job))), None)
        if cell is not None:
            keys = ("rows", "features", "classes", "stored", "largest_class")
            yield [TITLES.get(name, name), *(f"{cell[key]:,}" for key in keys)]


def _figures(cells: Cells, names: tuple[str, ...]) -> Rows:
    for name in names:
        for job in jobs_of(name):
            cell = best(cells, job)
            if cell is None:
                continue
            mark = "" if cell["converged"] else " ‡"
            yield [
                TITLES.get(name, name),
                job["formulation"].upper(),
                f"{job['C']:g}",
                f"{cell['relative_gap']:.1e}{mark}",
                str(cell["epochs"]),
                seconds(cell["fit_seconds"]),
                seconds(cell["cpu_seconds"]),
                f"{cell['peak_memory_mb'] / 1e3:.2f}",
                percent(cell["density"]),
                *_after(cell),
            ]


def _after(cell: Cell) -> list[str]:
    """Return what follows a fit, if there was time for it."""
    known: dict[str, Any] = cell
    if "file_mb" not in known:
        return [NONE, NONE]
    return [percent(known["accuracy"]), f"{known['file_mb']:,.1f}"]
