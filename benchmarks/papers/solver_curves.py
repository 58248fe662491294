"""[SODM] Figure 4: objective and accuracy of every linear ODM solver as it goes.

The objective comes from ``history_`` of one long fit; the accuracy from fits that are stopped after
1, 2, 3, 5, 8, ... iterations. A gradient evaluation is that of one row's loss.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from . import preparation, scoring
from .linear_tables import linear
from .results import Results

DATA_SETS = ("phishing", "a9a", "cod-rna", "ijcnn1", "skin_nonskin", "susy_30k")
SOLVERS = {
    "newton": "Newton",
    "dual": "dual coordinate descent",
    "svrg": "SVRG",
    "dsvrg": "DSVRG",
    "csvrg": "coreset SVRG",
    "pegasos": "SGD",
}
C = 1.0
MAX_TIME = 60.0
TOL, REFERENCE_TOL = 1e-6, 1e-9
QUICK_ROWS = 2_000
STOPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
CURVE_POINTS = 200
COLUMNS = ("seconds", "primal", "gradient_evaluations")


def run(results: Results, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing."""
    for name in names:
        rows = partial(preparation.whole_set, name, QUICK_ROWS if quick else None)
        split = cache(lambda rows=rows: preparation.random_split(*rows(), 0))
        shared = {"C": C, "max_time": max_time}
        measure_reference(results, name, split, shared | {"tol": REFERENCE_TOL})
        for solver in SOLVERS:
            measure_solver(results, name, solver, split, shared | {"tol": TOL})


def measure_reference(
    results: Results, name: str, split: Callable[[], preparation.Split], settings: dict[str, Any]
) -> None:
    """Find the optimum by a long run of Newton's method."""
    settings = {**settings, "solver": "newton"}

    def measure() -> scoring.Cell:
        model = _fitted(settings, split())
        return {"primal": float(np.min(model.history_["primal"])), "gap": model.relative_gap_}

    results.cell(f"{name}/reference", settings, measure)


def measure_solver(
    results: Results,
    name: str,
    solver: str,
    split: Callable[[], preparation.Split],
    settings: dict[str, Any],
) -> None:
    """Measure the curve of a solver, then its accuracy at several stops before the end."""
    settings = {**settings, "solver": solver}

    def measure_curve() -> scoring.Cell:
        model = _fitted(settings, split())
        return {**scoring.score(model.predict, split()), **_ending(model, split())}

    curve = results.cell(f"{name}/{solver}/curve", settings, measure_curve)
    for stop in (each for each in STOPS if each < curve["iterations"]):
        stopped = {**settings, "max_iter": stop}

        def measure_stop(stopped: dict[str, Any] = stopped) -> scoring.Cell:
            model = _fitted(stopped, split())
            last = {each: float(model.history_[each][-1]) for each in COLUMNS}
            return {**scoring.score(model.predict, split()), **last}

        results.cell(f"{name}/{solver}/stop/{stop}", stopped, measure_stop)


def _fitted(settings: dict[str, Any], split: preparation.Split) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it was stopped before the gap is what is asked for
        return linear("odm", **settings).fit(split.X, split.y)


def _ending(model: Any, split: preparation.Split) -> scoring.Cell:
    history = model.history_
    count = len(history["seconds"])
    kept = np.unique(np.geomspace(1, count, min(count, CURVE_POINTS)).astype(int)) - 1
    curve = {name: history[name][kept].tolist() for name in COLUMNS}
    iterations = int(history["iteration"][-1])
    return {"history": curve, "rows": len(split.y), "iterations": iterations}
