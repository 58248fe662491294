"""[SODM] Figure 4: objective and accuracy of every linear ODM solver over passes and seconds.

The objective comes from ``history_`` of one long fit; the accuracy from fits that are stopped after
1, 2, 3, 5, 8, ... iterations. A gradient evaluation is that of one row's loss.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race import data, objective
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import (
    NONE,
    Cells,
    Rows,
    Table,
    name_of,
    percent,
    seconds,
    undisturbed,
)
from benchmarks.race.tables import (
    draw as draw_panels,
)

from .accuracy import linear

DATA_SETS = ("phishing", "a9a", "cod-rna", "ijcnn1", "skin_nonskin", "susy_30k")
SOLVERS = {
    "newton": "Newton",
    "dual": "dual coordinate descent",
    "svrg": "SVRG",
    "dsvrg": "DSVRG",
    "sampled_svrg": "SVRG on samples",
    "pegasos": "SGD",
}
C = 1.0
MAX_TIME = 60.0
TOL, REFERENCE_TOL = 1e-6, 1e-9
QUICK_ROWS = 2_000
STOPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
CURVE_POINTS = 200
CURVE_COLUMNS = ("seconds", "primal", "gradient_evaluations")


def run(store: Store, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing."""
    for name in names:
        rows = partial(data.whole_set, name, QUICK_ROWS if quick else None)
        split = cache(lambda rows=rows: data.random_split(*rows(), 0))
        shared = {"C": C, "max_time": max_time}
        measure_reference(store, name, split, shared | {"tol": REFERENCE_TOL})
        for solver in SOLVERS:
            measure_solver(store, name, solver, split, shared | {"tol": TOL})


def measure_reference(
    store: Store, name: str, split: Callable[[], DataSet], settings: dict[str, Any]
) -> None:
    """Find the optimum by a long run of Newton's method."""
    settings = {**settings, "solver": "newton"}

    def measure() -> Cell:
        model = _fitted(settings, split())
        return {"primal": float(np.min(model.history_["primal"])), "gap": model.relative_gap_}

    store.cell(f"{name}/reference", settings, measure)


def measure_solver(
    store: Store,
    name: str,
    solver: str,
    split: Callable[[], DataSet],
    settings: dict[str, Any],
) -> None:
    """Measure the curve of a solver, then its accuracy at several stops before the end."""
    settings = {**settings, "solver": solver}

    def measure_curve() -> Cell:
        model = _fitted(settings, split())
        return {**objective.score(model.predict, split()), **_ending(model, split())}

    curve = store.cell(f"{name}/{solver}/curve", settings, measure_curve)
    for stop in (each for each in STOPS if each < curve["iterations"]):
        stopped = {**settings, "max_iter": stop}

        def measure_stop(stopped: dict[str, Any] = stopped) -> Cell:
            model = _fitted(stopped, split())
            last = {each: float(model.history_[each][-1]) for each in CURVE_COLUMNS}
            return {**objective.score(model.predict, split()), **last}

        store.cell(f"{name}/{solver}/stop/{stop}", stopped, measure_stop)


def _fitted(settings: dict[str, Any], split: DataSet) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stopped before the gap was reached
        return linear("odm", **settings).fit(split.X, split.y)


def _ending(model: Any, split: DataSet) -> Cell:
    history = model.history_
    count = len(history["seconds"])
    kept = np.unique(np.geomspace(1, count, min(count, CURVE_POINTS)).astype(int)) - 1
    curve = {name: history[name][kept].tolist() for name in CURVE_COLUMNS}
    iterations = int(history["iteration"][-1])
    return {"history": curve, "rows": len(split.y), "iterations": iterations}


# -------------------------------------------------------------------------------------- page

ERROR = 1e-4
# Below this the rounding of objectives is what one sees.
SMALLEST_ERROR = 1e-9
Curve = list[tuple[float, float]]


def tables(cells: Cells) -> Iterator[Table]:
    """Yield the table of all solvers."""
    columns = ["Data set", "Solver", "Passes to 1e-4", "Seconds to 1e-4", "SGD's passes ÷ its own"]
    yield "linear_solvers", [*columns, "Error at the end", "Accuracy"], _solvers(cells)
    columns = ["Data set", "SVRG: passes to 1e-4", "DSVRG", "SVRG: s to 1e-4", "DSVRG"]
    yield "linear_claims", [*columns, "DSVRG ÷ SVRG, seconds"], _claims(cells)


def _claims(cells: Cells) -> Rows:
    """Compare DSVRG with SVRG on one machine."""
    for data_set in DATA_SETS:
        passes, spent = (
            [_to_error(_errors(cells, data_set, solver, over)) for solver in ("svrg", "dsvrg")]
            for over in ("gradient_evaluations", "seconds")
        )
        shown = [NONE if each is None else f"{each:.3g}" for each in passes]
        plain, ours = spent
        ratio = NONE if plain is None or ours is None else f"{ours / plain:.1f}"
        yield [name_of(data_set), *shown, *map(seconds, spent), ratio]


def _solvers(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        plain = _to_error(_errors(cells, data_set, "pegasos", "gradient_evaluations"))
        for solver, title in SOLVERS.items():
            cell = cells.get(f"{data_set}/{solver}/curve")
            if cell is None:
                continue
            errors = _errors(cells, data_set, solver, "gradient_evaluations")
            passes = _to_error(errors)
            faster = NONE if passes is None or plain is None else f"{plain / passes:.1f}"
            yield [
                name_of(data_set),
                title,
                NONE if passes is None else f"{passes:.3g}",
                seconds(_to_error(_errors(cells, data_set, solver, "seconds"))),
                faster,
                f"{errors[-1][1]:.0e}" if errors else NONE,
                percent(cell["accuracy"]),
            ]


def draw(cells: Cells, folder: Path) -> None:
    """Draw objective and accuracy over passes and over seconds."""
    measured = [name for name in DATA_SETS if f"{name}/reference" in cells]
    for over, label in (("gradient_evaluations", "passes"), ("seconds", "seconds")):
        for curves, what, log in (
            (_errors, "objective error", True),
            (_accuracies, "accuracy", False),
        ):
            found = {
                name_of(name): {
                    title: curve
                    for solver, title in SOLVERS.items()
                    if (curve := curves(cells, name, solver, over))
                }
                for name in measured
            }
            path = folder / f"linear_solvers_{what.split()[0]}_{label}.svg"
            filled = {
                title: partial(_fill, each, label, what, log) for title, each in found.items()
            }
            draw_panels(path, filled)


def _fill(curves: dict[str, Curve], x: str, y: str, log: bool, axis: Any) -> None:
    for title, curve in curves.items():
        axis.plot(*zip(*curve, strict=True), label=title, marker="" if log else ".")
    axis.set(xscale="log", xlabel=x, ylabel=y, yscale="log" if log else "linear")
    axis.legend(fontsize="small")


def _errors(cells: Cells, data_set: str, solver: str, over: str) -> Curve:
    """Return points of relative objective error; passes are evaluations by the number of rows."""
    cell = cells.get(f"{data_set}/{solver}/curve")
    best = _optimum(cells, data_set)
    if cell is None or best is None or _disturbed(cell, over):
        return []
    scale = cell["rows"] if over == "gradient_evaluations" else 1.0
    pairs = zip(cell["history"][over], cell["history"]["primal"], strict=True)
    return [(x / scale, max(primal / best - 1.0, SMALLEST_ERROR)) for x, primal in pairs if x > 0]


def _accuracies(cells: Cells, data_set: str, solver: str, over: str) -> Curve:
    curve = cells.get(f"{data_set}/{solver}/curve")
    if curve is None or _disturbed(curve, over):
        return []
    scale = curve["rows"] if over == "gradient_evaluations" else 1.0
    stops = (cells.get(f"{data_set}/{solver}/stop/{stop}") for stop in STOPS)
    points = [(cell[over] / scale, 100 * cell["accuracy"]) for cell in stops if cell is not None]
    points.append((curve["history"][over][-1] / scale, 100 * curve["accuracy"]))
    return sorted(point for point in points if point[0] > 0)


def _disturbed(cell: Cell, over: str) -> bool:
    """Tell whether seconds were measured while others worked on the machine."""
    return over == "seconds" and not undisturbed([cell])


def _optimum(cells: Cells, data_set: str) -> float | None:
    reference = cells.get(f"{data_set}/reference")
    if reference is None:
        return None
    curves = (cells.get(f"{data_set}/{solver}/curve") for solver in SOLVERS)
    lowest = (min(cell["history"]["primal"]) for cell in curves if cell is not None)
    return min([reference["primal"], *lowest])


def _to_error(errors: Curve) -> float | None:
    """Return where the error is at most 1e-4 for the first time."""
    return next((x for x, error in errors if error <= ERROR), None)
