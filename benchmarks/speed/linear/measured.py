"""What the cells say: the optimum, the rung a contestant is measured with, its median times.

Names of cells: ``set/loss/reference/name``, ``set/loss/contestant/ladder/form`` and
``set/loss/contestant/fit/form/value/round``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, takewhile
from statistics import median
from typing import Any

from benchmarks.papers.figures import Cells

from .cases import CASES
from .contestants import CONTESTANTS

ACCURACY = 1e-3


def reference(cells: Cells, case: str, loss: str) -> float | None:
    """Return the optimum: the lowest objective of the long runs."""
    start = f"{case}/{loss}/reference/"
    found = (cell for name, cell in cells.items() if name.startswith(start))
    values = (rung["objective"] for cell in found for rung in cell.get("rungs", ()))
    return min(values, default=None)


def target_of(best: float) -> float:
    """Return the objective that is close enough."""
    return (1.0 + ACCURACY) * best


@dataclass(frozen=True)
class Choice:
    """A rung of a ladder: the first that is within 1e-3 of the optimum, else the best."""

    form: str
    value: float
    objective: float
    seconds: float
    reached: bool


def chosen(cells: Cells, case: str, loss: str, contestant: str) -> Choice | None:
    """Choose the form of the rows and the rung; None where no fit ended in time."""
    best = reference(cells, case, loss)
    choices = []
    for form in CONTESTANTS[contestant].forms(CASES[case]):
        rungs = cells.get(f"{case}/{loss}/{contestant}/ladder/{form}", {}).get("rungs", [])
        if not rungs or best is None:
            continue
        good = [rung for rung in rungs if rung["objective"] <= target_of(best)]
        rung = good[0] if good else min(rungs, key=lambda each: float(each["objective"]))
        choices.append(Choice(form, rung["value"], rung["objective"], rung["seconds"], bool(good)))
    return min(choices, key=lambda each: (not each.reached, each.seconds), default=None)


@dataclass(frozen=True)
class Measured:
    """The fits of a contestant with the rung that was chosen for it."""

    choice: Choice
    fits: list[dict[str, Any]]

    def median(self, key: str) -> float | None:
        """Return the median of all rounds."""
        return median(fit[key] for fit in self.fits) if self.fits else None


def measured(cells: Cells, case: str, loss: str, contestant: str) -> Measured | None:
    """Collect the fits of a contestant."""
    choice = chosen(cells, case, loss, contestant)
    if choice is None:
        return None
    start = f"{case}/{loss}/{contestant}/fit/{choice.form}/{choice.value:g}"
    names = takewhile(cells.__contains__, (f"{start}/{number}" for number in count()))
    # A fit that was given up has no rung.
    return Measured(choice, [rung for name in names for rung in cells[name].get("rungs", ())])


def ratio(cells: Cells, case: str, loss: str, ours: str, key: str) -> tuple[float, str] | None:
    """Divide our median by that of the best peer, and name it; None where either is missing."""
    times = {}
    for name, contestant in CONTESTANTS.items():
        if loss not in contestant.losses or not (contestant.is_peer or name == ours):
            continue
        each = measured(cells, case, loss, name)
        value = None if each is None or not each.choice.reached else each.median(key)
        if value is not None:
            times[name] = value
    own = times.pop(ours, None)
    if own is None or not times:
        return None
    peer = min(times, key=lambda name: times[name])
    return own / times[peer], peer
