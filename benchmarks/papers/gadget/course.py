"""[GADGET] Figure 5: accuracy and objective at one site, GADGET as printed, over the iterations."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import Cells
from benchmarks.race.tables import draw as draw_panels

from . import ours
from .figures import name_of
from .sets import optimum_cell, problem_of, reference
from .stepping import NormRule

DATA_SETS = ("secom", "sylva", "a9a")
SITE = 0
ROUNDS, QUICK_ROUNDS = 10_000, 100
GROWTH = 1.15


def measure_course(store: Store, name: str, quick: bool, max_time: float) -> None:
    """Follow one site for a fixed number of iterations."""
    del max_time
    reference(store, name, partial(problem_of, name, quick=quick), quick)
    rounds = QUICK_ROUNDS if quick else ROUNDS
    settings = {"quick": quick, "rounds": rounds}
    store.cell(f"figure_5/{name}", settings, lambda: course(name, quick, rounds))


def course(name: str, quick: bool, rounds: int) -> Cell:
    """Return accuracy and objective of the site, at iterations that grow by a share."""
    problem = problem_of(name, quick=quick)
    history: dict[str, list[float]] = {"round": [], "accuracy": [], "objective": []}
    due = 1

    def watch(number: int, models: np.ndarray, sent: int) -> bool:
        nonlocal due
        if number >= due or number == rounds:
            due = max(number + 1, int(number * GROWTH))
            model = models[[SITE]]
            right = np.where(problem.X_test @ model[0] > 0, 1.0, -1.0) == problem.y_test
            values = (number, float(right.mean()), float(problem.objective(model)[0]))
            for key, value in zip(history, values, strict=True):
                history[key].append(value)
        return False

    # No change is below zero: it runs to the last round.
    ours.printed(problem, rule=NormRule(0.0), max_rounds=rounds, watch=watch)
    return {"history": history}


def draw(cells: Cells, folder: Path) -> None:
    """Draw a panel for each set."""
    found = {name: cells[f"figure_5/{name}"] for name in DATA_SETS if f"figure_5/{name}" in cells}
    best = {name: cells[optimum_cell(name)]["objective"] for name in found}
    filled = {name_of(name): partial(_fill, found[name], best[name]) for name in found}
    draw_panels(folder / "gossip_course.svg", filled)


def _fill(cell: dict[str, Any], best: float, axis: Any) -> None:
    history = cell["history"]
    axis.plot(history["round"], 100 * np.array(history["accuracy"]), color="C0", label="accuracy")
    axis.set(xscale="log", xlabel="iterations", ylabel="accuracy, %")
    other = axis.twinx()
    other.plot(history["round"], np.array(history["objective"]) / best, color="C1")
    other.set(yscale="log", ylabel="objective ÷ optimum")
    axis.plot([], [], color="C1", label="objective")
    axis.legend(fontsize="small", loc="center right")
