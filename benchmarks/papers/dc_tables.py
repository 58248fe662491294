"""[DC] Tables 1, 2 and 6 on the data sets we have, with the printed C and gamma.

Table 2: 256 clusters, merged by four; "early" stops at 64 clusters, "full" is the whole problem.
Table 1: one level of 50 or 100 clusters, predicted in three ways. Table 6: early prediction with
256, 64 and 16 clusters against bagging, which is as many disjoint random parts that vote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.datasets import load
from widemargin import Cascade, SVMClassifier

from . import combinations, contestants, preparation, published, scoring, search
from .results import Results

DATA_SETS = tuple(published.DC_TABLE_2)
LEVELS = 4
# Levels to stop at; the fit that stops higher goes on from where the one before stopped.
STOPS = {"ijcnn1": (4, 3, 2, 0), "census_income": (3, 0), "covtype_binary": (4, 3, 2, 0)}
# Rows for scikit-learn's SVC: all, a fifth as in Table 2, or 20,000 as a measure of time.
SVC_ROWS = {"ijcnn1": (49_990, 9_998), "census_income": (), "covtype_binary": (20_000,)}
EXACT = ("ijcnn1",)  # also solved at once, and as printed
GAMMA_GRID = tuple(2.0**power for power in range(-10, -1))  # where the print is not legible
MAX_TIME = 600.0
QUICK_ROWS = 4_000


def run(results: Results, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing."""
    for name in names:
        _DataSet(name, results, quick, max_time).run()


class _DataSet:
    def __init__(self, name: str, results: Results, quick: bool, max_time: float) -> None:
        self.name, self.results, self.max_time = name, results, max_time
        self.quick_rows = QUICK_ROWS if quick else None
        self.split = cache(self._split)

    def run(self) -> None:
        C, gamma = published.DC_WIDTHS[self.name]
        if gamma is None:
            gamma = self._search(C)["gamma"]
        self.settings = {"C": C, "gamma": gamma, "max_time": self.max_time}
        self._ladder()
        if self.name in EXACT:
            self._cell("exact", lambda: self._measured(contestants.exact("svm", **self.settings)))
            printed = contestants.STRATEGIES["clustered"](levels=LEVELS, printed=True)
            self._cell("printed", lambda: self._measured(self._classifier(printed)))
        for rows in SVC_ROWS[self.name]:
            self._cell(f"svc/{rows}", partial(self._svc, rows))
        for clusters in published.DC_TABLE_6.get(self.name, {}):
            self._cell(f"bagging/{clusters}", partial(self._bagging, clusters))
        if self.name == "covtype_binary":
            for clusters in published.DC_TABLE_1:
                self._cell(f"combined/{clusters}", partial(self._combined, clusters))

    def _cell(self, name: str, measure: Any) -> scoring.Cell:
        return self.results.cell(f"{self.name}/{name}", self.settings, measure)

    def _split(self) -> preparation.Split:
        if self.name == "ijcnn1":
            return preparation.published_split(load(self.name), self.quick_rows)
        X, y = preparation.whole_set(self.name, self.quick_rows)
        return preparation.random_split(X, y, 0)

    def _search(self, C: float) -> dict[str, Any]:
        def choose() -> dict[str, Any]:
            make = partial(contestants.exact, "svm", max_time=self.max_time)
            split = self.split()
            return {"search": search.choose(make, split.X, split.y, [C], GAMMA_GRID)}

        grid = {"C": C, "gamma": GAMMA_GRID}
        return self.results.cell(f"{self.name}/search", grid, choose)["search"]

    def _classifier(self, strategy: Any, **settings: Any) -> SVMClassifier:
        everything: dict[str, Any] = {**self.settings, **settings}
        return SVMClassifier(strategy=strategy, random_state=0, **everything)

    def _measured(self, model: Any) -> scoring.Cell:
        return scoring.measure(model, self.split())

    def _ladder(self) -> None:
        """Fit up to every level asked for; checkpoints spare the levels already done."""
        with tempfile.TemporaryDirectory() as folder:
            for stop in STOPS[self.name]:
                self._cell(f"clusters/{4**stop}", partial(self._rung, stop, folder))

    def _rung(self, stop: int, folder: str) -> scoring.Cell:
        model = self._classifier(
            contestants.STRATEGIES["clustered"](levels=LEVELS, stop_level=stop), checkpoint=folder
        )
        return scoring.measure_levels(model, self.split())

    def _svc(self, rows: int) -> scoring.Cell:
        split = self.split()
        chosen = np.random.default_rng(0).permutation(len(split.y))[:rows]
        some = preparation.Split(split.X[chosen], split.y[chosen], split.X_test, split.y_test)
        C, gamma = self.settings["C"], self.settings["gamma"]
        return scoring.measure(SVC(C=C, gamma=gamma, cache_size=2000), some)

    def _bagging(self, parts: int) -> scoring.Cell:
        """Train disjoint random samples of n / parts rows with C as it is; let them vote."""
        strategy = Cascade(levels=1, fan_in=parts, stop_level=1, printed=True)
        model, split = self._classifier(strategy), self.split()
        facts = scoring.fit(model, split)
        members = partial(combinations.local_decisions, combinations.level_model(model))
        return {**facts, **self._scored(model, lambda X: combinations.vote(members(X)))}

    def _combined(self, clusters: int) -> scoring.Cell:
        """Train one level of clusters; predict by the sum, by a committee, by the nearest."""
        strategy = contestants.STRATEGIES["clustered"](levels=1, fan_in=clusters, stop_level=1)
        model, split = self._classifier(strategy), self.split()
        facts = scoring.fit(model, split)
        level = combinations.level_model(model)
        positive = split.y == model.classes_[1]
        prior = float(positive.mean())
        slopes = combinations.committee_slopes(level, split.X, positive, prior)
        members = partial(combinations.local_decisions, level)
        rules = {
            "naive_sum": lambda X: combinations.naive_sum(members(X)),
            "committee": lambda X: combinations.committee(members(X), slopes, prior),
            "early": model.decision_function,
        }
        scores = {name: self._scored(model, rule) for name, rule in rules.items()}
        return {**facts, "parts": int(model.history_["parts"][-1]), "rules": scores}

    def _scored(self, model: Any, decide: Any) -> scoring.Cell:
        return scoring.score(lambda X: model.classes_[(decide(X) > 0).astype(int)], self.split())
