"""[DC]: tables and figures on the data sets we have, with the printed C and gamma.

Tables: 1, 2, 5, 6; 7 is 4, 9 and 10, too, by data set. Figures: f1 to f4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.race.store import Store
from benchmarks.race.tables import Cells, Table

from . import (
    approximations,
    bound,
    comparison,
    convergence,
    grids,
    level_times,
    record,
    support,
)
from .sets import DATA_SETS, PaperSet

__all__ = ["DATA_SETS", "MAX_TIME", "TABLES", "draw", "run", "tables"]

MAX_TIME = 600.0
MEASURED: dict[str, Callable[[PaperSet], Any]] = {
    "1": comparison.measure_table_1,
    "2": comparison.measure_table_2,
    "5": level_times.measure,
    "6": comparison.measure_table_6,
    "7": grids.measure,
    "f1": bound.measure,
    "f2": support.measure,
    "f3": convergence.measure_rbf,
    "f4": convergence.measure_polynomial,
}
TABLES = tuple(MEASURED)
PAGES = (comparison, approximations, level_times, grids, bound, support, convergence, record)


def run(
    store: Store,
    names: Sequence[str],
    *,
    quick: bool,
    max_time: float = MAX_TIME,
    tables: Sequence[str] = TABLES,
) -> None:
    """Measure what is missing, set by set."""
    for name in names:
        paper = PaperSet(name, store, quick, max_time)
        for table in tables:
            MEASURED[table](paper)


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    for page in PAGES:
        yield from page.tables(cells)


def draw(cells: Cells, folder: Path) -> None:
    """Draw every figure."""
    for page in (bound, support, convergence):
        page.draw_figure(cells, folder)
