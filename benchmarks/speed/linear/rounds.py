"""Find the optimum, let everybody climb its ladder, then measure round after round.

A round measures everybody once with the rung that was chosen, each in a fresh process, one after
the other, so that a busy moment hits all alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.papers.results import Results
from benchmarks.speed import ladders, measuring
from benchmarks.speed.ladders import Cell

from .cases import CASES, CSR, QUICK_ROWS, rows_of, save
from .contestants import CONTESTANTS, REFERENCES, Contestant, entered
from .measured import Choice, chosen, reference, target_of

WORKER = "benchmarks.speed.linear.worker"
C = 1.0


@dataclass(frozen=True)
class Limits:
    """How much is measured.

    Attributes
    ----------
    repeats : int
        Rounds.
    max_time : float
        Seconds that a ladder may take.
    reference_time : float
        Seconds that a long run may take.
    quick : bool
        Use a few rows.
    without : tuple of str
        Libraries that are left out.
    """

    repeats: int = 3
    max_time: float = 120.0
    reference_time: float = 300.0
    quick: bool = False
    without: tuple[str, ...] = ()


def run(results: Results, names: Sequence[str], losses: Sequence[str], limits: Limits) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            race = Race(name, results, limits, Path(folder))
            for loss in losses:
                race.run(loss, failures)
    return failures


class Race:
    """The contestants of one case."""

    def __init__(self, name: str, results: Results, limits: Limits, folder: Path) -> None:
        self.name, self.case = name, CASES[name]
        self.results, self.limits, self._folder = results, limits, folder

    @cached_property
    def folder(self) -> Path:
        """The folder with the rows, which are put there when the first fit needs them."""
        save(*rows_of(self.case, self.limits.quick), self._folder)
        return self._folder

    def run(self, loss: str, failures: list[str]) -> None:
        """Measure all contestants of a loss."""
        cells, without = self.results.cells, self.limits.without
        for name, contestant in entered(REFERENCES, loss, without).items():
            with measuring.noted(failures, f"{self.name}/{loss}/{name}"):
                self._long_run(loss, name, contestant)
        best = reference(cells, self.name, loss)
        if best is None:
            return
        contestants = entered(CONTESTANTS, loss, without)
        for name, contestant in contestants.items():
            with measuring.noted(failures, f"{self.name}/{loss}/{name}"):
                for form in contestant.forms(self.case):
                    self._ladder(loss, name, contestant, form, target_of(best))
        for number in range(self.limits.repeats):
            for name, contestant in contestants.items():
                choice = chosen(cells, self.name, loss, name)
                if choice is not None and (choice.reached or contestant.certified):
                    with measuring.noted(failures, f"{self.name}/{loss}/{name}"):
                        self._fit(loss, name, contestant, choice, number)

    def _long_run(self, loss: str, name: str, contestant: Contestant) -> None:
        job = self._job(loss, contestant, CSR)
        self._cell(f"{loss}/reference/{name}", job, self.limits.reference_time)

    def _ladder(
        self, loss: str, name: str, contestant: Contestant, form: str, target: float
    ) -> None:
        job = self._job(loss, contestant, form)
        if not contestant.certified:
            job["target"] = target
        self._cell(f"{loss}/{name}/ladder/{form}", job)

    def _fit(
        self, loss: str, name: str, contestant: Contestant, choice: Choice, number: int
    ) -> None:
        job = self._job(loss, contestant, choice.form) | {"ladder": [choice.value]}
        self._cell(f"{loss}/{name}/fit/{choice.form}/{choice.value:g}/{number}", job)

    def _job(self, loss: str, contestant: Contestant, form: str) -> Cell:
        job: Cell = {"adapter": contestant.adapter, "loss": loss, "C": C, "form": form}
        job |= {"settings": dict(contestant.settings), "rung": contestant.rung}
        job |= {"ladder": contestant.ladder, "target": None}
        return job | {"quick_rows": QUICK_ROWS if self.limits.quick else None}

    def _cell(self, name: str, job: Cell, budget: float | None = None) -> None:
        ladders.climbed(
            self.results,
            f"{self.name}/{name}",
            job,
            worker=WORKER,
            folder=lambda: self.folder,
            budget=self.limits.max_time if budget is None else budget,
        )
