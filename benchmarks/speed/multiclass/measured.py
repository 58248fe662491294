"""What the cells say: C, lower bounds, the rung a contestant is measured with, its medians.

Names of cells: ``set/search/formulation``, ``set/C/reference/formulation``,
``set/C/contestant/ladder`` and ``set/C/contestant/fit/value/round``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, takewhile
from statistics import median
from typing import Any

from benchmarks.papers.figures import Cells

from .cases import CASES, ONE
from .contestants import CONTESTANTS, GAP, entered


def C_of(cells: Cells, case: str, choice: str, formulation: str) -> float | None:
    """Return 1, or what the search found; None where there was none."""
    if choice == ONE:
        return 1.0
    found = cells.get(f"{case}/search/{formulation}")
    return None if found is None else float(found["C"])


def bound_of(cells: Cells, case: str, C: float, formulation: str) -> float | None:
    """Return the best lower bound that the long run's multipliers give."""
    rungs = cells.get(f"{case}/{C:g}/reference/{formulation}", {}).get("rungs", ())
    return max((rung["bound"] for rung in rungs), default=None)


def target_of(bound: float) -> float:
    """Return the largest objective whose relative gap to a bound is small enough."""
    return bound / (1.0 - GAP)


def gap_of(rung: dict[str, Any], bound: float | None) -> float | None:
    """Return the relative gap of a fit to the better of its own bound and another."""
    bounds = [each for each in (rung.get("bound"), bound) if each is not None]
    return 1.0 - max(bounds) / rung["objective"] if bounds else None


def _small(gap: float | None) -> bool:
    return gap is not None and gap <= GAP * (1.0 + 1e-6)  # the target itself is small enough


@dataclass(frozen=True)
class Measured:
    """The fits of a contestant with the rung that was chosen for it.

    Attributes
    ----------
    C, value : float
        The problem's C, and the rung: the first whose gap is small enough, else the best.
    gap : float or None
        Its relative gap when it was chosen.
    fits : list of dict
        What the rounds measured.
    """

    C: float
    value: float
    gap: float | None
    fits: list[dict[str, Any]]

    @property
    def reached(self) -> bool:
        """Whether the gap is small enough."""
        return _small(self.gap)

    def median(self, key: str) -> float | None:
        """Return the median of all rounds."""
        return median(fit[key] for fit in self.fits) if self.fits else None


def measured(cells: Cells, case: str, choice: str, name: str) -> Measured | None:
    """Collect the fits of a contestant; None where no rung ended in time."""
    formulation = CONTESTANTS[name].formulation
    C = C_of(cells, case, choice, formulation)
    if C is None:
        return None
    rungs = cells.get(f"{case}/{C:g}/{name}/ladder", {}).get("rungs", [])
    if not rungs:
        return None
    bound = bound_of(cells, case, C, formulation)
    good = (rung for rung in rungs if _small(gap_of(rung, bound)))
    rung = next(good, None) or min(rungs, key=lambda each: float(each["objective"]))
    start = f"{case}/{C:g}/{name}/fit/{rung['value']:g}"
    names = takewhile(cells.__contains__, (f"{start}/{number}" for number in count()))
    fits = [each for fit in names for each in cells[fit].get("rungs", ())]
    return Measured(C, rung["value"], gap_of(rung, bound), fits)


def best_peer(
    cells: Cells, case: str, choice: str, formulation: str, key: str
) -> tuple[str, Measured] | None:
    """Return the peer of a formulation that needs least, of those whose gap is small enough."""
    times = {}
    for name, contestant in entered(CASES[case]).items():
        if not contestant.is_peer or contestant.formulation != formulation:
            continue
        each = measured(cells, case, choice, name)
        if each is not None and each.reached and each.fits:
            times[name] = each
    if not times:
        return None
    best = min(times, key=lambda name: times[name].median(key) or 0.0)
    return best, times[best]
