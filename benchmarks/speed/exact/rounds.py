"""Measure the contestants of a case, round after round.

A round measures everybody once, one after the other, so that a busy moment hits all alike. The
fits that search a peer's tol belong to the first round. Names of cells: ``set/contestant/fit/…``
with the form of the rows, the tol (peers) and the number of the round; ``set/contestant/choice``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.results import Results
from benchmarks.speed import measuring

from . import ladder
from .cases import CASES, CSR, DENSE, QUICK_ROWS, rows_of, save
from .contestants import Contestant, entered

Cell = dict[str, Any]
CURVE_TOL = 1e-4
WORKER = "benchmarks.speed.exact.worker"


@dataclass(frozen=True)
class Limits:
    """How much is measured.

    Attributes
    ----------
    repeats : int
        Rounds.
    max_time : float
        Seconds that a fit may take, with its prediction and its score.
    once_above : float
        A fit that took more seconds than this is not repeated.
    quick : bool
        Use a few rows.
    curves : bool
        Measure what only the curves need, too.
    without : tuple of str
        Peers that are left out.
    """

    repeats: int = 3
    max_time: float = 300.0
    once_above: float = 30.0
    quick: bool = False
    curves: bool = False
    without: tuple[str, ...] = ()


def run(results: Results, names: tuple[str, ...], limits: Limits) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            race = Race(name, results, limits, Path(folder))
            for number in range(limits.repeats):
                for contestant in race.contestants:
                    with measuring.noted(failures, f"{name}/{contestant}"):
                        race.measure(contestant, number)
            if limits.curves:
                with measuring.noted(failures, f"{name}/curves"):
                    race.measure_curves()
    return failures


class Race:
    """The contestants of one case."""

    def __init__(self, name: str, results: Results, limits: Limits, folder: Path) -> None:
        self.name, self.case = name, CASES[name]
        self.results, self.limits, self._folder = results, limits, folder
        self.contestants = entered(self.case, limits.without)

    @cached_property
    def folder(self) -> Path:
        """The folder with the rows, which are put there when the first fit needs them."""
        save(rows_of(self.case, self.limits.quick), self._folder)
        return self._folder

    def measure(self, name: str, number: int) -> None:
        """Measure one contestant in one round."""
        contestant = self.contestants[name]
        choice = self._choice(name, contestant)
        if choice["gap"] is None and contestant.has_ladder:
            return  # no fit of it ended in time
        first = self._fit(name, contestant, choice["format"], choice["tol"], 0)
        late = first.get("out_of_time") or first["fit_seconds"] > self.limits.once_above
        if number > 0 and not late and not contestant.once:
            self._fit(name, contestant, choice["format"], choice["tol"], number)

    def measure_curves(self) -> None:
        """Measure every tol of intelex once, and ours to a smaller gap."""
        for name in ("intelex", "svm"):
            if name not in self.contestants or self.case.multi_class:
                continue
            contestant = self.contestants[name]
            form = self._choice(name, contestant)["format"]
            if contestant.has_ladder:
                for tol in ladder.TOLS:
                    self._fit(name, contestant, form, tol, 0)
            else:
                self._fit(f"{name}_curve", contestant, form, CURVE_TOL, 0)

    def _choice(self, name: str, contestant: Contestant) -> Cell:
        """Choose the tol and the form of the rows."""
        settings: Cell = {"tols": ladder.TOLS} if contestant.has_ladder else {}
        if contestant.loss is not None and not contestant.has_ladder:
            settings["tol"] = self._asked_gap(contestant)
        settings |= {"formats": self.case.formats, **self._case_settings()}

        def choose() -> Cell:
            if not contestant.has_ladder:
                tol = settings.get("tol")
                return {"tol": tol, "gap": tol, "format": self._format(name, contestant, tol)}
            first = self.case.first_tol.get(name, ladder.FIRST_TOL)
            form = self._format(name, contestant, first)

            def gap_at(tol: float) -> float | None:
                return self._fit(name, contestant, form, tol, 0).get("relative_gap")

            rung = ladder.loosest(gap_at, first)
            if rung is not None and rung.reached:
                return {"tol": rung.tol, "gap": rung.gap, "format": form, "reached": True}
            tol, gap = (None, None) if rung is None else (rung.tol, rung.gap)
            missed = {"reached": False, "max_time": self.limits.max_time}
            return {"tol": tol, "gap": gap, "format": form, **missed}

        return self._cell(f"{name}/choice", settings, choose)

    def _asked_gap(self, contestant: Contestant) -> float:
        """Return the gap of the peer, or 1e-3 where it has none that is as small."""
        if contestant.follows is None:
            return ladder.TARGET_GAP
        peer = self._choice(contestant.follows, self.contestants[contestant.follows])
        return float(peer["gap"]) if peer["reached"] else ladder.TARGET_GAP

    def _format(self, name: str, contestant: Contestant, tol: float | None) -> str:
        """Return the form of the rows it is faster with."""
        if not contestant.takes_sparse or CSR not in self.case.formats:
            return DENSE
        fits = {
            form: self._fit(name, contestant, form, tol, 0).get("fit_seconds", float("inf"))
            for form in self.case.formats
        }
        return min(fits, key=lambda form: float(fits[form]))

    def _fit(
        self, name: str, contestant: Contestant, form: str, tol: float | None, number: int
    ) -> Cell:
        settings: Cell = {}
        if contestant.loss is not None:
            C = self.case.C if contestant.C is None else contestant.C
            settings = {"C": C, "gamma": self.case.gamma, "tol": tol}
        if contestant.family in ("svm", "odm") and self.case.multi_class:
            settings["multi_class"] = "ovo"  # as SVC does
        settings |= contestant.settings
        job: Cell = {"family": contestant.family, "loss": contestant.loss, "settings": settings}
        job |= {"format": form, "scored": number == 0}
        place = f"{form}/{tol:g}" if contestant.has_ladder else form

        def measure() -> Cell:
            ready = {**job, "folder": str(self.folder)}
            return measuring.measure(WORKER, ready, self.limits.max_time)

        return self._cell(f"{name}/fit/{place}/{number}", job | self._case_settings(), measure)

    def _cell(self, name: str, settings: Cell, measure: Callable[[], Cell]) -> Cell:
        """Return a cell; one that was given up is measured anew if there is more time now."""
        name = f"{self.name}/{name}"
        if self.results.cells.get(name, {}).get("max_time", np.inf) < self.limits.max_time:
            del self.results.cells[name]
        return self.results.cell(name, settings, measure)

    def _case_settings(self) -> Cell:
        """Say what problem it is: a cell of another one is another cell."""
        rows = QUICK_ROWS if self.limits.quick else self.case.rows
        return {"C": self.case.C, "gamma": self.case.gamma, "rows": rows}
