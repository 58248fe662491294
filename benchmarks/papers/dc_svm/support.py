"""[DC] Figure 2: the final support vectors that a level knows already, beside a cascade's.

Levels have 1,024, 256, 64, 16, 4 and 1 clusters, or random parts. Precision is the share of a
level's support vectors that are final ones; recall the share of the final ones that it has.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.sodm.tables import STRATEGIES
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell
from benchmarks.race.tables import Cells, Rows, Table, draw, name_of, percent
from widemargin import Cascade

from . import published
from .comparison import classifier
from .level_duals import Duals
from .sets import PaperSet

LEVELS, FAN_IN = 5, 4
ROWS = {"ijcnn1": 49_990, "covtype_binary": 20_000}
# The gap of the final solution, and of all levels.
TOL = 1e-4
KERNELS = {"rbf": "RBF", "poly": "polynomial"}
METHODS = {"clustered": "DC-SVM", "cascade": "Cascade"}


def measure(paper: PaperSet) -> None:
    """Measure what is missing."""
    if paper.name not in ROWS:
        return
    sample = cache(lambda: paper.sample(ROWS[paper.name]))
    for kernel in KERNELS:
        settings = kernel_settings(paper, kernel)
        if settings is None:
            continue
        settings = {**settings, "max_time": None}  # seconds are no matter here, the optimum is
        final = cache(partial(_final, settings, sample))
        for method in METHODS:
            kept = {"most_rows": ROWS[paper.name], "tol": TOL, "levels": LEVELS}
            paper.store.cell(
                f"{paper.name}/support/{kernel}/{method}",
                {**settings, **kept},
                partial(_levels, method, settings, sample, final),
            )


def kernel_settings(paper: PaperSet, kernel: str) -> dict[str, Any] | None:
    """Return the printed settings of a kernel; None where the paper has none."""
    if kernel == "rbf":
        return paper.settings
    if paper.name not in published.POLYNOMIAL:
        return None
    C, gamma = published.POLYNOMIAL[paper.name]
    polynomial = {"kernel": "poly", "degree": 3, "coef0": 0.0}
    return {"C": C, "gamma": gamma, "max_time": paper.max_time, **polynomial}


def _final(settings: dict[str, Any], sample: Callable[[], DataSet]) -> np.ndarray:
    data = sample()
    model = classifier(settings, "exact", tol=TOL).fit(data.X, data.y)
    return Duals.of(model, valued=False).rows


def _levels(
    method: str,
    settings: dict[str, Any],
    sample: Callable[[], DataSet],
    final: Callable[[], np.ndarray],
) -> Cell:
    data, rows = sample(), []
    make: Any = STRATEGIES["clustered"] if method == "clustered" else partial(Cascade, printed=True)
    with tempfile.TemporaryDirectory() as folder:
        for level in range(LEVELS, -1, -1):
            strategy = make(levels=LEVELS, fan_in=FAN_IN, stop_level=level)
            model = classifier(settings, strategy, checkpoint=folder, tol=TOL)
            found = Duals.of(model.fit(data.X, data.y), valued=False)
            rows.append(
                {
                    "level": level,
                    "parts": int(model.history_["parts"][-1]),
                    "found": len(found.rows),
                    "precision": found.precision(final()),
                    "recall": found.recall(final()),
                }
            )
    return {"levels": rows, "final": len(final()), "rows": len(data.y)}


# -------------------------------------------------------------------------------------- page


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table as file name, columns and rows."""
    columns = ["Data set", "Kernel", "Rows", "Method", "Level", "Parts", "Support vectors"]
    yield "dc_figure_2", [*columns, "Final ones", "Precision", "Recall"], _rows(cells)


def _rows(cells: Cells) -> Rows:
    for data_set, kernel, method, cell in _measured(cells):
        start = [name_of(data_set), KERNELS[kernel], f"{cell['rows']:,}", METHODS[method]]
        for each in cell["levels"]:
            counts = [str(each["level"]), f"{each['parts']:,}", f"{each['found']:,}"]
            shares = [percent(each["precision"]), percent(each["recall"])]
            yield [*start, *counts, f"{cell['final']:,}", *shares]


def _measured(cells: Cells) -> Iterator[tuple[str, str, str, Cell]]:
    for data_set in ROWS:
        for kernel in KERNELS:
            for method in METHODS:
                cell = cells.get(f"{data_set}/support/{kernel}/{method}")
                if cell is not None:
                    yield data_set, kernel, method, cell


def draw_figure(cells: Cells, folder: Path) -> None:
    """Draw precision and recall by level."""
    found = dict.fromkeys((data_set, kernel) for data_set, kernel, _, _ in _measured(cells))
    panels = {
        f"{name_of(data_set)}, {KERNELS[kernel]}": partial(_fill, cells, data_set, kernel)
        for data_set, kernel in found
    }
    draw(folder / "dc_figure_2.svg", panels, columns=max(1, len(panels)))


def _fill(cells: Cells, data_set: str, kernel: str, axis: Any) -> None:
    for name, method, colour in (("clustered", "DC-SVM", "C0"), ("cascade", "Cascade", "C1")):
        cell = cells.get(f"{data_set}/support/{kernel}/{name}", {"levels": []})
        level = [each["level"] for each in cell["levels"]]
        for key, style in (("recall", "-"), ("precision", "--")):
            values = [each[key] for each in cell["levels"]]
            axis.plot(level, values, colour + style, marker=".", label=f"{method}, {key}")
    axis.set(xlabel="level (4^level parts)", ylim=(0.0, 1.03))
    axis.invert_xaxis()
    axis.legend(fontsize="x-small")
