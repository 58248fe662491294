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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from itertools import count, takewhile
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import numpy as np

from . import processes
from .data import AS_PUBLISHED, CSR, DataSet
from .store import Cell, Store
from .tables import Cells, Table

WORKER = "benchmarks.race.worker"
# A process is ended when its ladder has taken so many times its budget.
PATIENCE = 2.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A data set and what is done to it.

    Attributes
    ----------
    title : str
        Name in the tables.
    source : str or None
        Data set in the folder; None for a generated one.
    scaling : str
        Scaling of the features, fitted on the training rows.
    forms : tuple of str
        Forms of the rows to try; a library that takes several gets the one it is faster with.
    """

    title: str
    source: str | None
    scaling: str = AS_PUBLISHED
    forms: tuple[str, ...] = (CSR,)


def as_they_are(X: Any, y: np.ndarray) -> Any:
    """Prepare nothing."""
    return X, y


def _itself(model: Any) -> Any:
    return model


@dataclass(frozen=True)
class Library:
    """How a library is called, so that all of them solve the same problem.

    Attributes
    ----------
    package, module : str
        Name on PyPI, and the module that must be installed.
    fit : callable
        Takes the prepared rows, the problem and the settings; returns a model.
    weights : callable
        Returns what the objective needs of a model; the model itself by default.
    prepare : callable
        Turns rows and labels into what ``fit`` takes; not timed.
    dense : bool
        Whether it takes dense rows without making sparse ones of them.
    """

    package: str
    module: str
    fit: Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any]
    weights: Callable[[Any], Any] = _itself
    prepare: Callable[[Any, np.ndarray], Any] = as_they_are
    dense: bool = True


@dataclass(frozen=True)
class Entry:
    """A contestant in a case.

    Attributes
    ----------
    name, title : str
        Name in the cells and in the tables.
    library : str
        Name of its library.
    problem : mapping
        What it solves: loss or formulation, C, …
    rung : str
        The setting that its ladder varies.
    ladder : tuple of float
        Values of it, the cheapest first.
    settings : mapping
        Other settings.
    start : str
        Beginning of the names of its cells.
    forms : tuple of str
        Forms of the rows to try.
    always : bool
        Whether rounds measure it also where no rung comes close enough.
    once : bool
        Whether it is measured in the first round only.
    """

    name: str
    title: str
    library: str
    problem: Mapping[str, Any]
    rung: str
    ladder: tuple[float, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    forms: tuple[str, ...] = (CSR,)
    always: bool = False
    once: bool = False

    @property
    def is_peer(self) -> bool:
        """Whether it is another library."""
        return self.library != "widemargin"


@dataclass(frozen=True)
class Heat:
    """Entries that are measured in turns, and long runs by the cells that keep them."""

    entries: Sequence[Entry]
    references: Mapping[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """How much is measured.

    Attributes
    ----------
    repeats : int
        Rounds.
    max_time, reference_time : float
        Seconds that a ladder and a long run may take.
    once_above : float
        A fit that took more seconds than this is not repeated.
    quick : bool
        Use a few rows, to try the harness.
    without : tuple of str
        Libraries that are left out.
    """

    repeats: int = 3
    max_time: float = 120.0
    reference_time: float = 300.0
    once_above: float = float("inf")
    quick: bool = False
    without: tuple[str, ...] = ()


class Race:
    """What a plug-in gives; the methods that raise NotImplementedError must be replaced.

    Attributes
    ----------
    name, module : str
        Name of the results and tables; module that holds this race as RACE.
    libraries, cases : dict
        Libraries and cases by name.
    counts : str
        Which of several rounds counts.
    limits : Limits
        Default limits.
    close : float
        The distance from the optimum that is close enough.
    stalled : float
        Where no rung is close enough, the cheapest one within this share of the best is taken.
    """

    name: str
    module: str
    libraries: ClassVar[dict[str, Library]]
    cases: ClassVar[dict[str, Any]]
    counts = "the median"
    limits = Limits()
    close = 1e-3
    stalled = 0.0

    def add_options(self, group: Any) -> None:
        """Add options of a run to the command line."""

    def rows(self, case: Any, quick: bool) -> DataSet:
        """Read and scale the rows of a case."""
        raise NotImplementedError

    def heats(self, name: str, store: Store, options: Namespace, rows: Rows) -> Iterator[Heat]:
        """Give the heats of a case; later ones may depend on cells of earlier ones."""
        raise NotImplementedError

    def ladder(self, entry: Entry, cells: Cells) -> tuple[float, ...]:
        """Return the ladder of an entry."""
        return entry.ladder

    def target(self, entry: Entry, cells: Cells) -> tuple[str, float] | None:
        """Return the key of a rung and the value at which climbing ends; None climbs to the end."""
        raise NotImplementedError

    def distance(self, entry: Entry, rung: Cell, cells: Cells) -> float | None:
        """Return how far from the optimum a rung is; None if that is unknown."""
        raise NotImplementedError

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Score a fitted model, in its worker."""
        raise NotImplementedError

    def tables(self, cells: Cells) -> Iterator[Table]:
        """Give the tables of the page; what was not measured is left open."""
        raise NotImplementedError

    def draw(self, cells: Cells, folder: Path) -> None:
        """Draw the pictures of the page."""

    def check_libraries(self, without: tuple[str, ...]) -> None:
        """Name the package to install where a library is missing."""
        for name, library in self.libraries.items():
            if name not in without and find_spec(library.module) is None:
                raise SystemExit(
                    f"{library.package} is measured beside ours and must be installed: pip install "
                    f"{library.package}, or leave it out with --without {name}."
                )


class Rows:
    """The rows of a case, read and put into a folder when the first fit needs them."""

    def __init__(self, race: Race, name: str, quick: bool, folder: Path) -> None:
        self._race, self._name, self._quick, self._folder = race, name, quick, folder

    @cached_property
    def data(self) -> DataSet:
        """Training and test rows."""
        return self._race.rows(self._race.cases[self._name], self._quick)

    @cached_property
    def folder(self) -> Path:
        """The folder with the rows."""
        self.data.save(self._folder)
        return self._folder


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
    """Say where a ladder ended."""
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
