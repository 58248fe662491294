"""Who is measured, and the settings each one tries until its gap is small enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.linear.cases import CSR
from benchmarks.speed.linear.contestants import ITERATIONS

from .adapters import ADAPTERS
from .cases import Case

GAP, REFERENCE_GAP = 1e-2, 1e-4
# LIBLINEAR's tolerances from the loosest, in small steps: it does little more work than it must.
TOLERANCES: tuple[float, ...] = (
    1.0,
    0.5,
    0.3,
    0.2,
    0.15,
    0.1,
    0.08,
    0.06,
    0.05,
    0.04,
    0.03,
    0.02,
    0.015,
    0.01,
)
TOLERANCES += (0.007, 0.005, 0.003, 0.002, 0.001)


@dataclass(frozen=True)
class Contestant:
    """A row of the tables.

    Attributes
    ----------
    title : str
        Name in the tables.
    adapter : str
        Library.
    formulation : str
        What it solves.
    threads : int
        How many it uses.
    rung : str
        The setting that its ladder varies.
    ladder : tuple of float
        Values of it, the cheapest first.
    settings : mapping
        Other settings.
    """

    title: str
    adapter: str
    formulation: str
    threads: int
    rung: str = "tol"
    ladder: tuple[float, ...] = TOLERANCES
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_peer(self) -> bool:
        """Whether it is what ours are compared with."""
        return self.adapter != "widemargin"

    def form(self, case: Case) -> str:
        """Return the form of the rows it gets."""
        return case.form if ADAPTERS[self.adapter].dense else CSR


def _ours(formulation: str, threads: int, tol: float = GAP, solver: str = "auto") -> Contestant:
    title = f"widemargin, {formulation.upper()}" + (solver != "auto") * f", {solver}"
    settings = {"threads": threads, "solver": solver}
    return Contestant(title, "widemargin", formulation, threads, "tol", (tol,), settings)


def _liblinear(formulation: str, solver: int, threads: int) -> Contestant:
    settings = {"solver": solver, "threads": threads}
    title = f"liblinear-multicore, {formulation.upper()}"
    return Contestant(title, "liblinear", formulation, threads, "eps", settings=settings)


def _snapml(threads: int) -> Contestant:
    settings = {"n_jobs": threads}
    return Contestant("snapml, OVR", "snapml", "ovr", threads, "max_iter", ITERATIONS, settings)


CONTESTANTS = {
    "ww_1": _ours("ww", 1),
    "ww_2": _ours("ww", 2),
    "ww_tournament_1": _ours("ww", 1, solver="tournament"),
    "ww_tournament_2": _ours("ww", 2, solver="tournament"),
    "cs_1": _ours("cs", 1),
    "cs_2": _ours("cs", 2),
    "ovr_1": _ours("ovr", 1),
    "ovr_2": _ours("ovr", 2),
    "svc_cs": Contestant("LinearSVC, CS", "linear_svc", "cs", 1),
    "liblinear_cs": _liblinear("cs", 4, 1),
    "svc_ovr": Contestant("LinearSVC, OVR", "linear_svc", "ovr", 1),
    "multicore_ovr_1": _liblinear("ovr", 3, 1),
    "multicore_ovr_2": _liblinear("ovr", 3, 2),
    "snapml_ovr_1": _snapml(1),
    "snapml_ovr_2": _snapml(2),
}
# Long runs of ours, whose multipliers give the lower bounds.
REFERENCES = {formulation: _ours(formulation, 2, REFERENCE_GAP) for formulation in ("cs", "ovr")}


def entered(case: Case, without: tuple[str, ...] = ()) -> dict[str, Contestant]:
    """Return who is measured on a case, without the libraries that are left out."""
    names = CONTESTANTS if case.contestants is None else case.contestants
    return {name: CONTESTANTS[name] for name in names if CONTESTANTS[name].adapter not in without}
