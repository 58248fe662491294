"""[SODM] Tables 2 and 4: {Ca, DiP, DC, S} x {SVM, ODM} with an RBF kernel, and the exact solution.

Mean of five random 80/20 splits. C and gamma come from one search per loss on the training rows
of the first split; ODM's theta and upsilon stay at their defaults (0.2, 0.5).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from benchmarks.papers import search
from benchmarks.race import data, objective
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store
from widemargin import Cascade, Clustered, ODMClassifier, Preserving, Stratified, SVMClassifier

from . import published

# Machines without an intercept, as in the papers.
LOSSES: dict[str, Any] = {
    "odm": partial(ODMClassifier, fit_intercept=False),
    "svm": partial(SVMClassifier, fit_intercept=False),
}
STRATEGIES: dict[str, Any] = {
    "cascade": Cascade,
    "preserving": Preserving,
    "clustered": partial(Clustered, n_sample=1000),  # the sample of DC-SVM's paper
    "stratified": Stratified,
}
VARIANTS = ("early", "root", "printed")
FAN_IN, LEAF_ROWS = 4, 3_200


def levels_for(rows: int) -> int:
    """Divide until leaves have at most 3,200 rows; in these sets they have 1,400 to 3,100."""
    levels = 1
    while rows > LEAF_ROWS * FAN_IN**levels:
        levels += 1
    return levels


def exact(loss: str, C: float, gamma: float, **settings: Any) -> Any:
    """Solve the whole set at once."""
    return LOSSES[loss](C=C, gamma=gamma, strategy="exact", random_state=0, **settings)


def strategy_of(method: str, levels: int, variant: str) -> Any:
    """Divide and stop at the leaves ("early"), at "level 2", at the root, or as printed."""
    stops = {"early": levels, "root": 0, "printed": 0}
    stop = stops[variant] if variant in stops else int(variant.split()[1])
    printed = variant == "printed"
    return STRATEGIES[method](levels=levels, fan_in=FAN_IN, stop_level=stop, printed=printed)


DATA_SETS = tuple(published.SODM)
SPLITS = 5
# Seconds a fit may take; a divided fit then returns its last complete level.
MAX_TIME = 120.0
QUICK_ROWS = 2_000
COLUMNS = ("exact", *VARIANTS, "levels")


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
    """Measure one split of a data set with every method; ``rows`` is called only if needed."""

    def split(number: int) -> DataSet:
        return data.random_split(*rows(), number)

    this_split = cache(partial(split, number))
    for loss in LOSSES:
        chosen = _search(store, f"{name}/search/{loss}", loss, partial(split, 0), max_time)
        settings = {"C": chosen["C"], "gamma": chosen["gamma"], "max_time": max_time}
        # Figure 1 shows the levels between leaves and root, of the first split.
        shown = [each for each in columns if each != "levels" or number == 0]
        _measure(store, f"{name}/{number}/{loss}", loss, this_split, settings, shown)


def _search(
    store: Store, cell: str, loss: str, split: Callable[[], DataSet], max_time: float
) -> dict[str, Any]:
    grid = {"C": search.C_GRID, "gamma": search.GAMMA_GRID, "fit_rows": search.FIT_ROWS}

    def choose() -> dict[str, Any]:
        make = partial(exact, loss, max_time=max_time)
        X, y = split().X, split().y
        return {"search": search.choose(make, X, y), "features": X.shape[1]}

    found: dict[str, Any] = store.cell(cell, grid, choose)["search"]
    return found


def _measure(
    store: Store,
    start: str,
    loss: str,
    split: Callable[[], DataSet],
    settings: dict[str, Any],
    columns: Sequence[str],
) -> None:
    if "exact" in columns:
        make = partial(exact, loss, **settings)
        store.cell(f"{start}/exact", settings, lambda: objective.measure(make(), split()))
    divided = {**settings, "leaf_rows": LEAF_ROWS}
    for method in STRATEGIES:
        fits = objective.LevelFits()
        with tempfile.TemporaryDirectory() as folder:  # a level continues from the one before it
            for variant in stops_of(columns, split):
                measure = partial(_divided, split, loss, method, variant, settings, folder, fits)
                store.cell(f"{start}/{method}/{variant}", divided, measure)


def stops_of(columns: Sequence[str], split: Callable[[], DataSet]) -> Iterator[str]:
    """Yield the variants among the columns, from the leaves towards the root."""
    if "early" in columns:
        yield "early"
    if "levels" in columns:
        between = range(levels_for(len(split().y)) - 1, 0, -1)
        yield from (f"level {level}" for level in between)
    yield from (each for each in ("root", "printed") if each in columns)


def _divided(
    split: Callable[[], DataSet],
    loss: str,
    method: str,
    variant: str,
    settings: dict[str, Any],
    checkpoint: str,
    fits: objective.LevelFits,
) -> Cell:
    levels = levels_for(len(split().y))
    strategy = strategy_of(method, levels, variant)
    kept: dict[str, Any] = {"strategy": strategy, "checkpoint": checkpoint, "random_state": 0}
    model = LOSSES[loss](**settings, **kept)
    return {**fits.measure(model, split()), "levels": levels}
