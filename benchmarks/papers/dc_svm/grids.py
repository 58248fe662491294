"""[DC] Tables 4, 7, 9 and 10: accuracy and total time over a grid of C and gamma.

All training and test rows of ijcnn1; of the others 20,000 of either, drawn at random. "Exact" is
the whole problem solved at once, to the same tolerance as DC-SVM; the paper has LIBSVM in its
place.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import product

from benchmarks.papers.sodm.tables import STRATEGIES
from benchmarks.race import objective
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell
from benchmarks.race.tables import NONE, Cells, Rows, Table, figure, name_of, seconds

from .comparison import LEVELS, classifier
from .published_grids import GRIDS, POWERS, TOTAL_HOURS
from .sets import PaperSet

ROWS = {"ijcnn1": 49_990, "covtype_binary": 20_000, "census_income": 20_000}
TEST_ROWS = {"ijcnn1": 91_701, "covtype_binary": 20_000, "census_income": 20_000}
METHODS = {"early": "DC-SVM (early)", "full": "DC-SVM", "exact": "Exact"}
TABLES = {"ijcnn1": "dc_table_7", "covtype_binary": "dc_table_9", "census_income": "dc_table_10"}


def measure(paper: PaperSet) -> None:
    """Measure what is missing; all pairs of one method before those of the next."""
    rows, test_rows = ROWS[paper.name], TEST_ROWS[paper.name]
    sample = cache(lambda: paper.sample(rows, test_rows))
    for method in METHODS:
        for power, width in product(POWERS, POWERS):
            settings = {"C": 2.0**power, "gamma": 2.0**width, "max_time": paper.max_time}
            kept = {**settings, "rows": rows, "test_rows": test_rows}
            fit = partial(_measured, method, settings, sample)
            paper.store.cell(f"{paper.name}/grid/{method}/{power}/{width}", kept, fit)


def _measured(method: str, settings: dict[str, float], sample: object) -> Cell:
    data: DataSet = sample()  # type: ignore[operator]
    clustered = STRATEGIES["clustered"]
    strategy = {
        "early": clustered(levels=LEVELS, stop_level=LEVELS - 1),
        "full": clustered(levels=LEVELS),
        "exact": "exact",
    }[method]
    return objective.measure(classifier(settings, strategy), data)


# -------------------------------------------------------------------------------------- page


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["C", "γ", "Early, published", "Early", "DC-SVM, published", "DC-SVM"]
    columns += ["LIBSVM, published", "Exact", "Early s", "DC-SVM s", "Exact s"]
    for data_set, table in TABLES.items():
        yield table, columns, _grid(cells, data_set)
    columns = ["Data set", "Rows", "Method", "Published hours", "Our s"]
    columns += ["Published time ÷ LIBSVM's", "Our time ÷ that of the exact fits"]
    yield "dc_table_4", columns, _totals(cells)


def _grid(cells: Cells, data_set: str) -> Rows:
    for (power, width), printed in GRIDS[data_set].items():
        row, spent = [f"2^{power}", f"2^{width}"], []
        for method, theirs in zip(METHODS, printed, strict=True):
            found = [c for c in [cells.get(f"{data_set}/grid/{method}/{power}/{width}")] if c]
            row += [NONE if theirs is None else f"{theirs:g}"]
            row += [figure(found, "accuracy", lambda value: f"{100 * value:.1f}", 1)]
            spent.append(figure(found, "fit_seconds", seconds, 1))
        yield [*row, *spent]


def _totals(cells: Cells) -> Rows:
    for data_set, hours in TOTAL_HOURS.items():
        totals: dict[str, list[Cell]] = {
            method: [
                cells[name]
                for power, width in product(POWERS, POWERS)
                if (name := f"{data_set}/grid/{method}/{power}/{width}") in cells
            ]
            for method in METHODS
        }
        if not all(len(found) == len(POWERS) ** 2 for found in totals.values()):
            continue
        exact = sum(cell["fit_seconds"] for cell in totals["exact"])
        for method, theirs in zip(METHODS, ("early", "full", "libsvm"), strict=True):
            ours = sum(cell["fit_seconds"] for cell in totals[method])
            late = "†" if any(cell["out_of_time"] for cell in totals[method]) else ""
            printed = f"{hours[theirs]:.3g}", f"{hours[theirs] / hours['libsvm']:.3f}"
            yield [
                name_of(data_set),
                f"{ROWS[data_set]:,}",
                "Exact; LIBSVM in the paper" if method == "exact" else METHODS[method],
                printed[0],
                seconds(ours) + late,
                printed[1],
                f"{ours / exact:.3f}",
            ]
