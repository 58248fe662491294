"""Write what was measured as CSV files and a picture, which the documentation shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.papers.figures import NONE, Cells, Rows, percent, write_csv
from benchmarks.papers.results import kept_in
from benchmarks.speed.machine import machine_rows

from . import curves
from .cases import CASES, Case
from .contestants import CONTESTANTS
from .measured import Measured, measured, ratio
from .targets import ACCURACY_MARGIN, TARGETS

NAMES = ["Data set", "Contestant"]
FIGURES = ["Train s", "CPU s", "Predict s", "Accuracy", "Relative gap", "tol", "Support vectors"]
FIGURES += ["Peak MB", "Fit MB", "Rows"]


def write(results: Path, folder: Path) -> None:
    """Write all tables; what was not measured is left open."""
    kept = kept_in(results)
    cells = kept["cells"]
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["Data set", "Training rows", "Test rows", "Features", "C", "γ", "Split", "Scaling"]
    write_csv(folder / "exact_speed_cases.csv", columns, _cases(cells))
    write_csv(folder / "exact_speed.csv", [*NAMES, *FIGURES], _contestants(cells))
    columns = ["", *(case.title for case in CASES.values())]
    write_csv(folder / "exact_speed_targets.csv", columns, _targets(cells))
    write_csv(folder / "exact_speed_machine.csv", ["", "Measured with"], machine_rows(kept))
    curves.draw(cells, folder / "exact_speed_curves.svg")


def _cases(cells: Cells) -> Rows:
    for name, case in CASES.items():
        any_fit = next(_fits(cells, name), None)
        sizes = [NONE] * 3
        if any_fit is not None:
            sizes = [f"{any_fit[key]:,}" for key in ("rows", "test_rows", "features")]
        split = "published" if case.test_rows is None else "random, seed 0"
        scaling = "scaled to [0, 1]" if case.scaled else "as published"
        yield [case.title, *sizes, f"{case.C:g}", f"{case.gamma:g}", split, scaling]


def _fits(cells: Cells, case: str) -> Iterator[dict[str, Any]]:
    return (
        cell
        for name, cell in cells.items()
        if name.startswith(f"{case}/") and "fit_seconds" in cell
    )


def _contestants(cells: Cells) -> Rows:
    for name, case in CASES.items():
        found = {
            contestant: measured(cells, name, contestant)
            for contestant in CONTESTANTS
            if CONTESTANTS[contestant].C != case.C  # its row is that of the case's own C
        }
        rounds = max((len(each.fits) for each in found.values() if each), default=0)
        for contestant, each in found.items():
            if each is not None:
                yield _row(case, contestant, each, rounds)
            elif contestant in case.skipped:
                yield [case.title, CONTESTANTS[contestant].title, *[NONE] * len(FIGURES)]


def _row(case: Case, contestant: str, each: Measured, rounds: int) -> list[str]:
    title = CONTESTANTS[contestant].title + each.marks
    if not each.finished:
        return [case.title, title, *[NONE] * len(FIGURES)]
    times = ("fit_seconds", "fit_cpu_seconds", "predict_seconds")
    gap, tol, support = (
        each.first("relative_gap"),
        each.choice["tol"],
        each.first("support_vectors"),
    )
    return [
        case.title,
        title,
        *(each.seconds(key, rounds) for key in times),
        percent(each.first("accuracy")),
        NONE if gap is None else f"{gap:.1e}",
        NONE if tol is None else f"{tol:.2g}",
        NONE if support is None else f"{support:,}",
        f"{each.best('peak_memory_mb'):,.0f}",
        f"{each.best('fit_memory_mb'):,.0f}",
        str(each.choice["format"]),
    ]


def _targets(cells: Cells) -> Rows:
    for target in TARGETS:
        ratios = (ratio(cells, name, target.ours, target.peer, target.key) for name in CASES)
        aims = (target.aims.get(name) for name in CASES)
        yield [target.title, *(_beside(*each) for each in zip(ratios, aims, strict=True))]
    for peer in ("svc", "intelex"):  # the same model; SVC is not measured everywhere
        title = f"accuracy, ODM − {CONTESTANTS[peer].title}, points"
        yield [title, *(_points(cells, name, peer) for name in CASES)]


def _beside(value: float | None, aim: float | None) -> str:
    if value is None:
        return NONE if aim is None else f"{NONE} (≤ {aim:g})"
    if aim is None:
        return f"{value:.2f}"
    return f"{value:.2f} (≤ {aim:g})" if value <= aim else f"**{value:.2f}** (≤ {aim:g})"


def _points(cells: Cells, case: str, peer: str) -> str:
    """Show how far ODM is above a peer, in points; bold where it is too far below."""
    pair = [measured(cells, case, each) for each in ("odm", peer)]
    ours, theirs = (None if each is None else each.first("accuracy") for each in pair)
    if ours is None or theirs is None:
        return NONE
    points = round(100 * (ours - theirs), 6)  # not to miss by a rounding
    return f"{points:+.2f}" if points >= -100 * ACCURACY_MARGIN else f"**{points:+.2f}**"
