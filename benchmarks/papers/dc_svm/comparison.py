"""[DC] Tables 1, 2 and 6 on the data sets we have, with the printed C and gamma.

Table 2: 256 clusters, merged by four; "early" stops at 64 clusters, "full" is the whole problem.
Table 1: one level of 50 or 100 clusters, predicted in three ways. Table 6: early prediction with
256, 64 and 16 clusters against bagging, which is as many disjoint random parts that vote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.svm import SVC

from benchmarks.papers.sodm.tables import STRATEGIES, exact
from benchmarks.race import objective
from benchmarks.race.store import Cell
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

from . import approximations, combinations, published
from .sets import PaperSet

LEVELS = 4
# Levels to stop at; a fit that stops nearer to the root continues from the one before.
STOPS = {"ijcnn1": (4, 3, 2, 0), "census_income": (3, 0), "covtype_binary": (4, 3, 2, 0)}
# Rows for scikit-learn's SVC: all, a fifth as in Table 2, or 20,000 as a measure of time.
SVC_ROWS = {"ijcnn1": (49_990, 9_998), "census_income": (), "covtype_binary": (20_000,)}
EXACT = ("ijcnn1",)  # also solved at once, with and without an intercept, and as printed


def classifier(settings: dict[str, Any], strategy: Any, **others: Any) -> SVMClassifier:
    """Make a machine without an intercept, as in the paper."""
    return SVMClassifier(
        strategy=strategy, fit_intercept=False, random_state=0, **settings, **others
    )


def measure_table_1(paper: PaperSet) -> None:
    """Measure what is missing of Table 1."""
    if paper.name == "covtype_binary":
        for clusters in published.TABLE_1:
            paper.cell(f"combined/{clusters}", partial(_combined, paper, clusters))


def measure_table_2(paper: PaperSet) -> None:
    """Measure what is missing of Table 2, and the levels of Table 6."""
    measure_levels(paper)
    if paper.name in EXACT:
        paper.cell("exact", partial(_exact, paper))
        paper.cell("exact/intercept", partial(_exact, paper, intercept=True), intercept=True)
        for name, stop in {"printed": 0, "printed/early": LEVELS - 1}.items():
            printed = STRATEGIES["clustered"](levels=LEVELS, stop_level=stop, printed=True)
            paper.cell(name, partial(_fitted, paper, printed))
    cascade = Cascade(levels=LEVELS, fan_in=4, printed=True)
    paper.cell("cascade", partial(_fitted, paper, cascade))
    for rows in SVC_ROWS[paper.name]:
        paper.cell(f"svc/{rows}", partial(_svc, paper, rows))
    approximations.measure_table_2(paper)


def measure_table_6(paper: PaperSet) -> None:
    """Measure what is missing of Table 6."""
    for clusters in published.TABLE_6.get(paper.name, {}):
        paper.cell(f"bagging/{clusters}", partial(_bagging, paper, clusters))
    if paper.name in published.TABLE_6:
        measure_levels(paper)


def measure_levels(paper: PaperSet) -> None:
    """Fit to every level; checkpoints save the levels that are done."""
    fits = objective.LevelFits()
    with tempfile.TemporaryDirectory() as folder:
        for stop in STOPS[paper.name]:
            paper.cell(f"clusters/{4**stop}", partial(_rung, paper, stop, folder, fits))


def _rung(paper: PaperSet, stop: int, folder: str, fits: objective.LevelFits) -> Cell:
    strategy = STRATEGIES["clustered"](levels=LEVELS, stop_level=stop)
    model = classifier(paper.settings, strategy, checkpoint=folder)
    return fits.measure(model, paper.split)


def _fitted(paper: PaperSet, strategy: Any) -> Cell:
    return objective.measure(classifier(paper.settings, strategy), paper.split)


def _exact(paper: PaperSet, intercept: bool = False) -> Cell:
    model = exact("svm", **paper.settings).set_params(fit_intercept=intercept)
    return objective.measure(model, paper.split)


def _svc(paper: PaperSet, rows: int) -> Cell:
    C, gamma = paper.settings["C"], paper.settings["gamma"]
    return objective.measure(SVC(C=C, gamma=gamma, cache_size=2000), paper.sample(rows))


def _bagging(paper: PaperSet, parts: int) -> Cell:
    """Train disjoint random samples of n / parts rows with C as it is; let them vote."""
    model = classifier(paper.settings, Cascade(levels=1, fan_in=parts, stop_level=1, printed=True))
    facts = objective.fit(model, paper.split)
    members = partial(combinations.local_decisions, combinations.level_model(model))
    return {**facts, **_scored(paper, model, lambda X: combinations.vote(members(X)))}


def _combined(paper: PaperSet, clusters: int) -> Cell:
    """Train one level of clusters; predict by the sum, by a committee, by the nearest."""
    strategy = STRATEGIES["clustered"](levels=1, fan_in=clusters, stop_level=1)
    model, split = classifier(paper.settings, strategy), paper.split
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
    scores = {name: _scored(paper, model, rule) for name, rule in rules.items()}
    return {**facts, "parts": int(model.history_["parts"][-1]), "rules": scores}


def _scored(paper: PaperSet, model: Any, decide: Any) -> Cell:
    return objective.score(lambda X: model.classes_[(decide(X) > 0).astype(int)], paper.split)


# -------------------------------------------------------------------------------------- page

# Row of our Table 2: what is printed for it, where our cell is.
METHODS = {
    "DC-SVM (early)": ("early", "clusters/64"),
    "DC-SVM (early), as printed": ("early", "printed/early"),
    "DC-SVM": ("full", "clusters/1"),
    "DC-SVM, as printed": ("full", "printed"),
    "exact, at once": (None, "exact"),
    "exact, with an intercept": (None, "exact/intercept"),
    "LIBSVM (SVC)": ("libsvm", "svc/49990"),
    "LIBSVM (SVC), a fifth": ("libsvm_fifth", "svc/9998"),
    "LIBSVM (SVC), 20,000 rows": (None, "svc/20000"),
    "CascadeSVM": ("cascade", "cascade"),
    **{title: (name, f"approximate/{name}") for name, title in approximations.TITLES.items()},
    "LaSVM": ("lasvm", "lasvm"),
    "SpSVM": ("spsvm", "spsvm"),
}
RULES = {"naive_sum": "sum (5)", "committee": "committee", "early": "early (6)"}


def tables(cells: Cells) -> Iterator[Table]:
    """Yield every table as file name, columns and rows."""
    columns = ["Data set", "Method", "Published", "Ours", "Published s", "Our s", "Predict s"]
    yield "dc_table_2", columns, _table_2(cells)
    columns = ["Data set", "Training rows, published", "Ours", "Test rows, published", "Ours"]
    yield "dc_table_3", [*columns, "Features, published"], _table_3(cells)
    columns = ["Clusters", "Prediction", "Published", "Ours", "Published ms", "Our ms"]
    yield "dc_table_1", columns, _table_1(cells)
    columns = ["Data set", "Parts", "Early, published", "Early", "Bagging, published", "Bagging"]
    yield "dc_table_6", columns, _table_6(cells)


def _table_2(cells: Cells) -> Rows:
    for data_set, printed in published.TABLE_2.items():
        for method, (theirs, ours) in METHODS.items():
            accuracy, spent = (None, None) if theirs is None else printed[theirs]
            measured = _some(cells, f"{data_set}/{ours}")
            if not measured and (theirs is None or ours.startswith("printed")):
                continue  # nothing on either side
            rows = measured[0]["rows"] if measured else None
            part = ours.startswith("approximate") and rows == approximations.SAMPLE
            yield [
                name_of(data_set),
                f"{method}, {rows:,} rows" if part else method,
                percent(accuracy),
                figure(measured, "accuracy", percent, 1),
                seconds(spent),
                figure(measured, "fit_seconds", seconds, 1),
                figure(measured, "predict_seconds", seconds, 1),
            ]


def _table_3(cells: Cells) -> Rows:
    for data_set, (rows, test_rows, features) in published.TABLE_3.items():
        cell = cells.get(f"{data_set}/clusters/64", {})
        ours = [f"{cell[key]:,}" if key in cell else NONE for key in ("rows", "test_rows")]
        counts = [f"{rows:,}", ours[0], f"{test_rows:,}", ours[1], str(features)]
        yield [name_of(data_set), *counts]


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
