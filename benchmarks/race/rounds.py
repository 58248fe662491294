"""A race: every contestant climbs a ladder of settings, then all are measured round after round.

For each case a plug-in gives heats: contestants (:class:`Entry`) that are measured in turns. Long
runs come first where the optimum is not known otherwise. Each entry then climbs its ladder, from
the cheapest setting to the first whose fit is close enough to the optimum, and is measured with
that rung. A round measures everybody once, each in a process of its own, one after the other, so
that a busy moment affects all alike.

Names of cells: ``…/reference/name``, ``…/contestant/ladder/form`` and
``…/contestant/fit/form/value/round``, where … begins with the case.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from pathlib import Path
from statistics import median
from typing import Any

from . import processes
from .plugin import Entry, Heat, Limits, Race, Rows
from .store import Cell, Store
from .tables import Cells

WORKER = "benchmarks.race.worker"
# A process is ended when its ladder has taken so many times its budget.
PATIENCE = 2.0


def run(
    race: Race, store: Store, names: Sequence[str], limits: Limits, options: Namespace
) -> list[str]:
    """Measure what is missing; return what went wrong."""
    failures: list[str] = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows = Rows(race, name, limits.quick, Path(folder))
            measuring = _Measuring(race, store, limits, rows)
            for heat in race.heats(name, store, options, rows):
                measuring.run(heat, failures)
    return failures


@dataclass(frozen=True)
class _Measuring:
    """The fits of one case."""

    race: Race
    store: Store
    limits: Limits
    rows: Rows

    def run(self, heat: Heat, failures: list[str]) -> None:
        for cell, entry in heat.references.items():
            with processes.noted(failures, cell):
                self._climb(cell, entry, entry.ladder, entry.forms[0], reference=True)
        for entry in heat.entries:
            with processes.noted(failures, f"{entry.start}/{entry.name}"):
                ladder = self.race.ladder(entry, self.store.cells)
                for form in entry.forms if ladder else ():
                    target = self.race.target(entry, self.store.cells)
                    cell = f"{entry.start}/{entry.name}/ladder/{form}"
                    self._climb(cell, entry, ladder, form, target)
        for number in range(self.limits.repeats):
            for entry in heat.entries:
                found = measured(self.race, self.store.cells, entry)
                if found is None or not (found.reached or entry.always):
                    continue
                if number > 0 and (entry.once or found.seconds > self.limits.once_above):
                    continue
                with processes.noted(failures, f"{entry.start}/{entry.name}"):
                    cell = fit_cell(entry, found.form, found.value, number)
                    self._climb(cell, entry, (found.value,), found.form)

    def _climb(
        self,
        name: str,
        entry: Entry,
        ladder: tuple[float, ...],
        form: str,
        target: tuple[str, float] | None = None,
        *,
        reference: bool = False,
    ) -> None:
        """Measure a cell that is missing, or was given up when there was less time."""
        budget = self.limits.reference_time if reference else self.limits.max_time
        job: Cell = {"library": entry.library, "problem": dict(entry.problem), "form": form}
        job |= {"settings": dict(entry.settings), "rung": entry.rung, "ladder": ladder}
        if target is not None:
            target = target[0], float(f"{target[1]:.10g}")  # the same on every machine
        job |= {"target": target, "quick": self.limits.quick}
        kept = self.store.cells.get(name, {})
        if not kept.get("finished") and kept.get("budget", budget) < budget:
            self.store.drop(name)

        def measure() -> Cell:
            ready = {**job, "race": self.race.module, "folder": str(self.rows.folder)}
            ready |= {"budget": budget, "detail": "/fit/" not in name}
            cell = processes.measure(WORKER, ready, PATIENCE * budget)
            print(f"{name}: {_ending(entry.rung, cell)}", flush=True)
            return {**cell, "budget": budget}

        self.store.cell(name, job, measure)


def _ending(rung: str, cell: Cell) -> str:
    """Describe where a ladder ended."""
    if not cell.get("rungs"):
        return "nothing in time"
    last = cell["rungs"][-1]
    found = ", ".join(f"{key} {last[key]:.6g}" for key in ("objective", "gap") if key in last)
    return f"{rung} {last['value']:g}, {found}, {last['seconds']:.3f} s"


def fit_cell(entry: Entry, form: str, value: float, number: int) -> str:
    """Return the name of the cell of a fit in a round."""
    return f"{entry.start}/{entry.name}/fit/{form}/{value:g}/{number}"


@dataclass(frozen=True)
class Measured:
    """The rung that was chosen for an entry, and its fits in all rounds.

    Attributes
    ----------
    form : str
        Form of the rows.
    value, seconds : float
        The rung, and the seconds of its fit when it was chosen.
    distance : float or None
        Its distance from the optimum when it was chosen.
    reached : bool
        Whether that is close enough.
    rung : dict
        All that was measured then.
    fits : list of dict
        What the rounds measured.
    """

    form: str
    value: float
    seconds: float
    distance: float | None
    reached: bool
    rung: Cell
    fits: list[Cell] = field(default_factory=list)

    def median(self, key: str) -> float | None:
        """Return the median of all rounds."""
        return median(fit[key] for fit in self.fits) if self.fits else None

    def best(self, key: str) -> float | None:
        """Return the smallest value of all rounds."""
        return min((fit[key] for fit in self.fits if fit.get(key) is not None), default=None)


def measured(race: Race, cells: Cells, entry: Entry) -> Measured | None:
    """Choose form and rung of an entry, and collect its fits; None where no fit ended in time."""
    choices = []
    enough = race.close * (1.0 + 1e-6)  # the target itself is close enough
    for form in entry.forms:
        rungs = cells.get(f"{entry.start}/{entry.name}/ladder/{form}", {}).get("rungs", [])
        distances = [race.distance(entry, rung, cells) for rung in rungs]
        known = [each for each in distances if each is not None]
        best = min(known, default=float("inf"))
        close = enough if best <= enough else (1.0 + race.stalled) * best
        pairs = zip(rungs, distances, strict=True)
        chosen = next(((r, d) for r, d in pairs if d is None or d <= close), None)
        if chosen is not None:
            rung, distance = chosen
            reached = distance is not None and distance <= enough
            found = (form, rung["value"], rung["seconds"], distance, reached, rung)
            choices.append(Measured(*found))
    if not choices:
        return None
    best_choice = min(choices, key=lambda each: (not each.reached, each.seconds))
    names = (fit_cell(entry, best_choice.form, best_choice.value, number) for number in count())
    # A fit that was given up has no rung.
    fits = (cells[name].get("rungs", ()) for name in takewhile(cells.__contains__, names))
    return Measured(*_fields(best_choice), [rung for rungs in fits for rung in rungs])


def _fields(choice: Measured) -> tuple[Any, ...]:
    return tuple(vars(choice).values())[:-1]
