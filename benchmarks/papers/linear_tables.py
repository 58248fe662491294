"""[SODM] Table 3: the linear kernel; linear ODM, and linear SVM beside it.

Mean of five random 80/20 splits. The settings of a loss come from one search on the training rows
of the first split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from . import preparation, published, scoring, search
from .results import Results

DATA_SETS = tuple(published.LINEAR)
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
    results: Results,
    names: Sequence[str],
    *,
    quick: bool,
    max_time: float = MAX_TIME,
    splits: int = SPLITS,
) -> None:
    """Measure what is missing; every set has its first split before one has its second."""
    quick_rows = QUICK_ROWS if quick else None
    for name, number, rows in preparation.splits_of(names, splits, quick_rows):
        measure_split(results, name, number, rows, max_time)


def measure_split(
    results: Results,
    name: str,
    number: int,
    rows: Callable[[], tuple[Any, Any]],
    max_time: float = MAX_TIME,
) -> None:
    """Measure one split of a data set with every loss; ``rows`` is asked only if needed."""

    @cache
    def split(which: int) -> preparation.Split:
        return preparation.random_split(*rows(), which)

    for loss, grid in GRIDS.items():
        found = _search(results, f"{name}/search/{loss}", loss, split, max_time)
        settings = {each: found[each] for each in grid} | {"max_time": max_time}

        def measure(loss: str = loss, settings: dict[str, Any] = settings) -> scoring.Cell:
            return scoring.measure(linear(loss, **settings), split(number))

        results.cell(f"{name}/{number}/{loss}", settings, measure)


def _search(
    results: Results,
    cell: str,
    loss: str,
    split: Callable[[int], preparation.Split],
    max_time: float,
) -> dict[str, Any]:
    kept = {**GRIDS[loss], "standard_errors": STANDARD_ERRORS, "rows": SEARCH_ROWS}

    def choose() -> dict[str, Any]:
        X, y = split(0).X, split(0).y
        make = partial(linear, loss, max_time=max_time)
        best = search.choose_from(make, X, y, GRIDS[loss], STANDARD_ERRORS, SEARCH_ROWS)
        return {"search": best, "features": X.shape[1]}

    found: dict[str, Any] = results.cell(cell, kept, choose)["search"]
    return found


def linear(loss: str, **settings: Any) -> Any:
    """Make a linear classifier of ours."""
    import widemargin

    if loss == "odm":
        return widemargin.LinearODMClassifier(random_state=0, **settings)
    return widemargin.LinearSVMClassifier(loss=loss, random_state=0, **settings)
