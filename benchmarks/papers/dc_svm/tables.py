"""[DC] Tables 1, 2 and 6 on the data sets we have, with the printed C and gamma.

Table 2: 256 clusters, merged by four; "early" stops at 64 clusters, "full" is the whole problem.
Table 1: one level of 50 or 100 clusters, predicted in three ways. Table 6: early prediction with
256, 64 and 16 clusters against bagging, which is as many disjoint random parts that vote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.papers import search
from benchmarks.papers.sodm.tables import STRATEGIES, exact
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
    percent,
    seconds,
)
from widemargin import Cascade, SVMClassifier

from . import combinations, published

DATA_SETS = tuple(published.TABLE_2)
LEVELS = 4
# Levels to stop at; a fit that stops nearer to the root continues from the one before.
STOPS = {"ijcnn1": (4, 3, 2, 0), "census_income": (3, 0), "covtype_binary": (4, 3, 2, 0)}
# Rows for scikit-learn's SVC: all, a fifth as in Table 2, or 20,000 as a measure of time.
SVC_ROWS = {"ijcnn1": (49_990, 9_998), "census_income": (), "covtype_binary": (20_000,)}
EXACT = ("ijcnn1",)  # also solved at once, and as printed
GAMMA_GRID = tuple(2.0**power for power in range(-10, -1))  # where the print is not legible
MAX_TIME = 600.0
QUICK_ROWS = 4_000


def run(store: Store, names: Sequence[str], *, quick: bool, max_time: float = MAX_TIME) -> None:
    """Measure what is missing."""
    for name in names:
        _DataSet(name, store, quick, max_time).run()


class _DataSet:
    def __init__(self, name: str, store: Store, quick: bool, max_time: float) -> None:
        self.name, self.store, self.max_time = name, store, max_time
        self.quick_rows = QUICK_ROWS if quick else None
        self.split = cache(self._split)

    def run(self) -> None:
        C, gamma = published.WIDTHS[self.name]
        if gamma is None:
            gamma = self._search(C)["gamma"]
        self.settings = {"C": C, "gamma": gamma, "max_time": self.max_time}
        self._ladder()
        if self.name in EXACT:
            self._cell("exact", lambda: self._measured(exact("svm", **self.settings)))
            printed = STRATEGIES["clustered"](levels=LEVELS, printed=True)
            self._cell("printed", lambda: self._measured(self._classifier(printed)))
        for rows in SVC_ROWS[self.name]:
            self._cell(f"svc/{rows}", partial(self._svc, rows))
        for clusters in published.TABLE_6.get(self.name, {}):
            self._cell(f"bagging/{clusters}", partial(self._bagging, clusters))
        if self.name == "covtype_binary":
            for clusters in published.TABLE_1:
                self._cell(f"combined/{clusters}", partial(self._combined, clusters))

    def _cell(self, name: str, measure: Any) -> Cell:
        return self.store.cell(f"{self.name}/{name}", self.settings, measure)

    def _split(self) -> DataSet:
        if self.name == "ijcnn1":
            return data.published_split(data.load(self.name), self.quick_rows)
        X, y = data.whole_set(self.name, self.quick_rows)
        return data.random_split(X, y, 0)

    def _search(self, C: float) -> dict[str, Any]:
        def choose() -> dict[str, Any]:
            make = partial(exact, "svm", max_time=self.max_time)
            split = self.split()
            return {"search": search.choose(make, split.X, split.y, [C], GAMMA_GRID)}

        grid = {"C": C, "gamma": GAMMA_GRID}
        return self.store.cell(f"{self.name}/search", grid, choose)["search"]

    def _classifier(self, strategy: Any, **settings: Any) -> SVMClassifier:
        everything: dict[str, Any] = {**self.settings, **settings}
        return SVMClassifier(strategy=strategy, fit_intercept=False, random_state=0, **everything)

    def _measured(self, model: Any) -> Cell:
        return objective.measure(model, self.split())

    def _ladder(self) -> None:
        """Fit to every level; checkpoints save the levels that are done."""
        with tempfile.TemporaryDirectory() as folder:
            for stop in STOPS[self.name]:
                self._cell(f"clusters/{4**stop}", partial(self._rung, stop, folder))

    def _rung(self, stop: int, folder: str) -> Cell:
        model = self._classifier(
            STRATEGIES["clustered"](levels=LEVELS, stop_level=stop), checkpoint=folder
        )
        return objective.measure_levels(model, self.split())

    def _svc(self, rows: int) -> Cell:
        split = self.split()
        chosen = np.random.default_rng(0).permutation(len(split.y))[:rows]
        some = DataSet(split.X[chosen], split.y[chosen], split.X_test, split.y_test)
        C, gamma = self.settings["C"], self.settings["gamma"]
        return objective.measure(SVC(C=C, gamma=gamma, cache_size=2000), some)

    def _bagging(self, parts: int) -> Cell:
        """Train disjoint random samples of n / parts rows with C as it is; let them vote."""
        strategy = Cascade(levels=1, fan_in=parts, stop_level=1, printed=True)
        model, split = self._classifier(strategy), self.split()
        facts = objective.fit(model, split)
        members = partial(combinations.local_decisions, combinations.level_model(model))
        return {**facts, **self._scored(model, lambda X: combinations.vote(members(X)))}

    def _combined(self, clusters: int) -> Cell:
        """Train one level of clusters; predict by the sum, by a committee, by the nearest."""
        strategy = STRATEGIES["clustered"](levels=1, fan_in=clusters, stop_level=1)
        model, split = self._classifier(strategy), self.split()
        facts = objective.fit(model, split)
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

    def _scored(self, model: Any, decide: Any) -> Cell:
        return objective.score(lambda X: model.classes_[(decide(X) > 0).astype(int)], self.split())


# -------------------------------------------------------------------------------------- page

# Row of our Table 2: what is printed for it, where our cell is.
METHODS = {
    "DC-SVM (early)": ("early", "clusters/64"),
    "DC-SVM": ("full", "clusters/1"),
    "DC-SVM, as printed": ("full", "printed"),
    "exact, at once": (None, "exact"),
    "LIBSVM (SVC)": ("libsvm", "svc/49990"),
    "LIBSVM (SVC), a fifth": ("libsvm_fifth", "svc/9998"),
    "LIBSVM (SVC), 20,000 rows": (None, "svc/20000"),
}
RULES = {"naive_sum": "sum (5)", "committee": "committee", "early": "early (6)"}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Method", "Published", "Ours", "Published s", "Our s", "Predict s"]
    yield "dc_table_2", columns, _table_2(cells)
    columns = ["Clusters", "Prediction", "Published", "Ours", "Published ms", "Our ms"]
    yield "dc_table_1", columns, _table_1(cells)
    columns = ["Data set", "Parts", "Early, published", "Early", "Bagging, published", "Bagging"]
    yield "dc_table_6", columns, _table_6(cells)


def _table_2(cells: Cells) -> Rows:
    for data_set, printed in published.TABLE_2.items():
        for method, (theirs, ours) in METHODS.items():
            accuracy, spent = (None, None) if theirs is None else printed[theirs]
            measured = _some(cells, f"{data_set}/{ours}")
            if not measured and (theirs is None or ours == "printed"):
                continue  # nothing on either side
            yield [
                name_of(data_set),
                method,
                percent(accuracy),
                figure(measured, "accuracy", percent, 1),
                seconds(spent),
                figure(measured, "fit_seconds", seconds, 1),
                figure(measured, "predict_seconds", seconds, 1),
            ]


def _table_1(cells: Cells) -> Rows:
    for clusters, printed in published.TABLE_1.items():
        cell = cells.get(f"covtype_binary/combined/{clusters}")
        for rule, (accuracy, milliseconds) in printed.items():
            ours, each = NONE, NONE
            if cell is not None:
                score = cell["rules"][rule]
                ours = percent(score["accuracy"])
                each = f"{1000 * score['predict_seconds'] / score['test_rows']:.2g}"
            start = [str(clusters), RULES[rule], percent(accuracy)]
            yield [*start, ours, f"{milliseconds:g}", each]


def _table_6(cells: Cells) -> Rows:
    for data_set, printed in published.TABLE_6.items():
        for parts, theirs in printed.items():
            row = [name_of(data_set), str(parts)]
            for column, ours in (("early", "clusters"), ("bagging", "bagging")):
                measured = _some(cells, f"{data_set}/{ours}/{parts}")
                row += [percent(theirs[column]), figure(measured, "accuracy", percent, 1)]
            yield row


def _some(cells: Cells, name: str) -> list[Cell]:
    return [cells[name]] if name in cells else []
