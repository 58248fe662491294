r"""[DC] Figures 3 and 4: objective, accuracy and support vectors found, over seconds.

The relative error of an objective is :math:`(f(α) - f(α^*)) / |f(α^*)|`, with :math:`α^*` from an
exact fit to a gap of 1e-6. A level of DC-SVM has the objective of its duals side by side and the
accuracy of early prediction. LIBSVM has an intercept, whose problem has another optimum: its error
is measured from its own solution at a tolerance of 1e-5 or after 500,000 iterations, and each of
its points ends after so many iterations.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from benchmarks.papers.sodm.tables import STRATEGIES
from benchmarks.race import objective
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell
from benchmarks.race.tables import NONE, Cells, Rows, Table, draw, name_of, percent, seconds
from widemargin import Cascade

from . import approximations
from .comparison import LEVELS, classifier
from .level_duals import Duals, objective_of
from .sets import PaperSet
from .support import KERNELS, kernel_settings

ROWS, TEST_ROWS = 20_000, 20_000
DATA_SETS = ("ijcnn1", "covtype_binary", "census_income")
TOLS = (1e-1, 1e-2, 1e-3, 1e-4)
CASCADE_TOLS = (1e-1, 1e-3)
ITERATIONS = (1_000, 3_000, 10_000, 30_000, 100_000)
SIZES = (100, 300, 1_000)
REFERENCE_TOL, LIBSVM_TOL = 1e-6, 1e-5
LIBSVM_MOST = 500_000  # iterations of LIBSVM's own solution, in minutes


def measure_rbf(paper: PaperSet) -> None:
    """Measure Figure 3, and the panels over time of Figure 2."""
    _Case(paper, "rbf").measure()
    for method in approximations.FEATURE_MAPS:
        for size in SIZES:
            cell = f"{_start('rbf')}/{method}/{size}"
            sample = partial(paper.sample, ROWS, TEST_ROWS)
            approximations.measure_size(paper, cell, method, size, sample, most_rows=ROWS)


def measure_polynomial(paper: PaperSet) -> None:
    """Measure Figure 4."""
    if kernel_settings(paper, "poly") is not None:
        _Case(paper, "poly").measure()


def _start(kernel: str) -> str:
    return f"convergence/{kernel}"


@dataclass
class _Case:
    """A data set and a kernel."""

    paper: PaperSet
    kernel: str

    @cached_property
    def data(self) -> DataSet:
        return self.paper.sample(ROWS, TEST_ROWS)

    @cached_property
    def settings(self) -> dict[str, Any]:
        found = kernel_settings(self.paper, self.kernel)
        assert found is not None
        return found

    @cached_property
    def final(self) -> Duals:
        model = classifier(self.settings, "exact", tol=REFERENCE_TOL)
        return Duals.of(model.fit(self.data.X, self.data.y))

    @cached_property
    def libsvm_final(self) -> Duals:
        return self._libsvm_duals(
            self._libsvm(LIBSVM_TOL, LIBSVM_MOST).fit(self.data.X, self.data.y)
        )

    def measure(self) -> None:
        """Measure what is missing."""
        self._cell("levels", self._levels)
        for tol in TOLS:
            self._cell(f"exact/{tol:g}", partial(self._fit, "exact", tol))
        for tol in CASCADE_TOLS:
            cascade = Cascade(levels=LEVELS, fan_in=4, printed=True)
            self._cell(f"cascade/{tol:g}", partial(self._fit, cascade, tol))
        for iterations in ITERATIONS:
            self._cell(f"libsvm/{iterations}", partial(self._libsvm_fit, iterations))

    def _cell(self, name: str, measure: Callable[[], Cell]) -> None:
        kept = {**self.settings, "most_rows": ROWS, "test_rows": TEST_ROWS}
        start = f"{self.paper.name}/{_start(self.kernel)}"
        self.paper.store.cell(f"{start}/{name}", kept, measure)

    def _facts(self, found: Duals, final: Duals) -> Cell:
        assert found.objective is not None
        assert final.objective is not None
        error = (found.objective - final.objective) / abs(final.objective)
        return {"error": error, "recall": found.recall(final.rows)}

    def _fit(self, strategy: Any, tol: float) -> Cell:
        model = classifier(self.settings, strategy, tol=tol)
        facts = objective.measure(model, self.data)
        return {**facts, **self._facts(Duals.of(model), self.final)}

    def _levels(self) -> Cell:
        """Go up level by level; a level's seconds contain those of the levels it needs."""
        rows, fits = [], objective.LevelFits()
        with tempfile.TemporaryDirectory() as folder:
            for level in range(LEVELS, -1, -1):
                strategy = STRATEGIES["clustered"](levels=LEVELS, stop_level=level)
                model = classifier(self.settings, strategy, checkpoint=folder)
                facts = fits.measure(model, self.data)
                row = {"level": level, "parts": int(model.history_["parts"][-1])}
                row |= {key: facts[key] for key in ("fit_seconds", "accuracy", "out_of_time")}
                rows.append({**row, **self._facts(Duals.of(model), self.final)})
        return {"levels": rows, "rows": len(self.data.y)}

    def _libsvm(self, tol: float, iterations: int) -> SVC:
        kept = {key: self.settings[key] for key in self.settings if key != "max_time"}
        return SVC(**kept, tol=tol, max_iter=iterations, cache_size=1000)

    def _libsvm_fit(self, iterations: int) -> Cell:
        model = self._libsvm(1e-3, iterations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            facts = objective.measure(model, self.data)
        return {**facts, **self._facts(self._libsvm_duals(model), self.libsvm_final)}

    def _libsvm_duals(self, model: SVC) -> Duals:
        signed, rows = np.ravel(model.dual_coef_), model.support_
        decisions = model.decision_function(self.data.X[rows]) - model.intercept_[0]
        return Duals(rows, signed, objective_of(signed, decisions))


# -------------------------------------------------------------------------------------- page

METHODS = {
    "levels": "DC-SVM, by level",
    "exact": "exact, at once",
    "libsvm": "LIBSVM (SVC)",
    "cascade": "Cascade",
    "llsvm": "LLSVM",
    "fastfood": "FastFood",
    "ltpu": "LTPU",
}
LADDERS = {
    "exact": TOLS,
    "cascade": CASCADE_TOLS,
    "libsvm": ITERATIONS,
    **dict.fromkeys(approximations.FEATURE_MAPS, SIZES),
}
FIGURES = {"rbf": "dc_figure_3", "poly": "dc_figure_4"}


def _points(cells: Cells, data_set: str, kernel: str, method: str) -> list[tuple[str, Cell]]:
    """Return what a method ended with, in the order of its effort, and what names each point."""
    start = f"{data_set}/{_start(kernel)}"
    if method == "levels":
        cell = cells.get(f"{start}/levels", {"levels": []})
        return [(f"{each['parts']:,} clusters", each) for each in cell["levels"]]
    names = {"exact": "gap {:g}", "cascade": "gap {:g}", "libsvm": "{:,} iterations"}
    text = names.get(method, "{:,} features")
    found = (
        (text.format(value), cells.get(f"{start}/{method}/{value:g}")) for value in LADDERS[method]
    )
    return [(name, cell) for name, cell in found if cell is not None]


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Method", "Until", "Seconds", "Relative error", "Recall", "Accuracy"]
    for kernel, table in FIGURES.items():
        yield table, columns, _rows(cells, kernel)


def _rows(cells: Cells, kernel: str) -> Rows:
    for data_set in DATA_SETS:
        for method, title in METHODS.items():
            for until, cell in _points(cells, data_set, kernel, method):
                late = "†" if cell.get("out_of_time") else ""
                error = f"{cell['error']:.2g}" if "error" in cell else NONE
                yield [
                    name_of(data_set),
                    title,
                    until,
                    seconds(cell["fit_seconds"]) + late,
                    error,
                    percent(cell.get("recall")),
                    percent(cell["accuracy"]),
                ]


def draw_figure(cells: Cells, folder: Path) -> None:
    """Draw error, accuracy and recall over seconds, a row of panels each."""
    for kernel, name in FIGURES.items():
        measured = [each for each in DATA_SETS if _points(cells, each, kernel, "levels")]
        labels = {"error": "relative error", "accuracy": "accuracy", "recall": "recall"}
        panels = {
            f"{name_of(each)}, {KERNELS[kernel]}: {label}": partial(_fill, cells, each, kernel, key)
            for key, label in labels.items()
            for each in measured
        }
        draw(
            folder / f"{name}.svg", panels, columns=max(1, len(measured) if kernel == "rbf" else 3)
        )


def _fill(cells: Cells, data_set: str, kernel: str, key: str, axis: Any) -> None:
    for number, (method, title) in enumerate(METHODS.items()):
        points = [
            (cell["fit_seconds"], cell[key])
            for _, cell in _points(cells, data_set, kernel, method)
            if key in cell and (key != "error" or cell[key] > 0)
        ]
        if points:
            axis.plot(*zip(*points, strict=True), f"C{number}.-", label=title)
    axis.set(xscale="log", xlabel="seconds", yscale="log" if key == "error" else "linear")
    axis.xaxis.set_minor_formatter("")  # those of less than a decade overlap
    axis.legend(fontsize="x-small")
