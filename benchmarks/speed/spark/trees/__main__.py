"""What is measured, a cell for each rule, and the table that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.race import processes
from benchmarks.race.tables import Cells, Rows, Table, percent, seconds
from benchmarks.speed.spark import page as spark_page

from . import __doc__ as description
from .rules import RULES

WORKER = "benchmarks.speed.spark.trees.fits"
ROWS, TEST_ROWS, FEATURES = 500_000, 50_000, 30
QUICK_ROWS = 5_000
# Seconds for all fits of a rule.
MAX_TIME = 3600.0


def plan(names: Sequence[str], repeats: int, quick: bool) -> Iterator[spark_page.Planned]:
    """Yield every cell, its settings and how it is measured."""
    for name in names:
        rows = QUICK_ROWS if quick else ROWS
        job = {"rule": name, "rows": rows, "test_rows": TEST_ROWS, "features": FEATURES}
        job |= {"repeats": repeats}
        yield name, job, partial(processes.measure, WORKER, job, MAX_TIME)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table of all fits."""
    columns = ["Rule", "Classifier", "Fit (s)", "Score 50,000 rows (s)", "Accuracy (%)"]
    yield "spark_trees", columns, list(rows_of(cells))


def rows_of(cells: Cells) -> Rows:
    """Yield a row for each fit."""
    for rule, cell in cells.items():
        for name, fit in cell["fits"].items():
            yield [
                rule,
                name,
                seconds(fit["fit_seconds"]),
                seconds(fit["predict_seconds"]),
                percent(fit["accuracy"]),
            ]


def main(arguments: list[str] | None = None) -> None:
    spark_page.main("trees", str(description), list(RULES), plan, tables, arguments)


if __name__ == "__main__":
    main()
