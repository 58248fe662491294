"""The race of multi-class machines, and its page."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.race import generated, plugin
from benchmarks.race.data import DataSet, load
from benchmarks.race.objective import finite
from benchmarks.race.plugin import Entry, Heat
from benchmarks.race.rounds import Measured, measured
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, percent, ratio_text, seconds

from . import machines
from .contestants import (
    BEST,
    CASES,
    CONSTANT,
    CONTESTANTS,
    GAP,
    LIBRARIES,
    ONE,
    REFERENCES,
    Case,
    entered,
)
from .objective import dual, primal

QUICK_ROWS, QUICK_CLASSES, QUICK_FEATURES = 600, 12, 2_000
# Values of C for cross-validation on training rows.
GRID, FOLDS, SEARCH_TIME = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 3, 120.0
FIGURES = ["Threads", "C", "Seconds", "CPU seconds", "Test error, %", "Relative gap", "Setting"]
FORMULATIONS = ("ww", "cs", "ovr")
SPEED = tuple(name for name, case in CASES.items() if case.source is not None)
MANY = tuple(name for name, case in CASES.items() if case.source is None)


class MulticlassRace(plugin.Race):
    """Seconds to prove a relative gap of 1e-2."""

    name = "multiclass"
    module = __name__
    libraries = LIBRARIES
    cases = CASES
    close = GAP

    def add_options(self, group: Any) -> None:
        """Add the choice of C."""
        group.add_argument(
            "--c", nargs="+", choices=(ONE, BEST), default=[ONE, BEST], help="C = 1, and the best"
        )

    def rows(self, case: Case, quick: bool) -> DataSet:
        """Read and scale training and test rows: float32, classes from 0."""
        if case.source is None:
            assert case.classes is not None
            few = (QUICK_CLASSES, QUICK_ROWS, QUICK_ROWS, QUICK_FEATURES)
            return generated.topics(*(few if quick else (case.classes,)))
        data = load(case.source)
        data = data.few(QUICK_ROWS, QUICK_CLASSES) if quick else data
        labels, codes = np.unique(data.y, return_inverse=True)
        known = np.isin(data.y_test, labels)
        test = data.X_test[known], np.searchsorted(labels, data.y_test[known])
        return DataSet(data.X, codes, *test).scaled(case.scaling)

    def heats(
        self, name: str, store: Store, options: Namespace, rows: plugin.Rows
    ) -> Iterator[Heat]:
        """Yield a heat for each choice of C."""
        contestants = entered(name, tuple(options.without))
        for choice in (each for each in options.c if each in CASES[name].choices):
            if choice == BEST:
                for formulation in sorted({each.formulation for each in contestants.values()}):
                    settings = {"grid": GRID, "folds": FOLDS, "quick": options.quick}
                    search = partial(best_C, rows, formulation)
                    store.cell(f"{name}/search/{formulation}", settings, search)
            found = entries(store.cells, name, choice, tuple(options.without))
            peers = {(each.start, each.problem["formulation"]) for each in found if each.is_peer}
            references = {}
            for start, formulation in sorted(peers):
                C = float(start.rpartition("/")[2])
                long_run = REFERENCES[formulation].entry(formulation, name, C)
                references[f"{start}/reference/{formulation}"] = long_run
            yield Heat(found, references)

    def ladder(self, entry: Entry, cells: Cells) -> tuple[float, ...]:
        """Return the ladder; none for a peer without a bound, which could not be stopped."""
        return () if entry.is_peer and bound_of(entry, cells) is None else entry.ladder

    def target(self, entry: Entry, cells: Cells) -> tuple[str, float] | None:
        """Climb to the largest objective whose gap to the bound is small enough."""
        bound = bound_of(entry, cells)
        return ("objective", bound / (1.0 - GAP)) if entry.is_peer and bound is not None else None

    def distance(self, entry: Entry, rung: Cell, cells: Cells) -> float | None:
        """Return the relative gap to the better of the fit's own bound and the long run's."""
        bounds = (rung.get("bound"), bound_of(entry, cells))
        best = max((each for each in bounds if each is not None), default=None)
        return None if best is None else 1.0 - best / rung["objective"]

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Value weights and multipliers, and predict the test rows."""
        weights = LIBRARIES[job["library"]].weights(model)
        problem = (job["problem"]["formulation"], job["problem"]["C"], CONSTANT)
        found = {"objective": finite(primal(weights, data.X, data.y, *problem))}
        if hasattr(model, "duals"):
            found["bound"] = dual(model.duals, data.X, data.y, *problem)
            found["own_relative_gap"] = model.certificate.relative_gap
        wrong = machines.predict(weights, data.X_test, CONSTANT) != data.y_test
        return found | {"error": float(np.mean(wrong)), "density": machines.density(weights)}

    def tables(self, cells: Cells) -> Iterator[Table]:
        """Yield data, contestants by choice of C, those with many classes, and ratios."""
        columns = ["Data set", "Training rows", "Features", "Classes", "Scaling"]
        columns += [f"Best C, {formulation.upper()}" for formulation in FORMULATIONS]
        yield "multiclass_speed_cases", columns, _cases(cells)
        columns = ["Data set", "Contestant", *FIGURES]
        for choice in (ONE, BEST):
            yield f"multiclass_speed_{choice}", columns, _contestants(cells, SPEED, choice)
        many = _contestants(cells, MANY, ONE, memory=True)
        yield "multiclass_speed_many", [*columns, "Peak memory, MB"], many
        columns = ["Data set", "C", "Threads", "WW ÷ CS, seconds", "WW ÷ CS, CPU seconds"]
        columns += ["Error of WW, %", "Error of CS, %", "CS peer"]
        yield "multiclass_speed_ratios", columns, _ratios(cells)


RACE = MulticlassRace()


def best_C(rows: plugin.Rows, formulation: str) -> Cell:
    """Return the C with the lowest error of three folds, of equals the smallest; and all errors."""
    X, codes = rows.data.X, rows.data.y
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class has fewer rows than there are folds
        parts = list(folds.split(np.zeros(len(codes)), codes))
    settings = {"constant": CONSTANT, "tol": GAP, "max_time": SEARCH_TIME}
    errors = {}
    for C in GRID:
        wrong = 0
        for fit, held_out in parts:
            some = (X[fit], codes[fit], int(codes.max()) + 1)
            weights = machines.fit(*some, formulation, C, **settings).weights
            predicted = machines.predict(weights, X[held_out], CONSTANT)
            wrong += int(np.sum(predicted != codes[held_out]))
        errors[C] = wrong / len(codes)
    best = min(errors, key=lambda C: (errors[C], C))
    return {"C": best, "errors": {f"{C:g}": error for C, error in errors.items()}}


def entries(cells: Cells, case: str, choice: str, without: tuple[str, ...] = ()) -> list[Entry]:
    """Return the contestants of a case with C = 1, or with the best where that is known."""
    found = []
    for name, contestant in entered(case, without).items():
        searched = cells.get(f"{case}/search/{contestant.formulation}")
        if choice == ONE or searched is not None:
            C = 1.0 if choice == ONE or searched is None else float(searched["C"])
            found.append(contestant.entry(name, case, C))
    return found


def bound_of(entry: Entry, cells: Cells) -> float | None:
    """Return the best lower bound from the multipliers of the long run."""
    name = f"{entry.start}/reference/{entry.problem['formulation']}"
    return max((rung["bound"] for rung in cells.get(name, {}).get("rungs", ())), default=None)


def _cases(cells: Cells) -> Rows:
    for name, case in CASES.items():
        some = (cell for key, cell in cells.items() if key.startswith(f"{name}/"))
        fit = next((cell for cell in some if "classes" in cell), {})
        sizes = (f"{fit[key]:,}" if key in fit else NONE for key in ("rows", "features", "classes"))
        searched = (cells.get(f"{name}/search/{formulation}") for formulation in FORMULATIONS)
        best = (NONE if each is None else f"{each['C']:g}" for each in searched)
        yield [case.title, *sizes, case.scaling, *best]


def _contestants(cells: Cells, names: tuple[str, ...], choice: str, memory: bool = False) -> Rows:
    for case in names:
        for entry in entries(cells, case, choice):
            each = measured(RACE, cells, entry)
            if each is None:
                continue
            row = [CASES[case].title, entry.title + ("" if each.reached else "‡")]
            row += [str(CONTESTANTS[entry.name].threads), f"{entry.problem['C']:g}"]
            row += [seconds(each.median(key)) for key in ("seconds", "cpu_seconds")]
            row += [percent(each.median("error"))]
            row += [NONE if each.distance is None else f"{each.distance:.1e}"]
            row += [f"{entry.rung}={each.value:g}"]
            yield [*row, seconds(each.median("peak_memory_mb"))] if memory else row


def _ratios(cells: Cells) -> Rows:
    for case in SPEED:
        for choice in (ONE, BEST):
            found = {entry.name: entry for entry in entries(cells, case, choice)}
            for ours in ("ww_1", "ww_2"):
                own = measured(RACE, cells, found[ours]) if ours in found else None
                peer = best_peer(cells, case, choice, "cs", "seconds")
                if own is not None and own.fits and peer is not None:
                    yield _ratio(choice, found[ours], own, *peer)


def best_peer(
    cells: Cells, case: str, choice: str, formulation: str, key: str
) -> tuple[Entry, Measured] | None:
    """Return the peer of a formulation that needs least, of those whose gap is small enough."""
    found = []
    for entry in entries(cells, case, choice):
        if entry.is_peer and entry.problem["formulation"] == formulation:
            each = measured(RACE, cells, entry)
            if each is not None and each.reached and each.fits:
                found.append((entry, each))
    return min(found, key=lambda pair: pair[1].median(key) or 0.0, default=None)


def _ratio(choice: str, ours: Entry, own: Measured, peer: Entry, theirs: Measured) -> list[str]:
    case = ours.start.partition("/")[0]
    values = (
        (own.median(key) or 0.0) / (theirs.median(key) or 1.0) for key in ("seconds", "cpu_seconds")
    )
    errors = (percent(each.median("error")) for each in (own, theirs))
    best = f"best: {ours.problem['C']:g}, {peer.problem['C']:g}"
    threads = str(CONTESTANTS[ours.name].threads)
    shown = (ratio_text(value, 1.0) for value in values)
    return [CASES[case].title, "1" if choice == ONE else best, threads, *shown, *errors, peer.title]
