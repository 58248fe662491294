"""What was measured of a contestant, over all rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.papers.figures import NONE, Cells, seconds

from .cases import CASES
from .contestants import CONTESTANTS


@dataclass(frozen=True)
class Measured:
    """The fits of a contestant on a case with the tol and the rows that were chosen for it."""

    choice: dict[str, Any]
    fits: list[dict[str, Any]]

    @property
    def finished(self) -> bool:
        """Whether there is anything to show."""
        return any("fit_seconds" in fit for fit in self.fits)

    def best(self, key: str) -> float | None:
        """Return the smallest figure of all rounds."""
        return min((fit[key] for fit in self.fits if fit.get(key) is not None), default=None)

    def first(self, key: str) -> Any:
        """Return a figure of the first round, which is the one that is scored."""
        return self.fits[0].get(key) if self.fits else None

    @property
    def marks(self) -> str:
        """What a reader of its times should know."""
        late = "†" if any(fit.get("out_of_time") for fit in self.fits) else ""
        return late + ("‡" if self.choice.get("reached") is False else "")

    def seconds(self, key: str, rounds: int) -> str:
        """Show a time, with the number of rounds if there were fewer than the others had."""
        best = self.best(key)
        if best is None:
            return NONE
        few = f" ({len(self.fits)})" if len(self.fits) < rounds else ""
        return seconds(best) + few


def measured(cells: Cells, case: str, contestant: str) -> Measured | None:
    """Collect the fits of a contestant; None if it was not measured."""
    if CONTESTANTS[contestant].C == CASES[case].C:  # its row is that of the case's own C
        contestant = contestant.removesuffix("_C1")
    choice = cells.get(f"{case}/{contestant}/choice")
    if choice is None:
        return None
    place = choice["format"]
    if CONTESTANTS[contestant].has_ladder:
        if choice["tol"] is None:  # nothing ended in time
            return Measured(choice, [{"out_of_time": True}])
        place += f"/{choice['tol']:g}"
    fits: list[dict[str, Any]] = []
    while (cell := cells.get(f"{case}/{contestant}/fit/{place}/{len(fits)}")) is not None:
        fits.append(cell)
    return Measured(choice, fits)


def ratio(cells: Cells, case: str, ours: str, peer: str, key: str) -> float | None:
    """Divide our best time by the peer's."""
    pair = [measured(cells, case, each) for each in (ours, peer)]
    times = [None if each is None else each.best(key) for each in pair]
    return None if times[0] is None or times[1] is None else times[0] / times[1]
