"""[SODM] Table 3: the linear kernel; linear ODM, linear SVM and the divided methods beside it.

Mean of five random 80/20 splits. The settings of a loss come from one search on the training rows
of the first split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.papers import search
from benchmarks.papers.sodm import published
from benchmarks.race import data, objective
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import (
    NONE,
    Cells,
    Rows,
    Table,
    figure,
    name_of,
    of_splits,
    percent,
    seconds,
    undisturbed,
)

from . import divided

DATA_SETS = tuple(published.LINEAR)
# Linear classifiers on the whole set; then what the divided methods are measured at.
COLUMNS = ("whole", "early", "levels", "root", "printed")
SPLITS = 5
MAX_TIME = 120.0
QUICK_ROWS = 2_000
C_GRID = tuple(10.0**power for power in range(-2, 5))
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "odm": {"C": C_GRID, "upsilon": (0.01, 0.1, 0.5, 1.0), "theta": (0.0, 0.2, 0.4, 0.6, 0.9)},
    "hinge": {"C": C_GRID},
    "squared_hinge": {"C": C_GRID},
}
# The best score is taken, not the smallest C near it: large C costs a linear machine little.
STANDARD_ERRORS = 0.0
SEARCH_ROWS = (20_000, 20_000)


def run(
    store: Store,
    names: Sequence[str],
    *,
    quick: bool,
    max_time: float = MAX_TIME,
    splits: int = SPLITS,
    columns: Sequence[str] = COLUMNS,
) -> None:
    """Measure what is missing; every set has its first split before one has its second."""
    quick_rows = QUICK_ROWS if quick else None
    for name, number, rows in data.splits_of(names, splits, quick_rows):
        measure_split(store, name, number, rows, max_time, columns)


def measure_split(
    store: Store,
    name: str,
    number: int,
    rows: Callable[[], tuple[Any, Any]],
    max_time: float = MAX_TIME,
    columns: Sequence[str] = COLUMNS,
) -> None:
    """Measure one split of a data set with every loss; ``rows`` is called only if needed."""

    @cache
    def split(which: int) -> DataSet:
        return data.random_split(*rows(), which)

    for loss, grid in GRIDS.items():
        found = _search(store, f"{name}/search/{loss}", loss, split, max_time)
        settings = {each: found[each] for each in grid} | {"max_time": max_time}

        def measure(loss: str = loss, settings: dict[str, Any] = settings) -> Cell:
            return objective.measure(linear(loss, **settings), split(number))

        if "whole" in columns:
            store.cell(f"{name}/{number}/{loss}", settings, measure)
        rest = [each for each in columns if each != "whole"]
        if loss == "odm" and rest:
            divided.measure(store, name, number, partial(split, number), settings, rest)


def _search(
    store: Store,
    cell: str,
    loss: str,
    split: Callable[[int], DataSet],
    max_time: float,
) -> dict[str, Any]:
    kept = {**GRIDS[loss], "standard_errors": STANDARD_ERRORS, "rows": SEARCH_ROWS}

    def choose() -> dict[str, Any]:
        X, y = split(0).X, split(0).y
        make = partial(linear, loss, max_time=max_time)
        best = search.choose_from(make, X, y, GRIDS[loss], STANDARD_ERRORS, SEARCH_ROWS)
        return {"search": best, "features": X.shape[1]}

    found: dict[str, Any] = store.cell(cell, kept, choose)["search"]
    return found


def linear(loss: str, **settings: Any) -> Any:
    """Make a linear classifier of ours."""
    import widemargin

    if loss == "odm":
        return widemargin.LinearODMClassifier(random_state=0, **settings)
    return widemargin.LinearSVMClassifier(loss=loss, random_state=0, **settings)


# -------------------------------------------------------------------------------------- page

TITLES = {"odm": "ODM", "hinge": "SVM, hinge", "squared_hinge": "SVM, squared hinge"}
# Ours may be below the print by so many points.
MARGIN = 0.5


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "ODM (published)", *TITLES.values(), "ODM − published, points"]
    yield "linear_accuracy", columns, _accuracy(cells)
    yield from divided.tables(cells, SPLITS)
    columns = ["Data set", "Rows", "Features", "ODM: C, υ, θ", "Hinge: C", "Squared hinge: C"]
    columns += [f"{title}: s" for title in TITLES.values()]
    yield "linear_settings", columns, _settings(cells)


def draw(cells: Cells, folder: Path) -> None:
    """Draw Figure 3."""
    divided.draw(cells, folder)


def _accuracy(cells: Cells) -> Rows:
    for data_set, theirs in published.LINEAR.items():
        ours = [
            figure(of_splits(cells, data_set, loss, SPLITS), "accuracy", percent, SPLITS)
            for loss in TITLES
        ]
        yield [
            name_of(data_set),
            percent(theirs["whole"][0]),
            *ours,
            _points(cells, data_set, theirs["whole"][0]),
        ]


def _points(cells: Cells, data_set: str, theirs: float) -> str:
    fits = of_splits(cells, data_set, "odm", SPLITS)
    if not fits:
        return NONE
    points = round(100 * (sum(fit["accuracy"] for fit in fits) / len(fits) - theirs), 6)
    return f"{points:+.2f}" if points >= -MARGIN else f"**{points:+.2f}**"


def _settings(cells: Cells) -> Rows:
    for data_set in DATA_SETS:
        searches = {loss: cells.get(f"{data_set}/search/{loss}") for loss in TITLES}
        found = [
            NONE if each is None else ", ".join(f"{each['search'][name]:g}" for name in GRIDS[loss])
            for loss, each in searches.items()
        ]
        fits = of_splits(cells, data_set, "odm", SPLITS)
        rows = f"{fits[0]['rows'] + fits[0]['test_rows']:,}" if fits else NONE
        features = NONE if searches["odm"] is None else str(searches["odm"]["features"])
        of_losses = (undisturbed(of_splits(cells, data_set, loss, SPLITS)) for loss in TITLES)
        times = (figure(each, "fit_seconds", seconds, SPLITS) for each in of_losses)
        yield [name_of(data_set), rows, features, *found, *times]
