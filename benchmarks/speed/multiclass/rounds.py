"""Choose C, bound the optimum, let everybody climb its ladder, then measure round after round.

A round measures everybody once with the rung that was chosen, each in a fresh process, one after
the other, so that a busy moment hits all alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from benchmarks.papers.results import Results
from benchmarks.speed import ladders, measuring
from benchmarks.speed.ladders import Cell
from benchmarks.speed.linear.rounds import Limits

from . import best_c
from .cases import BEST, CASES, QUICK_ROWS, TRAINING, save_both, saved_part
from .contestants import REFERENCES, Contestant, entered
from .measured import C_of, bound_of, measured, target_of

WORKER = "benchmarks.speed.multiclass.worker"


def run(
    results: Results, names: Sequence[str], choices: Sequence[str], limits: Limits
) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            race = Race(name, results, limits, Path(folder))
            for choice in choices:
                if choice in race.case.choices:
                    race.run(choice, failures)
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
        save_both(self.case, self.limits.quick, self._folder)
        return self._folder

    def run(self, choice: str, failures: list[str]) -> None:
        """Measure all contestants with C = 1, or with the best."""
        if choice == BEST:
            for formulation in sorted({each.formulation for each in self.contestants.values()}):
                self._search(formulation)
        peers = (each for each in self.contestants.values() if each.is_peer)
        for formulation in sorted({each.formulation for each in peers}):
            with measuring.noted(failures, f"{self.name}/reference/{formulation}"):
                reference = REFERENCES[formulation]
                self._climb(choice, f"reference/{formulation}", reference, reference.ladder)
        for name, contestant in self.contestants.items():
            with measuring.noted(failures, f"{self.name}/{name}"):
                self._climb(choice, f"{name}/ladder", contestant, contestant.ladder)
        for number in range(self.limits.repeats):
            for name, contestant in self.contestants.items():
                found = measured(self.results.cells, self.name, choice, name)
                if found is None or not (found.reached or not contestant.is_peer):
                    continue
                with measuring.noted(failures, f"{self.name}/{name}"):
                    cell = f"{name}/fit/{found.value:g}/{number}"
                    self._climb(choice, cell, contestant, (found.value,))

    def _search(self, formulation: str) -> None:
        settings = {"grid": best_c.GRID, "folds": best_c.FOLDS} | self._size()

        def search() -> Cell:
            X, codes = saved_part(self.folder, TRAINING, self.case.form)
            found = best_c.search(X, codes, formulation, self.limits.max_time)
            print(f"{self.name}: {formulation} is best with C = {found['C']:g}", flush=True)
            return found

        self.results.cell(f"{self.name}/search/{formulation}", settings, search)

    def _climb(
        self, choice: str, name: str, contestant: Contestant, ladder: tuple[float, ...]
    ) -> None:
        cells, formulation = self.results.cells, contestant.formulation
        C = C_of(cells, self.name, choice, formulation)
        assert C is not None
        reference = name.startswith("reference/")
        bound = None if reference else bound_of(cells, self.name, C, formulation)
        climbs = contestant.is_peer and len(ladder) > 1
        job: Cell = {"adapter": contestant.adapter, "formulation": formulation, "C": C}
        job |= {"form": contestant.form(self.case), "settings": dict(contestant.settings)}
        job |= {"rung": contestant.rung, "ladder": ladder}
        job["target"] = target_of(bound) if climbs and bound is not None else None
        if climbs and bound is None:  # without a bound nobody knows where to stop
            return
        ladders.climbed(
            self.results,
            f"{self.name}/{C:g}/{name}",
            job | self._size(),
            worker=WORKER,
            folder=lambda: self.folder,
            budget=self.limits.reference_time if reference else self.limits.max_time,
        )

    def _size(self) -> Cell:
        return {"quick_rows": QUICK_ROWS if self.limits.quick else None}
