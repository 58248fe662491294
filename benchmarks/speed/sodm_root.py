"""SODM to its root against the exact fit, on the sets of SODM's tables.

WIDEMARGIN_DATA=... python -m benchmarks.speed.sodm_root [--only ijcnn1 ...] [--repeats 3]
python -m benchmarks.speed.sodm_root render

Both fits end at a certified gap of 1e-3 on the training rows of the first random split, with the C
and γ of SODM's tables. They take turns in one process; the smallest CPU time of each counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.papers.sodm.settings import SETTINGS
from benchmarks.papers.sodm.tables import LOSSES, QUICK_ROWS
from benchmarks.race.command import options_of, parser_of, write_page
from benchmarks.race.data import DataSet, random_split, whole_set
from benchmarks.race.processes import timed
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Cells, Rows, Table, name_of, percent, ratio_text, seconds

NAME = "sodm_root"
STRATEGIES = ("exact", "sodm")
# The root may take this share of the exact fit's time.
TARGET = 1.2
COLUMNS = ["Data set", "Rows", "Machine", "Exact: CPU s", "Root: CPU s", "Root ÷ exact", "Leaves"]
COLUMNS += ["Relative gap", "Accuracy: exact", "Accuracy: root"]


def measure(name: str, loss: str, repeats: int, quick: bool) -> Cell:
    """Fit both in turns; return the smallest times, and what the fits came to."""
    data = random_split(*whole_set(name, QUICK_ROWS if quick else None), 0)
    C, gamma = SETTINGS[name][loss]

    def machine(strategy: str) -> Any:
        return LOSSES[loss](C=C, gamma=gamma, strategy=strategy, random_state=0)

    machine("exact").fit(data.X[:500], data.y[:500])  # loads what is loaded late
    cell: Cell = {"rows": len(data.y)}
    for _ in range(repeats):
        for strategy in STRATEGIES:
            model = machine(strategy)
            _, wall, cpu = timed(lambda model=model: model.fit(data.X, data.y))
            best = cell.get(f"{strategy}_cpu_seconds", float("inf"))
            cell[f"{strategy}_cpu_seconds"] = min(best, cpu)
            cell[f"{strategy}_seconds"] = min(cell.get(f"{strategy}_seconds", float("inf")), wall)
            _describe(cell, strategy, model, data)
    return cell


def _describe(cell: Cell, strategy: str, model: Any, data: DataSet) -> None:
    cell[f"{strategy}_accuracy"] = float(model.score(data.X_test, data.y_test))
    cell[f"{strategy}_gap"] = float(model.relative_gap_)
    if strategy == "sodm":
        parts = model.history_["parts"]
        cell["leaves"] = int(parts[0]) if len(parts) > 1 else 0


def tables_of(cells: Cells) -> Iterator[Table]:
    """Yield the one table."""
    yield NAME, COLUMNS, _rows(cells)


def _rows(cells: Cells) -> Rows:
    for name in SETTINGS:
        for loss in LOSSES:
            cell = cells.get(f"{name}/{loss}")
            if cell is None:
                continue
            exact, root = cell["exact_cpu_seconds"], cell["sodm_cpu_seconds"]
            yield [
                name_of(name),
                f"{cell['rows']:,}",
                loss.upper(),
                seconds(exact),
                seconds(root),
                ratio_text(root / exact, TARGET),
                str(cell["leaves"]) if cell["leaves"] else "passed over",
                f"{cell['sodm_gap']:.1e}",
                percent(cell["exact_accuracy"]),
                percent(cell["sodm_accuracy"]),
            ]


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or write the table."""
    parser, _ = parser_of(NAME, str(__doc__), SETTINGS, "the smallest time")
    options = options_of(parser, NAME, arguments)
    store = Store(options.results, options.again)
    if options.command == "render":
        write_page(store, options.to, NAME, tables_of)
        return
    for name in options.only:
        for loss in LOSSES:
            settings = {"settings": SETTINGS[name][loss], "repeats": options.repeats}
            cell = store.cell(
                f"{name}/{loss}",
                {**settings, "quick": options.quick},
                lambda name=name, loss=loss: measure(name, loss, options.repeats, options.quick),
            )
            ratio = cell["sodm_cpu_seconds"] / cell["exact_cpu_seconds"]
            print(f"{name}, {loss}: root ÷ exact {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
