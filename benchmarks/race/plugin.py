"""What a plug-in gives to a race: cases, libraries, entries, and the hooks of :class:`Race`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .data import AS_PUBLISHED, CSR, DataSet
from .store import Cell, Store
from .tables import Cells, Table


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
    optional : bool
        Whether a race goes on without it where it is not installed.
    """

    package: str
    module: str
    fit: Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any]
    weights: Callable[[Any], Any] = _itself
    prepare: Callable[[Any, np.ndarray], Any] = as_they_are
    dense: bool = True
    optional: bool = False


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
        """Yield the heats of a case; later ones may depend on cells of earlier ones."""
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
        """Yield the tables of the page; what was not measured is left open."""
        raise NotImplementedError

    def draw(self, cells: Cells, folder: Path) -> None:
        """Draw the pictures of the page."""

    def check_libraries(self, without: tuple[str, ...]) -> tuple[str, ...]:
        """Return who is left out: as asked, and optional libraries that are missing, with a line.

        Where another library is missing, the error names the package to install.
        """
        left_out = list(without)
        for name, library in self.libraries.items():
            if name in without or find_spec(library.module) is not None:
                continue
            if not library.optional:
                raise SystemExit(
                    f"{library.package} is measured beside ours and must be installed: pip install "
                    f"{library.package}, or leave it out with --without {name}."
                )
            print(f"{name} is skipped: {library.package} is not installed.", flush=True)
            left_out.append(name)
        return tuple(left_out)


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
