"""[SODM] Tables 2 and 4: {Ca, DiP, DC, S} x {SVM, ODM} with an RBF kernel, and the exact solution.

Mean of five random 80/20 splits. C and gamma come from one search per loss on the training rows
of the first split; ODM's theta and upsilon stay at their defaults (0.2, 0.5).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from . import contestants, preparation, published, scoring, search
from .results import Results

DATA_SETS = tuple(published.SODM)
SPLITS = 5
# Seconds a fit may take; a divided fit then returns its last complete level.
MAX_TIME = 120.0
QUICK_ROWS = 2_000
COLUMNS = ("exact", *contestants.VARIANTS)


def run(
    results: Results,
    names: Sequence[str],
    *,
    quick: bool,
    max_time: float = MAX_TIME,
    splits: int = SPLITS,
    columns: Sequence[str] = COLUMNS,
) -> None:
    """Measure what is missing; every set has its first split before one has its second."""
    quick_rows = QUICK_ROWS if quick else None
    for name, number, rows in preparation.splits_of(names, splits, quick_rows):
        measure_split(results, name, number, rows, max_time, columns)


def measure_split(
    results: Results,
    name: str,
    number: int,
    rows: Callable[[], tuple[Any, Any]],
    max_time: float = MAX_TIME,
    columns: Sequence[str] = COLUMNS,
) -> None:
    """Measure one split of a data set with every method; ``rows`` is asked only if needed."""

    def split(number: int) -> preparation.Split:
        return preparation.random_split(*rows(), number)

    this_split = cache(partial(split, number))
    for loss in contestants.LOSSES:
        chosen = _search(results, f"{name}/search/{loss}", loss, partial(split, 0), max_time)
        settings = {"C": chosen["C"], "gamma": chosen["gamma"], "max_time": max_time}
        _measure(results, f"{name}/{number}/{loss}", loss, this_split, settings, columns)


def _search(
    results: Results, cell: str, loss: str, split: Callable[[], preparation.Split], max_time: float
) -> dict[str, Any]:
    grid = {"C": search.C_GRID, "gamma": search.GAMMA_GRID, "fit_rows": search.FIT_ROWS}

    def choose() -> dict[str, Any]:
        make = partial(contestants.exact, loss, max_time=max_time)
        X, y = split().X, split().y
        return {"search": search.choose(make, X, y), "features": X.shape[1]}

    found: dict[str, Any] = results.cell(cell, grid, choose)["search"]
    return found


def _measure(
    results: Results,
    start: str,
    loss: str,
    split: Callable[[], preparation.Split],
    settings: dict[str, Any],
    columns: Sequence[str],
) -> None:
    if "exact" in columns:
        exact = partial(contestants.exact, loss, **settings)
        results.cell(f"{start}/exact", settings, lambda: scoring.measure(exact(), split()))
    divided = {**settings, "leaf_rows": contestants.LEAF_ROWS}
    for method in contestants.STRATEGIES:
        with tempfile.TemporaryDirectory() as folder:  # the root goes on from the leaves
            for variant in (each for each in contestants.VARIANTS if each in columns):
                measure = partial(_divided, split, loss, method, variant, settings, folder)
                results.cell(f"{start}/{method}/{variant}", divided, measure)


def _divided(
    split: Callable[[], preparation.Split],
    loss: str,
    method: str,
    variant: str,
    settings: dict[str, Any],
    checkpoint: str,
) -> scoring.Cell:
    levels = contestants.levels_for(len(split().y))
    model = contestants.divided(loss, method, variant, levels, **settings, checkpoint=checkpoint)
    return {**scoring.measure_levels(model, split()), "levels": levels}
