"""Linear regression against LIBLINEAR (LinearSVR), SGDRegressor and QuantileRegressor (HiGHS).

python -m benchmarks.speed.linear_regression [--only SET ...] [--losses ...] [--quick]
python -m benchmarks.speed.linear_regression render

Sets are generated: rows of correlated Gaussian features, dense, or of few of many features, sparse,
with the noise of a Student's t distribution. All solve the same problem on one thread, and are
judged by its objective. A long run of ours gives the optimum; everybody is measured with the first
rung of its ladder that comes within 1e-3 of it.

The intercept is penalised as a distance from the middle of the targets: of those that LinearSVR
gets, zero. QuantileRegressor penalises absolute weights; it is given no penalty, and C is so large
that ours hardly matters.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from benchmarks.race import plugin
from benchmarks.race.command import race_main
from benchmarks.race.data import CSR, DENSE, DataSet
from benchmarks.race.objective import finite
from benchmarks.race.plugin import Entry, Library, Limits
from benchmarks.race.store import Cell
from benchmarks.race.tables import Cells
from benchmarks.speed.regression import LONG, OUR_TOL, Problem, RegressionRace

EPSILON, QUANTILE = 0.5, 0.9
ABSOLUTE, SQUARED, PINBALL = "epsilon_insensitive", "squared_epsilon_insensitive", "quantile"
LOSSES = {ABSOLUTE: "ε-insensitive", SQUARED: "its square", PINBALL: "0.9 quantile"}
Cs = (0.01, 1.0)
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)
EPOCHS = (1, 2, 3, 5, 10, 20, 30, 50, 100)
REFERENCE_TOLERANCES = (1e-5, 1e-6)
QUICK_ROWS = 1_000


@dataclass(frozen=True, kw_only=True)
class Case(plugin.Case):
    """A generated set: rows, features, and values of a sparse row (None: dense)."""

    rows: int
    features: int
    stored: int | None = None


def _case(title: str, rows: int, features: int, stored: int | None = None) -> Case:
    forms = (DENSE,) if stored is None else (CSR,)
    return Case(title=title, source=None, rows=rows, features=features, stored=stored, forms=forms)


CASES = {
    "dense-20k": _case("dense, 20,000 × 20", 20_000, 20),
    "dense-100k": _case("dense, 100,000 × 50", 100_000, 50),
    "dense-1m": _case("dense, 1,000,000 × 20", 1_000_000, 20),
    "sparse-100k": _case("sparse, 100,000 × 20,000", 100_000, 20_000, 50),
    "sparse-1m": _case("sparse, 1,000,000 × 50,000", 1_000_000, 50_000, 20),
}


def _linear_svr(data: Any, problem: Problem, settings: Problem) -> Any:
    from sklearn.svm import LinearSVR

    dual: Any = True if problem["loss"] == ABSOLUTE else "auto"
    model = LinearSVR(epsilon=EPSILON, dual=dual, max_iter=100_000, random_state=0)
    return model.set_params(**problem, **settings).fit(*data)


def _sgd(data: Any, problem: Problem, settings: Problem) -> Any:
    from sklearn.linear_model import SGDRegressor

    loss, C = problem["loss"], problem["C"]
    model = SGDRegressor(loss=loss, epsilon=EPSILON, alpha=1 / (C * len(data[1])), tol=None)
    return model.set_params(average=True, random_state=0, **settings).fit(*data)


def _highs(data: Any, problem: Problem, settings: Problem) -> Any:
    from sklearn.linear_model import QuantileRegressor

    model = QuantileRegressor(quantile=QUANTILE, solver="highs")
    return model.set_params(**settings).fit(*data)


def _widemargin(data: Any, problem: Problem, settings: Problem) -> Any:
    import widemargin

    loss, own = problem["loss"], {**settings, "n_jobs": 1, "random_state": 0}
    if loss == PINBALL:
        model: Any = widemargin.LinearQuantileSVMRegressor(quantile=QUANTILE, C=problem["C"])
    elif loss == "odm":  # half of the squares
        model = widemargin.LinearODMRegressor(C=2 * problem["C"], theta=EPSILON, upsilon=0.5)
    else:
        model = widemargin.LinearSVMRegressor(epsilon=EPSILON, **problem)
    return model.set_params(**own).fit(*data)


class LinearRegressionRace(RegressionRace):
    """The race of linear machines."""

    name = "linear_regression"
    module = "benchmarks.speed.linear_regression"
    libraries: ClassVar[dict[str, Library]] = {
        "linear_svr": Library("scikit-learn", "sklearn", _linear_svr),
        "sgd": Library("scikit-learn", "sklearn", _sgd),
        "highs": Library("scikit-learn", "sklearn", _highs),
        "widemargin": Library("widemargin", "widemargin", _widemargin),
    }
    cases = CASES
    limits = Limits(max_time=120.0, reference_time=300.0, once_above=30.0)

    def add_options(self, group: Any) -> None:
        """Add the choice of losses."""
        group.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))

    def rows(self, case: Case, quick: bool) -> DataSet:
        """Generate rows, and targets of mean 0."""
        rows = QUICK_ROWS if quick else case.rows
        random = np.random.default_rng(0)
        if case.stored is None:
            # Correlated, as measurements are: directions of very different length.
            turned = np.linalg.qr(random.normal(size=(case.features, case.features)))[0]
            lengths = np.geomspace(1, 0.03, case.features)
            X: Any = random.normal(size=(rows, case.features)) * lengths @ turned
            X /= X.std(axis=0)
        else:
            size = rows * case.stored
            indices = random.integers(0, case.features, size=size).astype(np.int32)
            values = np.abs(random.normal(size=size)) / np.sqrt(case.stored)
            starts = np.arange(0, size + 1, case.stored)
            X = sp.csr_matrix((values, indices, starts), shape=(rows, case.features))
            X.sum_duplicates()
        y = X @ random.normal(size=case.features)
        y = y / y.std() * 5 + 2 * random.standard_t(3, rows)
        return DataSet(X, y - y.mean())

    def starts(self, name: str, options: Namespace | None = None) -> Iterator[tuple[str, Problem]]:
        """Yield a problem for each loss and C."""
        for loss in LOSSES if options is None else options.losses:
            for C in Cs:
                yield f"{name}/{loss}/{C:g}", {"loss": loss, "C": C}

    def entries(self, start: str, problem: Problem, cells: Cells) -> list[Entry]:
        """Return who has a loss."""
        common: dict[str, Any] = {"start": start, "forms": self._forms(start)}
        own: dict[str, Any] = {**common, "always": True}
        ours = ("widemargin", "tol", (OUR_TOL,))
        found = [Entry("ours", "widemargin", ours[0], problem, *ours[1:], **own)]
        if problem["loss"] == PINBALL:
            if problem["C"] == max(Cs):
                exact = ("QuantileRegressor", "highs", problem, "alpha", (0.0,))
                found.append(Entry("highs", *exact, **common, always=True))
            return found
        if problem["loss"] == SQUARED:  # the same work, for comparison
            band = {**problem, "loss": "odm"}
            found.append(Entry("odm", "widemargin, ODM", ours[0], band, *ours[1:], **own))
        dual = ("LinearSVR", "linear_svr", problem, "tol", TOLERANCES)
        steps = ("SGDRegressor, averaged", "sgd", problem, "max_iter", EPOCHS)
        return [*found, Entry("svr", *dual, **common), Entry("sgd", *steps, **common)]

    def long_run(self, start: str, problem: Problem) -> Entry:
        """Return ours with a small tol."""
        ladder = REFERENCE_TOLERANCES
        forms = self._forms(start)
        return Entry(
            LONG, "long run", "widemargin", problem, "tol", ladder, start=start, forms=forms
        )

    def _forms(self, start: str) -> tuple[str, ...]:
        return CASES[start.partition("/")[0]].forms

    def score(self, job: Cell, model: Any, data: DataSet) -> Cell:
        """Value the weights by the one objective."""
        ours = job["library"] == "widemargin"
        own = {"relative_gap": float(model.relative_gap_)} if ours else {}
        if job["problem"]["loss"] == "odm":
            return own
        coef, intercept = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
        return {"objective": finite(objective(coef, intercept, data, **job["problem"])), **own}

    def title(self, name: str, problem: Problem) -> str:
        """Return the name of a problem in the tables."""
        return f"{CASES[name].title}, {LOSSES[problem['loss']]}, C = {problem['C']:g}"


def objective(coef: np.ndarray, intercept: float, data: DataSet, loss: str, C: float) -> float:
    """Evaluate the objective that all are judged by."""
    residual = data.y - (data.X @ coef + intercept)
    middle = 0.0
    if loss == PINBALL:
        middle = float(np.quantile(data.y, QUANTILE, method="inverted_cdf"))
        losses = np.maximum(QUANTILE * residual, (QUANTILE - 1) * residual)
    else:
        losses = np.maximum(np.abs(residual) - EPSILON, 0.0)
        losses = losses if loss == ABSOLUTE else losses**2
    penalty = 0.5 * float(coef @ coef + (intercept - middle) ** 2)
    return penalty + C * float(losses.sum())


RACE = LinearRegressionRace()

if __name__ == "__main__":
    race_main(RACE, str(__doc__))
