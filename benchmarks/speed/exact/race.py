"""The race of exact kernel machines, and its page."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.race import plugin
from benchmarks.race.data import AS_PUBLISHED, DataSet, load
from benchmarks.race.objective import loss_of
from benchmarks.race.plugin import Entry, Heat, Limits
from benchmarks.race.processes import THREADS, timed
from benchmarks.race.rounds import Measured, measured
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, draw, percent, seconds

from .contestants import (
    ACCURACY_MARGIN,
    CASES,
    CONTESTANTS,
    GAP,
    LIBRARIES,
    TARGETS,
    Case,
    Target,
    entered,
    entry,
)
from .gap import problems_of, score

QUICK_ROWS = 2_000
CURVE_TOL, CURVE_POINTS = 1e-4, 100
CURVES = {"scikit-learn SVC": "svc", "intelex SVC": "intelex", "SVM (widemargin)": "svm"}
FIGURES = ["Train s", "CPU s", "Predict s", "Accuracy", "Relative gap", "tol", "Support vectors"]
FIGURES += ["Peak MB", "Fit MB", "Rows"]


class ExactRace(plugin.Race):
    """Seconds to a relative duality gap of 1e-3, and of prediction."""

    name = "exact"
    module = __name__
    libraries = LIBRARIES
    cases = CASES
    counts = "the best"
    limits = Limits(max_time=300.0, once_above=30.0)
    close = GAP
    # A peer that stalls has nearly the same gap with several tols: it gets the loosest.
    stalled = 0.05

    def add_options(self, group: Any) -> None:
        """Add the curves."""
        group.add_argument(
            "--curves", action="store_true", help="also every tol of intelex, for time against gap"
        )

    def rows(self, case: Case, quick: bool) -> DataSet:
        """Read, split and scale the rows of a case: dense, float32."""
        assert case.source is not None
        data = load(case.source)
        if data.y_test is None:
            order = np.random.default_rng(0).permutation(len(data.y))
            test, rest = order[: case.test_rows], order[case.test_rows :][: case.rows]
            data = DataSet(data.X[rest], data.y[rest], data.X[test], data.y[test])
        if case.labels is not None:
            kept, kept_test = (np.isin(y, case.labels) for y in (data.y, data.y_test))
            parts = (data.X[kept], data.y[kept], data.X_test[kept_test], data.y_test[kept_test])
            data = DataSet(*parts)
        if quick:
            data = data.few(QUICK_ROWS)
        X, X_test = (X.toarray() if sp.issparse(X) else X for X in (data.X, data.X_test))
        return DataSet(X, data.y, X_test, data.y_test).scaled(case.scaling)

    def heats(
        self, name: str, store: Store, options: Namespace, rows: plugin.Rows
    ) -> Iterator[Heat]:
        """Yield one heat of all contestants, then what only the curves need."""
        without = tuple(options.without)
        yield Heat([entry(name, each) for each in entered(name, without)])
        if options.curves and not CASES[name].multi_class:
            for each in ("intelex", "svm"):
                found = measured(self, store.cells, entry(name, each))
                if each in entered(name, without) and found is not None:
                    curve = replace(entry(name, each), forms=(found.form,))
                    if each == "svm":
                        curve = replace(curve, ladder=(CURVE_TOL,))
                    yield Heat((), {f"{name}/{each}/curve/{found.form}": curve})

    def ladder(self, entry: Entry, cells: Cells) -> tuple[float, ...]:
        """Ask for the gap of the peer that it follows, or for 1e-3 if that has none as small."""
        follows = CONTESTANTS[entry.name].follows
        peer = follows and measured(self, cells, _entry(entry.start, follows))
        return (float(f"{peer.distance:.4g}"),) if peer and peer.reached else entry.ladder

    def target(self, entry: Entry, cells: Cells) -> tuple[str, float] | None:
        """Climb to the loosest tol whose gap is small enough."""
        return ("gap", GAP) if CONTESTANTS[entry.name].has_ladder else None

    def distance(self, entry: Entry, rung: Cell, cells: Cells) -> float | None:
        """Return the relative gap."""
        return rung.get("gap")

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Predict the test rows; compute the gap from the model's own coefficients."""
        labels, wall, cpu = timed(lambda: model.predict(data.X_test))
        cell: Cell = {"predict_seconds": wall, "predict_cpu_seconds": cpu}
        cell["accuracy"] = float(np.mean(labels == data.y_test))
        problem = job["problem"]
        if problem["loss"] is None:
            return cell
        cell["support_vectors"] = len(model.support_)
        if job["detail"]:  # the fits of the rounds are the same
            loss = loss_of(problem["loss"], problem["C"])
            gaps = [
                score(each, loss, data.X[each.rows], problem["gamma"], THREADS).relative_gap
                for each in problems_of(model, data.y)
            ]
            cell["gap"] = max(gaps)
            if job["library"] == "widemargin" and len(gaps) == 1:
                cell["history"] = _thinned(model.history_)
        return cell

    def tables(self, cells: Cells) -> Iterator[Table]:
        """Yield data, contestants, and ratios beside what they aim at."""
        columns = ["Data set", "Training rows", "Test rows", "Features", "C", "γ", "Split"]
        yield "exact_speed_cases", [*columns, "Scaling"], _cases(cells)
        yield "exact_speed", ["Data set", "Contestant", *FIGURES], _contestants(cells)
        columns = ["", *(case.title for case in CASES.values())]
        yield "exact_speed_targets", columns, _targets(cells)

    def draw(self, cells: Cells, folder: Path) -> None:
        """Draw time against gap, a panel for every case measured, and all times as bars."""
        found = {case: curves for case in CASES if (curves := curves_of(cells, case))}
        panels = {CASES[case].title: partial(_fill, each) for case, each in found.items()}
        draw(folder / "exact_speed_curves.svg", panels)
        draw(folder / "exact_speed_bars.svg", {"": partial(_bars, cells)}, columns=1, width=8.0)


RACE = ExactRace()
_entry = entry


def _thinned(history: dict[str, np.ndarray]) -> dict[str, list[float]]:
    count = len(history["seconds"])
    kept = np.unique(np.linspace(0, count - 1, min(count, CURVE_POINTS)).astype(int))
    return {name: history[name][kept].tolist() for name in ("seconds", "relative_gap", "passes")}


def found_in(cells: Cells, case: str, contestant: str) -> Measured | None:
    """Return what was measured of a contestant; with C = 1 that of the case's own C, if it is 1."""
    if CONTESTANTS[contestant].C == CASES[case].C:
        contestant = contestant.removesuffix("_C1")
    return measured(RACE, cells, entry(case, contestant))


# ------------------------------------------------------------------------------------ tables


def _cases(cells: Cells) -> Rows:
    for name, case in CASES.items():
        fits = (cell for key, cell in cells.items() if key.startswith(f"{name}/"))
        fit = next((cell for cell in fits if "test_rows" in cell), {})
        sizes = [f"{fit[key]:,}" if fit else NONE for key in ("rows", "test_rows", "features")]
        split = "published" if case.test_rows is None else "random, seed 0"
        scaling = case.scaling if case.scaling == AS_PUBLISHED else f"scaled to {case.scaling}"
        yield [case.title, *sizes, f"{case.C:g}", f"{case.gamma:g}", split, scaling]


def _contestants(cells: Cells) -> Rows:
    for name, case in CASES.items():
        found = {
            contestant: found_in(cells, name, contestant)
            for contestant in CONTESTANTS
            if CONTESTANTS[contestant].C != case.C  # its row is that of the case's own C
        }
        rounds_made = max((len(each.fits) for each in found.values() if each), default=0)
        for contestant, each in found.items():
            title, tried = CONTESTANTS[contestant].title, f"{name}/{contestant}/ladder/"
            if each is not None and each.fits:
                yield [case.title, *_row(contestant, each, rounds_made)]
            elif contestant in case.skipped:
                yield [case.title, title, *[NONE] * len(FIGURES)]
            elif any(cell.startswith(tried) for cell in cells):
                yield [case.title, title + "†", *[NONE] * len(FIGURES)]


def _row(contestant: str, each: Measured, rounds_made: int) -> list[str]:
    missed = "‡" if CONTESTANTS[contestant].has_ladder and not each.reached else ""
    few = f" ({len(each.fits)})" if len(each.fits) < rounds_made else ""
    support = each.rung.get("support_vectors")
    return [
        CONTESTANTS[contestant].title + missed,
        *(seconds(each.best(key)) + few for key in ("seconds", "cpu_seconds", "predict_seconds")),
        percent(each.rung["accuracy"]),
        NONE if each.distance is None else f"{each.distance:.1e}",
        NONE if each.distance is None else f"{each.value:.2g}",
        NONE if support is None else f"{support:,}",
        f"{each.best('peak_memory_mb'):,.0f}",
        f"{each.best('fit_memory_mb'):,.0f}",
        each.form,
    ]


def _targets(cells: Cells) -> Rows:
    for target in TARGETS:
        ratios = (ratio(cells, name, target) for name in CASES)
        aims = (target.aims.get(name) for name in CASES)
        yield [target.title, *(_beside(*each) for each in zip(ratios, aims, strict=True))]
    for peer in ("svc", "intelex"):  # the same model; SVC is not measured everywhere
        title = f"accuracy, ODM − {CONTESTANTS[peer].title}, points"
        yield [title, *(_points(cells, name, peer) for name in CASES)]


def ratio(cells: Cells, case: str, target: Target) -> float | None:
    """Divide our best time by the peer's; None where either is missing."""
    pair = [found_in(cells, case, each) for each in (target.ours, target.peer)]
    times = [None if each is None else each.best(target.key) for each in pair]
    return None if times[0] is None or times[1] is None else times[0] / times[1]


def _beside(value: float | None, aim: float | None) -> str:
    if value is None:
        return NONE if aim is None else f"{NONE} (≤ {aim:g})"
    if aim is None:
        return f"{value:.2f}"
    return f"{value:.2f} (≤ {aim:g})" if value <= aim else f"**{value:.2f}** (≤ {aim:g})"


def _points(cells: Cells, case: str, peer: str) -> str:
    """Show by how many points ODM exceeds a peer; bold where it falls too far behind."""
    pair = [found_in(cells, case, each) for each in ("odm", peer)]
    ours, theirs = (None if each is None else each.rung["accuracy"] for each in pair)
    if ours is None or theirs is None:
        return NONE
    points = round(100 * (ours - theirs), 6)  # not to miss by a rounding
    return f"{points:+.2f}" if points >= -100 * ACCURACY_MARGIN else f"**{points:+.2f}**"


# ------------------------------------------------------------------------------------ curves

Curve = list[tuple[float, float]]


def curves_of(cells: Cells, case: str) -> dict[str, Curve]:
    """Return points (seconds, relative gap) by title: ours by its history, a peer's by tol."""
    found: dict[str, Curve] = {}
    for title, contestant in CURVES.items() if not CASES[case].multi_class else ():
        each = found_in(cells, case, contestant)
        if each is None:
            continue
        start = f"{case}/{contestant}"
        cell = cells.get(f"{start}/curve/{each.form}", cells[f"{start}/ladder/{each.form}"])
        if contestant != "svm":
            points = ((rung["seconds"], rung["gap"]) for rung in cell["rungs"])
            found[title] = sorted(points, key=lambda point: -point[1])
        elif "history" in cell["rungs"][0]:
            history = cell["rungs"][0]["history"]
            found[title] = list(zip(history["seconds"], history["relative_gap"], strict=True))
    return found


def _fill(curves: dict[str, Curve], axis: Any) -> None:
    for title, curve in curves.items():
        marker = "" if CURVES[title] == "svm" else "o"
        axis.plot(*zip(*curve, strict=True), marker=marker, label=title)
    axis.axhline(GAP, color="0.7", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel="relative gap")
    axis.legend(fontsize="small")


# -------------------------------------------------------------------------------------- bars

BARS = {
    "svc": ("scikit-learn SVC", "#999999"),
    "intelex": ("intelex SVC", "#E69F00"),
    "svm": ("widemargin SVMClassifier", "#0072B2"),
}


def _bars(cells: Cells, axis: Any) -> None:
    """Draw the best training time of each contestant, a group for every case with all of them."""
    times = {case: [found_in(cells, case, each) for each in BARS] for case in CASES}
    groups = [case for case, found in times.items() if all(found)]
    if not groups:
        axis.text(0.5, 0.5, "not measured yet", ha="center")
        return
    width = 0.8 / len(BARS)
    for k, (title, colour) in enumerate(BARS.values()):
        best = [times[case][k].best("seconds") for case in groups]  # type: ignore[union-attr]
        at = np.arange(len(groups)) + (k - (len(BARS) - 1) / 2) * width
        bars = axis.bar(at, best, width, label=title, color=colour)
        axis.bar_label(bars, [seconds(each) for each in best], fontsize="x-small")
    axis.set_xticks(range(len(groups)), [CASES[case].title for case in groups], fontsize="small")
    axis.set(yscale="log", ylabel="seconds of training, gap ≤ 1e-3")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize="small", frameon=False)
