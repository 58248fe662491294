"""The data sets of [DC] that we have, each with the printed C and gamma."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from benchmarks.papers import search
from benchmarks.papers.sodm.tables import exact
from benchmarks.race import data
from benchmarks.race.data import DataSet
from benchmarks.race.store import Cell, Store

from . import published

DATA_SETS = tuple(published.TABLE_2)
GAMMA_GRID = tuple(2.0**power for power in range(-10, -1))  # where the print is not legible
QUICK_ROWS = 4_000


class PaperSet:
    """A data set with its cells of the store.

    Parameters
    ----------
    name : str
        Name of the set.
    store : Store
        Where cells are kept.
    quick : bool
        Take 4,000 rows of each part.
    max_time : float
        Seconds a fit may take.
    """

    def __init__(self, name: str, store: Store, quick: bool, max_time: float) -> None:
        self.name, self.store, self.max_time = name, store, max_time
        self.quick_rows = QUICK_ROWS if quick else None

    @cached_property
    def split(self) -> DataSet:
        """All rows: the published parts, or 80 % drawn at random to train on."""
        if self.name == "ijcnn1":
            return data.published_split(data.load(self.name), self.quick_rows)
        X, y = data.whole_set(self.name, self.quick_rows)
        return data.random_split(X, y, 0)

    def sample(self, rows: int, test_rows: int | None = None) -> DataSet:
        """Draw at most so many training rows, the same every time, and test rows likewise."""
        split = self.split
        chosen = np.random.default_rng(0).permutation(len(split.y))[:rows]
        test = np.arange(len(split.y_test))
        if test_rows is not None:
            test = np.random.default_rng(1).permutation(test)[:test_rows]
        return DataSet(split.X[chosen], split.y[chosen], split.X_test[test], split.y_test[test])

    @cached_property
    def settings(self) -> dict[str, Any]:
        """C and gamma as printed; where gamma is not legible, the best on held-out rows."""
        C, gamma = published.WIDTHS[self.name]
        if gamma is None:
            gamma = self._search(C)["gamma"]
        return {"C": C, "gamma": gamma, "max_time": self.max_time}

    def _search(self, C: float) -> dict[str, Any]:
        def choose() -> dict[str, Any]:
            make = partial(exact, "svm", max_time=self.max_time)
            return {"search": search.choose(make, self.split.X, self.split.y, [C], GAMMA_GRID)}

        grid = {"C": C, "gamma": GAMMA_GRID}
        found: dict[str, Any] = self.store.cell(f"{self.name}/search", grid, choose)["search"]
        return found

    def cell(self, name: str, measure: Callable[[], Cell], **settings: Any) -> Cell:
        """Return a cell of this set, measured if it is missing; name further settings."""
        kept = {**self.settings, **settings}
        return self.store.cell(f"{self.name}/{name}", kept, measure)
