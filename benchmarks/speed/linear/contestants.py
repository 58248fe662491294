"""Data sets and contestants, with the settings each one tries until it is close enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.race import plugin
from benchmarks.race.data import CSR, DENSE, MAX_ABS, TF_IDF, UNIT, UNIT_LENGTH
from benchmarks.race.plugin import Entry

from .libraries import LIBRARIES

C = 1.0


@dataclass(frozen=True, kw_only=True)
class Case(plugin.Case):
    """A binary problem; all training rows of a set.

    Attributes
    ----------
    classes : str
        What the classes are.
    positive : tuple of int
        Labels of the positive class.
    """

    classes: str = "published"
    positive: tuple[int, ...] = (1,)


BOTH = (DENSE, CSR)
COMP = (1, 2, 3, 4, 5)  # comp.graphics to comp.windows.x
NORMAL = (16,)
CASES = {
    "a9a": Case(title="a9a", source="a9a"),
    "cod-rna": Case(title="cod-rna", source="cod-rna", scaling=UNIT, forms=(DENSE,)),
    "ijcnn1": Case(title="ijcnn1", source="ijcnn1", forms=BOTH),
    "covtype": Case(
        title="covtype",
        source="covtype_binary",
        classes="2 or not",
        positive=(2,),
        scaling=UNIT,
        forms=BOTH,
    ),
    "news20": Case(
        title="news20 by date",
        source="news20_bydate",
        classes="comp.* or not",
        positive=COMP,
        scaling=TF_IDF,
    ),
    "census": Case(title="census", source="census_income", scaling=MAX_ABS),
    "kddcup99": Case(
        title="KDD Cup 1999",
        source="kddcup99",
        classes="normal or attack",
        positive=NORMAL,
        scaling=MAX_ABS,
    ),
    "generated": Case(title="generated", source=None, classes="linear rule", scaling=UNIT_LENGTH),
}

HINGE, SQUARED, ODM = "hinge", "squared_hinge", "odm"
LOSSES = {HINGE: "hinge", SQUARED: "squared hinge", ODM: "ODM"}
# Iterations grow by a third, tolerances halve: contestants do little more work than they must.
ITERATIONS = (*range(1, 7), 8, 10, 13, 17, 22, 29, 38, 50, 65, 85, 110, 145, 190, 250, 330, 430)
ITERATIONS += (570, 750, 1_000, 1_300, 1_700, 2_300, 3_000, 4_000, 5_300, 7_000, 10_000)
TOLERANCES = tuple(float(f"{digit}e{power}") for power in range(1, -7, -1) for digit in (5, 2, 1))
OUR_TOL, REFERENCE_TOL = 1e-3, 1e-7
OUR_LADDER = tuple(tol for tol in TOLERANCES if OUR_TOL <= tol < 1.0)


@dataclass(frozen=True)
class Contestant:
    """A row of the tables: a library with the losses, the ladder and the settings it is run with.

    ``certified`` contestants stop by a bound on their own distance, so they climb to the end.
    """

    title: str
    library: str
    losses: tuple[str, ...]
    rung: str
    ladder: tuple[float, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    certified: bool = False


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
    "cyanure": Contestant("cyanure", "cyanure", (SQUARED,), **BY_ITERATIONS),
    "vw": Contestant("Vowpal Wabbit", "vw", (HINGE,), "passes", ITERATIONS),
    # The default steps, which adapt to each feature, end where the penalty weighs too much.
    **{
        f"vw_plain_{rate:g}": Contestant(
            *(f"Vowpal Wabbit, plain steps from {rate:g}", "vw", (HINGE,), "passes", ITERATIONS),
            settings={"sgd": "", "learning_rate": rate},
        )
        for rate in (1.0, 10.0)
    },
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


def entries(
    case: str,
    loss: str,
    without: tuple[str, ...] = (),
    among: Mapping[str, Contestant] = CONTESTANTS,
) -> list[Entry]:
    """Return who has a loss, without the libraries that are left out."""
    return [
        Entry(
            *(name, each.title, each.library, {"loss": loss, "C": C}, each.rung, each.ladder),
            settings=each.settings,
            start=f"{case}/{loss}",
            forms=CASES[case].forms if LIBRARIES[each.library].dense else (CSR,),
            always=each.certified,
        )
        for name, each in among.items()
        if loss in each.losses and each.library not in without
    ]
