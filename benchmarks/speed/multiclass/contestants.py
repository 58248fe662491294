"""Data sets, libraries and contestants, with the settings each one tries until its gap is small.

Intercepts are penalised as the weights of a constant feature 1, as LIBLINEAR and snapml do. Rows
are brought into the form that a library wants before the clock starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.race import plugin
from benchmarks.race.data import CSR, DENSE, TF_IDF
from benchmarks.race.plugin import Entry, Library
from benchmarks.speed.linear import libraries as linear
from benchmarks.speed.linear.contestants import ITERATIONS

from . import machines

CONSTANT = 1.0
ONE, BEST = "one", "best"
OURS = ("ww_1", "ww_2", "ww_tournament_2", "cs_1", "cs_2")


@dataclass(frozen=True, kw_only=True)
class Case(plugin.Case):
    """A data set with its published test part.

    Attributes
    ----------
    classes : int or None
        Number of classes of a generated set.
    contestants : tuple of str or None
        Who is measured; None is everybody.
    choices : tuple of str
        Which C: 1, and the best.
    """

    classes: int | None = None
    contestants: tuple[str, ...] | None = None
    choices: tuple[str, ...] = (ONE, BEST)


CASES = {
    "sector": Case(title="sector", source="sector"),
    "clinc150": Case(title="CLINC150", source="clinc150", scaling=TF_IDF),
    "news20": Case(title="news20 by date", source="news20_bydate", scaling=TF_IDF),
    "letter": Case(title="letter", source="letter", forms=(DENSE,)),
    "generated_1000": Case(
        title="generated, 1,000 classes",
        source=None,
        scaling=TF_IDF,
        classes=1_000,
        contestants=(*OURS, "svc_ovr", "multicore_ovr_2"),
        choices=(ONE,),
    ),
    "generated_5000": Case(
        title="generated, 5,000 classes",
        source=None,
        scaling=TF_IDF,
        classes=5_000,
        contestants=("ww_1", "ww_2", "ww_tournament_2"),
        choices=(ONE,),
    ),
}


def _linear_svc(data: Any, problem: linear.Problem, settings: linear.Settings) -> Any:
    from sklearn.svm import LinearSVC

    kind = "crammer_singer" if problem["formulation"] == "cs" else "ovr"
    model = LinearSVC(loss="hinge", multi_class=kind, C=problem["C"], random_state=0)
    return model.set_params(max_iter=100_000, **settings).fit(*data)


def _coef_and_intercept(model: Any) -> np.ndarray:
    return np.hstack([model.coef_, np.reshape(model.intercept_, (-1, 1))])


def _liblinear_weights(model: Any) -> np.ndarray:
    classes = model.nr_class
    w = np.ctypeslib.as_array(model.w, ((model.nr_feature + 1) * classes,))
    by_label = np.argsort([model.label[k] for k in range(classes)])  # they come as in the data
    return np.ascontiguousarray(w.reshape(-1, classes)[:, by_label].T)


def _widemargin(data: Any, problem: linear.Problem, settings: linear.Settings) -> Any:
    X, codes = data
    classes = int(codes.max()) + 1
    return machines.fit(X, codes, classes, **problem, constant=CONSTANT, **settings)


def _solution_weights(solution: Any) -> Any:
    return solution.weights


LIBRARIES = {
    "linear_svc": Library(
        *("scikit-learn", "sklearn", _linear_svc, _coef_and_intercept, linear.float64), dense=False
    ),
    "liblinear": Library(
        *("liblinear-multicore", "liblinear", linear.liblinear, _liblinear_weights),
        *(linear.liblinear_problem, False),
    ),
    "snapml": Library("snapml", "snapml", linear.snapml, _coef_and_intercept),
    "widemargin": Library("widemargin", "widemargin", _widemargin, _solution_weights),
}

GAP, REFERENCE_GAP = 1e-2, 1e-4
# LIBLINEAR's tolerances from the loosest, in small steps: it does little more work than it must.
TOLERANCES: tuple[float, ...] = (1.0, 0.5, 0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02)
TOLERANCES += (0.015, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001)


@dataclass(frozen=True)
class Contestant:
    """A row of the tables: a library with the formulation, threads and ladder it is run with."""

    title: str
    library: str
    formulation: str
    threads: int
    rung: str = "tol"
    ladder: tuple[float, ...] = TOLERANCES
    settings: Any = None

    @property
    def is_peer(self) -> bool:
        """Whether it is another library."""
        return self.library != "widemargin"

    def entry(self, name: str, case: str, C: float) -> Entry:
        """Return it as an entry of a case."""
        return Entry(
            *(name, self.title, self.library, {"formulation": self.formulation, "C": C}),
            *(self.rung, self.ladder, self.settings or {}, f"{case}/{C:g}"),
            forms=CASES[case].forms if LIBRARIES[self.library].dense else (CSR,),
            always=not self.is_peer,
        )


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


def entered(case: str, without: tuple[str, ...] = ()) -> dict[str, Contestant]:
    """Return who is measured on a case, without the libraries that are left out."""
    names = CASES[case].contestants or tuple(CONTESTANTS)
    return {name: CONTESTANTS[name] for name in names if CONTESTANTS[name].library not in without}
