"""[mcODM]: its accuracy beside that of the multi-class SVMs, and of one ODM per class; linear.

Mean of five random 80/20 splits of the training part, of at most 10,000 rows. Every method has the
same number of settings tried, by one search on the training rows of the first split: where ODM has
values of υ and θ, an SVM has more values of C. They are chosen by the mean accuracy of five folds
of at most 1,000 training rows, and otherwise by 2,000 rows to train on and up to 4,000 others. C is
given as a multiple of 1 / mean ‖x‖², the constant feature included, so that one grid suits all
sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from statistics import mean, stdev
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.race import data, objective
from benchmarks.race.data import AS_PUBLISHED, BYTES, MAX_ABS, TF_IDF, UNIT, DataSet
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, name_of, of_splits, percent

SCALINGS = {
    "iris": UNIT,
    "glass": UNIT,
    "dna": AS_PUBLISHED,
    "satimage": UNIT,
    "letter": AS_PUBLISHED,
    "usps": AS_PUBLISHED,
    "mnist": BYTES,
    "kddcup99": MAX_ABS,
    "news20_t": TF_IDF,
    "news20_bydate": TF_IDF,
    "clinc150": TF_IDF,
    "sector": AS_PUBLISHED,
}
DATA_SETS = tuple(SCALINGS)
METHODS = {
    "mcodm": "mcODM",
    "ww": "WW",
    "cs": "CS",
    "llw": "LLW",
    "ovr": "OVR",
    "ovr_odm": "OVR-ODM",
}
SPLITS = 5
MAX_TIME, SEARCH_TIME = 20.0, 5.0
# Sets of many weights have three times the seconds, and at most three splits.
LARGE, TIMES, SPLITS_OF_LARGE = ("news20_bydate", "sector"), 3.0, 3
ROWS, QUICK_ROWS = 10_000, 300
FOLDED_ROWS, FOLDS = 1_000, 5
SEARCH_ROWS = (2_000, 4_000)
# Multiples of 1 / mean ‖x‖².
POWERS = (-1.0, 2.5)
C_OF_ODM = tuple(float(c) for c in np.logspace(*POWERS, 8))
UPSILONS, THETAS = (0.2, 0.8), (0.2, 0.6)
TRIED = len(C_OF_ODM) * len(UPSILONS) * len(THETAS)


def run(
    store: Store,
    names: Sequence[str],
    *,
    quick: bool,
    max_time: float = MAX_TIME,
    splits: int = SPLITS,
) -> None:
    """Measure what is missing, set by set."""
    for name in names:
        large = name in LARGE
        measure_set(
            store,
            name,
            QUICK_ROWS if quick else ROWS,
            max_time * (TIMES if large else 1.0),
            SEARCH_TIME * (TIMES if large else 1.0),
            min(splits, SPLITS_OF_LARGE) if large else splits,
        )


def measure_set(
    store: Store, name: str, rows: int, max_time: float, search_time: float, splits: int
) -> None:
    """Measure all methods on one data set."""

    @cache
    def split(number: int) -> DataSet:
        X, y = data.whole_set(name, rows)
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=number)
        return DataSet(X[train], y[train], X[test], y[test]).scaled(SCALINGS[name])

    shared = {"rows": rows, "max_time": max_time}
    for method in METHODS:
        searched = {"grid": settings_of(method), "rows": rows, "max_time": search_time}
        found = store.cell(
            f"{name}/search/{method}", searched, lambda m=method: choose(m, split(0), search_time)
        )["search"]
        # The store rounds what was found: settings must be the same when they come from there.
        nearest = min(searched["grid"], key=lambda each, f=found: abs(each["c"] - f["c"]))
        chosen = {**{key: found[key] for key in nearest}, "c": nearest["c"]} | shared
        for number in range(splits):

            def measure(
                number: int = number, method: str = method, chosen: dict[str, Any] = found
            ) -> Cell:
                rows = split(number)
                return objective.measure(make(method, chosen, rows.X, max_time), rows)

            store.cell(f"{name}/{number}/{method}", chosen, measure)


def settings_of(method: str) -> list[dict[str, float]]:
    """Return the settings that are tried, from the smallest C on; of all methods as many."""
    if method in ("mcodm", "ovr_odm"):
        return [
            {"c": c, "upsilon": upsilon, "theta": theta}
            for c in C_OF_ODM
            for upsilon in UPSILONS
            for theta in THETAS
        ]
    return [{"c": float(c)} for c in np.logspace(*POWERS, TRIED)]


def choose(method: str, rows: DataSet, max_time: float) -> Cell:
    """Return the settings of the best accuracy on training rows left out; the first of equals."""
    parts = list(_held_out(rows.y))
    tried = []
    for settings in settings_of(method):
        right = [
            objective.measure(
                make(method, settings, rows.X[fit], max_time),
                DataSet(rows.X[fit], rows.y[fit], rows.X[left], rows.y[left]),
            )
            for fit, left in parts
        ]
        tried.append({**settings, "accuracy": mean(each["accuracy"] for each in right)})
    best = max(tried, key=lambda each: each["accuracy"])
    return {"search": {**best, "tried": tried}, **_size(rows)}


def _size(rows: DataSet) -> Cell:
    return {"features": int(rows.X.shape[1]), "classes": len(np.unique(rows.y))}


def _held_out(y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to train on, and rows to score."""
    if len(y) <= FOLDED_ROWS:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        yield from folds.split(y, y)
        return
    order = np.random.default_rng(0).permutation(len(y))
    cut = min(SEARCH_ROWS[0], int(0.7 * len(y)))
    yield order[:cut], order[cut : cut + SEARCH_ROWS[1]]


def make(method: str, settings: dict[str, float], X: Any, max_time: float) -> Any:
    """Make a classifier; ``c`` becomes C by the mean squared length of the rows."""
    import widemargin

    square = X.multiply(X).sum() if sp.issparse(X) else np.vdot(X, X)
    C = settings["c"] / (float(square) / X.shape[0] + 1.0)
    shared = {"C": C, "max_time": max_time, "random_state": 0, "n_jobs": 1}
    if method in ("mcodm", "ovr_odm"):
        shared |= {"upsilon": settings["upsilon"], "theta": settings["theta"]}
        if method == "mcodm":
            return widemargin.MulticlassODMClassifier(**shared)
        return widemargin.LinearODMClassifier(**shared)
    return widemargin.MulticlassSVMClassifier(method, **shared)


# -------------------------------------------------------------------------------------- page


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Rows", "Features", "Classes", *METHODS.values(), "mcODM − best other"]
    yield "mcodm_accuracy", columns, _accuracy(cells)
    columns = ["mcODM against", "better on", "worse on", "mean difference, points"]
    columns += ["largest difference", "mean without it"]
    yield "mcodm_summary", columns, _summary(cells)
    columns = ["Data set", *(f"{title}: c" for title in METHODS.values())]
    yield "mcodm_settings", columns, _settings(cells)


def _shown(fits: list[Cell]) -> str:
    late = "†" if any(fit.get("out_of_time") for fit in fits) else ""
    accuracies = [fit["accuracy"] for fit in fits]
    spread = f" ± {100 * stdev(accuracies):.2f}" if len(fits) > 1 else ""
    few = f" ({len(fits)})" if len(fits) < SPLITS else ""
    return percent(mean(accuracies)) + spread + late + few


def _means(cells: Cells, data_set: str) -> dict[str, float]:
    """Return the mean accuracy of every method, if all have the same splits."""
    fits = {method: of_splits(cells, data_set, method, SPLITS) for method in METHODS}
    counts = {len(each) for each in fits.values()}
    if counts == {0} or len(counts) > 1:
        return {}
    return {method: mean(fit["accuracy"] for fit in each) for method, each in fits.items()}


def _accuracy(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        fits = {method: of_splits(cells, data_set, method, SPLITS) for method in METHODS}
        if not fits["mcodm"]:
            continue
        first, means = fits["mcodm"][0], _means(cells, data_set)
        size = cells[f"{data_set}/search/mcodm"]
        ahead = NONE
        if means:
            others = max(means[method] for method in METHODS if method != "mcodm")
            ahead = _signed(100 * (means["mcodm"] - others))
        shown = {method: _shown(each) if each else NONE for method, each in fits.items()}
        if means:
            best = max(means.values())
            shown |= {m: f"**{shown[m]}**" for m in means if means[m] == best}
        yield [
            name_of(data_set),
            f"{first['rows'] + first['test_rows']:,}",
            f"{size['features']:,}",
            str(size["classes"]),
            *shown.values(),
            ahead,
        ]


def _summary(cells: Cells) -> Rows:
    means = {name: found for name in DATA_SETS if (found := _means(cells, name))}
    if not means:
        return
    others = {method: title for method, title in METHODS.items() if method != "mcodm"}
    for method, title in others.items():
        yield _compared(title, {name: each["mcodm"] - each[method] for name, each in means.items()})
    ahead = {
        name: each["mcodm"] - max(each[method] for method in others) for name, each in means.items()
    }
    yield _compared("the best of these on each set", ahead)


def _compared(title: str, differences: dict[str, float]) -> list[str]:
    """Count sets by the sign of the difference; show how much of the mean is one set's."""
    points = {name: 100 * each for name, each in differences.items()}
    largest = max(points, key=lambda name: abs(points[name]))
    rest = [each for name, each in points.items() if name != largest]
    return [
        title,
        f"{sum(each > 0 for each in points.values())} of {len(points)}",
        f"{sum(each < 0 for each in points.values())} of {len(points)}",
        _signed(mean(points.values())),
        f"{_signed(points[largest])} ({name_of(largest)})",
        _signed(mean(rest)) if rest else NONE,
    ]


def _signed(points: float) -> str:
    """Show a difference, never -0.00."""
    return f"{round(points, 2) + 0.0:+.2f}"


def _settings(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        found = [cells.get(f"{data_set}/search/{method}") for method in METHODS]
        if found[0] is None:
            continue
        yield [name_of(data_set), *(NONE if each is None else _chosen(each) for each in found)]


def _chosen(cell: Cell) -> str:
    found = cell["search"]
    shown = f"{found['c']:.3g}"
    if any(abs(found["c"] / 10.0**end - 1.0) < 1e-6 for end in POWERS):
        shown = f"**{shown}**"
    if "upsilon" not in found:
        return shown
    return f"{shown}, υ = {found['upsilon']:g}, θ = {found['theta']:g}"
