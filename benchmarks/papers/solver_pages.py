"""[SODM] Figure 4 from ours: pictures of all solvers, and how far each one gets how soon."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import panels

from .figures import NONE, Cells, Rows, name_of, percent, seconds
from .solver_curves import DATA_SETS, SOLVERS, STOPS

ERROR = 1e-4
# Below this the rounding of objectives is what one sees.
SMALLEST_ERROR = 1e-9
Curve = list[tuple[float, float]]


def tables(cells: Cells) -> Iterator[tuple[str, list[str], Rows]]:
    """Give the table of all solvers."""
    columns = ["Data set", "Solver", "Passes to 1e-4", "Seconds to 1e-4", "SGD's passes ÷ its own"]
    yield "linear_solvers", [*columns, "Error at the end", "Accuracy"], _solvers(cells)


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
            panels.draw(path, filled)


def _fill(curves: dict[str, Curve], x: str, y: str, log: bool, axis: Any) -> None:
    for title, curve in curves.items():
        axis.plot(*zip(*curve, strict=True), label=title, marker="" if log else ".")
    axis.set(xscale="log", xlabel=x, ylabel=y, yscale="log" if log else "linear")
    axis.legend(fontsize="small")


def _errors(cells: Cells, data_set: str, solver: str, over: str) -> Curve:
    """Return points of relative objective error; passes are evaluations by the number of rows."""
    cell = cells.get(f"{data_set}/{solver}/curve")
    best = _optimum(cells, data_set)
    if cell is None or best is None:
        return []
    scale = cell["rows"] if over == "gradient_evaluations" else 1.0
    pairs = zip(cell["history"][over], cell["history"]["primal"], strict=True)
    return [(x / scale, max(primal / best - 1.0, SMALLEST_ERROR)) for x, primal in pairs if x > 0]


def _accuracies(cells: Cells, data_set: str, solver: str, over: str) -> Curve:
    curve = cells.get(f"{data_set}/{solver}/curve")
    if curve is None:
        return []
    scale = curve["rows"] if over == "gradient_evaluations" else 1.0
    stops = (cells.get(f"{data_set}/{solver}/stop/{stop}") for stop in STOPS)
    points = [(cell[over] / scale, 100 * cell["accuracy"]) for cell in stops if cell is not None]
    points.append((curve["history"][over][-1] / scale, 100 * curve["accuracy"]))
    return sorted(point for point in points if point[0] > 0)


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
