"""Who is measured, and the settings each one tries until it is close enough to the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from .adapters import ADAPTERS, Adapter
from .cases import CSR, Case

HINGE, SQUARED, ODM = "hinge", "squared_hinge", "odm"
LOSSES = {HINGE: "hinge", SQUARED: "squared hinge", ODM: "ODM"}
# Iterations grow by a third, tolerances fall by two: nobody does much more work than it must.
ITERATIONS = (*range(1, 7), 8, 10, 13, 17, 22, 29, 38, 50, 65, 85, 110, 145, 190, 250, 330, 430)
ITERATIONS += (570, 750, 1_000, 1_300, 1_700, 2_300, 3_000, 4_000, 5_300, 7_000, 10_000)
TOLERANCES = tuple(float(f"{digit}e{power}") for power in range(1, -7, -1) for digit in (5, 2, 1))
OUR_TOL, REFERENCE_TOL = 1e-3, 1e-7
OUR_LADDER = tuple(tol for tol in TOLERANCES if OUR_TOL <= tol < 1.0)


@dataclass(frozen=True)
class Contestant:
    """A row of the tables.

    Attributes
    ----------
    title : str
        Name in the tables.
    adapter : str
        Library.
    losses : tuple of str
        What it is measured with.
    rung : str
        The setting that its ladder varies.
    ladder : tuple of float
        Values of it, the cheapest first.
    settings : mapping
        Other settings.
    certified : bool
        Whether it stops by a bound on its own distance, hence has no ladder to climb.
    """

    title: str
    adapter: str
    losses: tuple[str, ...]
    rung: str
    ladder: tuple[float, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    certified: bool = False

    @property
    def is_peer(self) -> bool:
        """Whether it is what ours are compared with."""
        return self.adapter != "widemargin"

    def forms(self, case: Case) -> tuple[str, ...]:
        """Return the forms of the rows it is tried with."""
        return case.forms if ADAPTERS[self.adapter].dense else (CSR,)


def _liblinear(title: str, loss: str, solver: int, threads: int) -> Contestant:
    settings = {"solver": solver, "threads": threads}
    name = f"liblinear-multicore, {title}, {threads} thread{'s' * (threads > 1)}"
    return Contestant(name, "liblinear", (loss,), "eps", TOLERANCES, settings)


SVM = (HINGE, SQUARED)
BY_ITERATIONS: dict[str, Any] = {"rung": "max_iter", "ladder": ITERATIONS}
DECREASING = {"average": True, "learning_rate": "invscaling", "power_t": 0.25}
CONTESTANTS = {
    "svc_dual": Contestant(
        "LinearSVC, dual", "linear_svc", SVM, **BY_ITERATIONS, settings={"dual": True}
    ),
    "svc_primal": Contestant(
        "LinearSVC, primal", "linear_svc", (SQUARED,), **BY_ITERATIONS, settings={"dual": False}
    ),
    "multicore_hinge": _liblinear("dual", HINGE, 3, 2),
    "multicore_hinge_1": _liblinear("dual", HINGE, 3, 1),
    "multicore_dual": _liblinear("dual", SQUARED, 1, 2),
    "multicore_dual_1": _liblinear("dual", SQUARED, 1, 1),
    "multicore_primal": _liblinear("primal", SQUARED, 2, 2),
    "multicore_primal_1": _liblinear("primal", SQUARED, 2, 1),
    "snapml": Contestant("snapml", "snapml", SVM, **BY_ITERATIONS, settings={"n_jobs": 2}),
    "snapml_1": Contestant(
        "snapml, 1 thread", "snapml", SVM, **BY_ITERATIONS, settings={"n_jobs": 1}
    ),
    "sgd": Contestant("SGDClassifier", "sgd", (HINGE,), **BY_ITERATIONS),
    "sgd_average": Contestant(
        "SGDClassifier, averaged", "sgd", (HINGE,), **BY_ITERATIONS, settings={"average": True}
    ),
    # The default steps diverge with this loss.
    "sgd_decreasing": Contestant(
        *("SGDClassifier, averaged, invscaling", "sgd", (SQUARED,)),
        **BY_ITERATIONS,
        settings=DECREASING,
    ),
    "ours": Contestant(
        *("widemargin, gap 1e-3", "widemargin", tuple(LOSSES), "tol", (OUR_TOL,)), certified=True
    ),
    "ours_ladder": Contestant(
        "widemargin, loosest tol", "widemargin", tuple(LOSSES), "tol", OUR_LADDER
    ),
}
# Long runs, the best of which is taken for the optimum.
REFERENCES = {
    "ours_long": Contestant(
        "widemargin", "widemargin", tuple(LOSSES), "tol", (1e-5, REFERENCE_TOL), certified=True
    ),
    "svc_dual_long": Contestant(
        *("LinearSVC, dual", "linear_svc", SVM, "max_iter", (300, 3_000, 30_000)),
        settings={"dual": True},
    ),
    "svc_primal_long": Contestant(
        *("LinearSVC, primal", "linear_svc", (SQUARED,), "max_iter", (100, 1_000)),
        settings={"dual": False},
    ),
}


def entered(
    among: Mapping[str, Contestant], loss: str, without: tuple[str, ...] = ()
) -> dict[str, Contestant]:
    """Return who has a loss, without the libraries that are left out."""
    return {
        name: each
        for name, each in among.items()
        if loss in each.losses and each.adapter not in without
    }


def check_libraries(
    without: tuple[str, ...], adapters: Mapping[str, Adapter] = MappingProxyType(ADAPTERS)
) -> None:
    """Say what to install where a library is not there."""
    for name, adapter in adapters.items():
        if name not in without and find_spec(adapter.module) is None:
            raise SystemExit(
                f"{adapter.package} is measured beside ours and must be installed: pip install "
                f"{adapter.package}, or leave it out with --without {name}."
            )
