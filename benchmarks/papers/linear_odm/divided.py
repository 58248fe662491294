"""[SODM] Table 3 and Figure 3: the divided methods with a linear kernel beside DSVRG.

SODM is DSVRG there; SODM by levels is DiODM of [DiODM]'s Figure 1. All solve one problem, with the
C, υ and θ that the search of linear ODM found and with an intercept. Levels are those of the tables
with an RBF kernel (:mod:`benchmarks.papers.sodm`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.papers.sodm import published
from benchmarks.papers.sodm.page import PREFIXES, fill_levels, level_curve
from benchmarks.papers.sodm.tables import LEAF_ROWS, levels_for, stops_of, strategy_of
from benchmarks.race import objective
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
from benchmarks.race.tables import (
    draw as draw_panels,
)
from widemargin import LinearODMClassifier, ODMClassifier

METHODS = ("cascade", "preserving", "clustered", "stratified")
# The listings of DSVRG, which have no rule to stop, by the name of their cell. A stage of DiODM's
# takes as many inner steps as there are rows, one of SODM's one in each part: twice as many stages
# are about as many gradients.
PRINTED = {
    "dsvrg printed": {"max_iter": 30},
    "dsvrg printed, SODM": {"max_iter": 60, "solver_options": {"listing": "sodm"}},
}


def measure(
    store: Store,
    name: str,
    number: int,
    split: Callable[[], DataSet],
    settings: dict[str, Any],
    columns: Sequence[str],
) -> None:
    """Measure DSVRG and the divided methods on one split; Figure 3 shows the first."""
    start = f"{name}/{number}"
    descents: dict[str, dict[str, Any]] = {"dsvrg": {"solver": "dsvrg"}}
    if "printed" in columns:
        descents |= {cell: {"solver": "dsvrg_printed", **how} for cell, how in PRINTED.items()}
    for which, how in descents.items():
        kept = {**settings, **how}
        store.cell(f"{start}/{which}", kept, partial(_descended, split, kept))
    if number == 0 and "levels" in columns:
        stages = store.cells[f"{start}/dsvrg"]["iterations"]
        for third in (1, 2):
            kept = {**settings, "solver": "dsvrg", "max_iter": max(1, stages * third // 3)}
            store.cell(f"{start}/dsvrg third {third}", kept, partial(_descended, split, kept))
    shown = [each for each in columns if each != "levels" or number == 0]
    divided = {**settings, "leaf_rows": LEAF_ROWS}
    for method in METHODS:
        fits = objective.LevelFits()
        with tempfile.TemporaryDirectory() as folder:  # a level continues from the one before it
            for variant in stops_of(shown, split):
                fit = partial(_divided, split, method, variant, settings, folder, fits)
                store.cell(f"{start}/{method}/{variant}", divided, fit)


def _descended(split: Callable[[], DataSet], settings: dict[str, Any]) -> Cell:
    model = LinearODMClassifier(random_state=0, **settings)
    return {**objective.measure(model, split()), "iterations": int(model.n_iter_)}


def _divided(
    split: Callable[[], DataSet],
    method: str,
    variant: str,
    settings: dict[str, Any],
    checkpoint: str,
    fits: objective.LevelFits,
) -> Cell:
    levels = levels_for(len(split().y))
    kept: dict[str, Any] = {"fit_intercept": True, "random_state": 0, "checkpoint": checkpoint}
    strategy = strategy_of(method, levels, variant)
    model = ODMClassifier("linear", strategy=strategy, **settings, **kept)
    return {**fits.measure(model, split()), "levels": levels}


# -------------------------------------------------------------------------------------- page

TITLES = {method: f"{PREFIXES[method]}ODM" for method in METHODS}
TITLES["stratified"] = "SODM, by levels"
ACCELERATED = "SODM, accelerated (DSVRG)"
# Where the figures of a row are, by column: of methods with levels, and of DSVRG by row.
LEVELS = {"Root": "{}/root", "Early": "{}/early", "As printed": "{}/printed"}
DESCENTS = {
    f"{ACCELERATED}; listing of DiODM": {"Root": "dsvrg", "As printed": "dsvrg printed"},
    f"{ACCELERATED}; listing of SODM": {"As printed": "dsvrg printed, SODM"},
}


def tables(cells: Cells, splits: int) -> Iterator[Table]:
    """Yield accuracies and seconds."""
    columns = ["Data set", "Method", "Published", *LEVELS]
    yield "linear_divided", columns, _rows(cells, splits, "accuracy", percent, 0)
    yield "linear_divided_seconds", columns, _rows(cells, splits, "fit_seconds", seconds, 1)


def _rows(cells: Cells, splits: int, key: str, text: Callable[[float], str], which: int) -> Rows:
    def shown(data_set: str, rest: str | None) -> str:
        found = [] if rest is None else of_splits(cells, data_set, rest, splits)
        return figure(undisturbed(found) if which == 1 else found, key, text, splits)

    for data_set, theirs in published.LINEAR.items():
        whole = percent(theirs["whole"][0]) if which == 0 else NONE
        yield [name_of(data_set), "ODM", whole, shown(data_set, "odm"), NONE, NONE]
        for method in METHODS:
            print_of = theirs[method][which] if method in theirs else None
            ours = (shown(data_set, rest.format(method)) for rest in LEVELS.values())
            yield [name_of(data_set), TITLES[method], text_of(print_of, text), *ours]
        for title, descent in DESCENTS.items():
            ours = (shown(data_set, descent.get(column)) for column in LEVELS)
            yield [name_of(data_set), title, NONE, *ours]


def text_of(value: float | None, text: Callable[[float], str]) -> str:
    """Show a printed figure, if there is one."""
    return NONE if value is None else text(value)


def draw(cells: Cells, folder: Path) -> None:
    """Draw Figure 3: accuracy over seconds, a point for each level or third of the stages."""
    panels = {}
    for data_set in published.LINEAR:
        start = f"{data_set}/0"
        thirds = (cells.get(f"{start}/dsvrg{rest}") for rest in (" third 1", " third 2", ""))
        descent = undisturbed([each for each in thirds if each])
        curves = {ACCELERATED: [_point(each) for each in descent]}
        for method in METHODS:
            curves[TITLES[method]] = level_curve(cells, f"{start}/{method}")
        drawn = {title: curve for title, curve in curves.items() if curve}
        if len(drawn) > 1:
            panels[name_of(data_set)] = partial(fill_levels, drawn)
    draw_panels(folder / "linear_levels.svg", panels)


def _point(cell: Cell) -> tuple[float, float]:
    return cell["fit_seconds"], 100 * cell["accuracy"]
