"""Measure the growth, or write its table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.race.command import fail, options_of, parser_of, write_page
from benchmarks.race.processes import measure, noted
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, seconds
from benchmarks.speed import growth
from benchmarks.speed.growth.fit import FROM_LEVELS, GAMMA, KINDS, TOL, C

NAME = "growth"
# The last stands for all training rows.
SIZES, QUICK_ROWS = (50_000, 100_000, 200_000, 464_809), 2_000
WORKER = "benchmarks.speed.growth.fit"


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    parser, group = parser_of(NAME, str(growth.__doc__), map(str, SIZES), "the fastest")
    group.add_argument("--kinds", nargs="+", choices=[*KINDS, *FROM_LEVELS])
    group.add_argument("--max-time", type=float, default=1800.0, help="seconds of a fit")
    options = options_of(parser, NAME, arguments)
    if options.command == "render":
        write_page(Store(options.results), options.to, NAME, tables)
        return
    store, failures = Store(options.results, options.again), list[str]()
    sizes = [QUICK_ROWS] if options.quick else [int(rows) for rows in options.only]
    for rows in sizes:
        for kind in options.kinds or [*KINDS, *FROM_LEVELS]:
            for number in range(1 if rows > SIZES[0] else options.repeats):
                job = {"rows": rows, "kind": kind}
                settings = {**job, "C": C, "gamma": GAMMA, "tol": TOL}
                fitted = partial(measure, WORKER, job, options.max_time)
                with noted(failures, f"{kind}, {rows:,} rows"):
                    store.cell(f"{kind}/{rows}/{number}", settings, fitted)
    fail(failures)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table: a line for every model and number of rows."""
    columns = ["Model", "Rows", "Seconds", "CPU seconds", "Kernel values, 10⁹", "Of all pairs, %"]
    columns += ["Relative gap", "Support vectors", "Anonymous memory, MB", "Accuracy, %"]
    yield NAME, [*columns, "Seconds to predict"], _lines(cells)


def _lines(cells: Cells) -> Rows:
    for kind in [*KINDS, *FROM_LEVELS]:
        for rows in SIZES:
            cell = fastest(cells, kind, rows)
            if cell is None:
                continue
            values = cell.get("kernel_values")
            yield [
                kind,
                f"{rows:,}",
                seconds(cell["fit_seconds"]),
                seconds(cell["cpu_seconds"]),
                NONE if values is None else f"{values / 1e9:.1f}",
                NONE if values is None else f"{100 * values / cell['rows'] ** 2:.1f}",
                f"{cell['relative_gap']:.1e}",
                f"{cell['support']:,}",
                f"{cell['anonymous_mb']:,.0f}",
                percent(cell["accuracy"]),
                seconds(cell["predict_seconds"]),
            ]


def fastest(cells: Cells, kind: str, rows: int) -> Cell | None:
    """Return the fastest of the rounds that ended."""
    start = f"{kind}/{rows}/"
    found = [cell for name, cell in cells.items() if name.startswith(start)]
    ended = [cell for cell in found if "accuracy" in cell]
    return min(ended, key=lambda cell: cell["fit_seconds"], default=None)


if __name__ == "__main__":
    main()
