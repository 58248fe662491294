"""DSVRG as printed, step by step against the listings in NumPy, and the options of the solvers."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from linear_problems import Case, dense, optimum, problem_of, run_of
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from engines_under_test import CarryingEngine
from reference import landmarks as reference
from widemargin import LinearODMClassifier, load_model
from widemargin.core.outcome import Outcome
from widemargin.engines import LocalEngine
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers import dsvrg, dsvrg_printed
from widemargin.linear.solvers.dsvrg_printed import drawing_order

Array = npt.NDArray[np.float64]
THETA, UPSILON = 0.2, 0.5


class Listing:
    """The listings' own quantities: λ, ∇pᵢ, parts, the sets R and whose turn it is."""

    def __init__(self, problem: LinearProblem, parts: list[Any], seed: int) -> None:
        self.X, self.y = dense(problem), problem.label.astype(np.float64)
        self.M, self.parts, self.seed = len(self.y), parts, seed
        # Our C per row is λ / (M (1 − θ)²).
        self.lam = 1.0 * self.M * (1 - THETA) ** 2
        self.R = [list(drawing_order((seed, j, 0), len(rows))) for j, rows in enumerate(parts)]
        self.filled = [0] * len(parts)

    def gradient(self, i: int, w: Array) -> Array:
        x, m = self.y[i] * self.X[i], self.y[i] * (w @ self.X[i])
        scale = self.lam / (1 - THETA) ** 2
        g = w.copy()
        if m < 1 - THETA:
            g += scale * (m + THETA - 1) * x
        if m > 1 + THETA:
            g += scale * UPSILON * (m - THETA - 1) * x
        return g

    def full(self, w: Array) -> Array:
        return np.mean([self.gradient(i, w) for i in range(self.M)], axis=0)

    def draw(self, j: int) -> tuple[int, bool]:
        """Take an instance out of R_j; whether that was the last, after which R_j is full again."""
        i = int(self.parts[j][self.R[j].pop(0)])
        if self.R[j]:
            return i, False
        self.filled[j] += 1
        self.R[j] = list(drawing_order((self.seed, j, self.filled[j]), len(self.parts[j])))
        return i, True

    def diodm(self, w: Array, stages: int, T: int, eta: float) -> Array:
        s = 0
        for _ in range(stages):
            h, at = self.full(w), w
            for _ in range(T):
                i, empty = self.draw(s)
                w = w - eta * (self.gradient(i, w) - self.gradient(i, at) + h)
                if empty:
                    s = (s + 1) % len(self.parts)
        return w

    def sodm(self, w: Array, epochs: int, eta: float) -> Array:
        for _ in range(epochs):
            h, at = self.full(w), w
            for j in range(len(self.parts)):
                i, _ = self.draw(j)
                w = w - eta * (self.gradient(i, w) - self.gradient(i, at) + h)
        return w


CASES = [Case(), Case(sparse=True, constant=2.0), Case(dtype="float32", constant=0.0)]


@pytest.mark.parametrize("case", CASES, ids=["dense", "csr", "float32"])
@pytest.mark.parametrize("partition", ["stratified", "random"])
@pytest.mark.parametrize("T", [17, 90, 200])
def test_algorithm_2_of_diodm(case: Case, partition: str, T: int) -> None:
    problem, run = problem_of(case), run_of(tol=1e-300, max_iter=4, seed=5)
    settings = {"n_parts": 4, "partition": partition, "n_strata": 6}
    found = dsvrg_printed.solve(
        problem, np.zeros(problem.size), *run, steps=T, step=2e-3, **settings
    )
    listing = Listing(problem, dsvrg.divide(problem, **settings, seed=5, printed=True), 5)
    expected = listing.diodm(np.zeros(problem.size), 4, T, 2e-3)
    np.testing.assert_allclose(found.iterate, expected, rtol=1e-9, atol=1e-12)
    assert found.outcome is Outcome.ITERATIONS
    assert run.history.iterations == 4


@pytest.mark.parametrize("case", CASES, ids=["dense", "csr", "float32"])
def test_algorithm_2_of_sodm(case: Case) -> None:
    """More epochs than a part has rows: R is filled again."""
    problem, run = problem_of(case), run_of(tol=1e-300, max_iter=40)
    found = dsvrg_printed.solve(
        problem, np.zeros(problem.size), *run, n_parts=4, n_strata=6, step=2e-3, listing="sodm"
    )
    listing = Listing(problem, dsvrg.divide(problem, 4, "stratified", 6, 0, printed=True), 0)
    expected = listing.sodm(np.zeros(problem.size), 40, 2e-3)
    np.testing.assert_allclose(found.iterate, expected, rtol=1e-9, atol=1e-12)
    assert min(listing.filled) >= 1


def test_parts_are_the_printed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Landmarks of all rows, in a set that ours takes a sample of; pieces whatever the labels."""
    monkeypatch.setattr(dsvrg, "CANDIDATE_BYTES", 8 * 3 * 20)
    problem = problem_of(Case(n_rows=200, constant=0.0))
    parts = dsvrg.divide(problem, 5, "stratified", 3, 0, printed=True)
    K = problem.X @ problem.X.T
    stratum = reference.strata(K, reference.landmarks(K, 3))
    part = np.empty(200, dtype=np.int64)
    for number, rows in enumerate(parts):
        part[rows] = number
    assert reference.spread(stratum, part, 5) <= 1
    other = LinearProblem(problem.X, -problem.label, problem.constants)
    for a, b in zip(parts, dsvrg.divide(other, 5, "stratified", 3, 0, printed=True), strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_engine_that_shares_nothing_gives_the_same() -> None:
    answers = []
    for engine in (LocalEngine(1), LocalEngine(2), CarryingEngine()):
        problem, run = problem_of(Case(n_rows=300)), run_of(tol=1e-300, max_iter=5)
        duals = np.zeros(300)
        found = dsvrg_printed.solve(problem, np.zeros(problem.size), *run, duals, engine=engine)
        answers.append(np.concatenate([found.iterate, duals]))
        assert problem.evaluations == 300 + 5 * 600
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_default_step_converges_to_the_optimum() -> None:
    case = Case(n_rows=90)
    problem, run = problem_of(case), run_of(tol=1e-3, max_iter=3000)
    found = dsvrg_printed.solve(problem, np.zeros(problem.size), *run)
    assert found.outcome.converged
    assert found.certificate.primal == pytest.approx(optimum(case), rel=2e-3)


def test_steps_that_are_too_long_are_not_corrected() -> None:
    problem, run = problem_of(Case(n_rows=90, C=100.0)), run_of(tol=1e-6, max_iter=500)
    with np.errstate(all="ignore"):
        found = dsvrg_printed.solve(problem, np.zeros(problem.size), *run, step=0.5)
    assert found.outcome is Outcome.STALLED
    assert np.isfinite(found.iterate).all()


# ----------------------------------------------------------------------------- public interface


def rows(n_classes: int = 2) -> tuple[Any, Any]:
    X, y = make_classification(240, 6, n_informative=4, n_classes=n_classes, random_state=0)
    return X, y


def fitted(**parameters: Any) -> LinearODMClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearODMClassifier(**parameters).fit(*rows())


def test_options_reach_the_solver() -> None:
    given = {"solver": "dsvrg_printed", "n_parts": 3, "max_iter": 4, "tol": 1e-12, "C": 0.1}
    settings = {"partition": "random", "n_strata": 4, "steps": 50, "step": 0.002}
    base = fitted(**given, solver_options=settings)
    assert base.solver_ == "dsvrg_printed"
    assert base.n_iter_ == 4
    for change in (
        {"partition": "stratified"},
        {"steps": 51},
        {"step": 0.003},
    ):
        assert np.any(fitted(**given, solver_options=settings | change).coef_ != base.coef_)
    strata = settings | {"partition": "stratified"}
    few, many = (fitted(**given, solver_options=strata | {"n_strata": n}).coef_ for n in (1, 6))
    assert np.any(few != many)
    in_turns = {key: settings[key] for key in ("partition", "step")} | {"listing": "sodm"}
    assert np.any(fitted(**given, solver_options=in_turns).coef_ != base.coef_)
    assert np.any(fitted(**(given | {"n_parts": 4}), solver_options=settings).coef_ != base.coef_)
    ours = fitted(**(given | {"solver": "dsvrg"}), solver_options=settings)
    assert np.any(ours.coef_ != base.coef_)


def test_solver_of_the_estimator_is_the_listing() -> None:
    X, y = rows()
    settings = {"n_strata": 4, "steps": 100, "step": 0.002}
    model = fitted(
        C=1.0,
        solver="dsvrg_printed",
        n_parts=3,
        solver_options=settings,
        fit_intercept=False,
        max_iter=3,
        tol=1e-12,
        random_state=2,
    )
    from widemargin.core.losses import LossConstants, MarginDistribution

    problem = LinearProblem(
        X,
        np.where(y == 1, 1, -1).astype(np.int8),
        LossConstants.of(MarginDistribution(0.5, 0.2), 1.0),
    )
    seed = model._seed()
    parts = dsvrg.divide(problem, 3, "stratified", 4, seed, printed=True)
    expected = Listing(problem, parts, seed).diodm(np.zeros(6), 3, 100, 0.002)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-9)


def test_other_engines_divide_by_the_options_too() -> None:
    settings = {"n_strata": 4, "steps": 100, "step": 0.002}
    given = {"solver": "dsvrg_printed", "n_parts": 3, "max_iter": 3, "tol": 1e-12}
    here = fitted(**given, solver_options=settings)
    there = fitted(**given, solver_options=settings, engine=CarryingEngine())
    np.testing.assert_array_equal(here.coef_, there.coef_)


def test_sparse_rows_several_classes_and_files(tmp_path: Any) -> None:
    X, y = rows(3)
    given = {"solver": "dsvrg_printed", "n_parts": 3, "solver_options": {"n_strata": 4}}
    model = LinearODMClassifier(**given, C=0.1, tol=1e-2).fit(X, y)
    assert model.converged_
    assert clone(model).solver_options == {"n_strata": 4}
    sparse = LinearODMClassifier(**given, C=0.1, tol=1e-2).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-9)
    model.save(tmp_path / "model.wm")
    again = load_model(tmp_path / "model.wm")
    assert again.solver_options == {"n_strata": 4}
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        ("newton", {"step": 0.1}, "must be None with solver='newton', which has none"),
        ("auto", {"step": 0.1}, "must be None with solver='auto'"),
        ("dsvrg", {"listing": "sodm"}, "may have 'partition', 'n_strata', 'steps', 'step'; got"),
        ("dsvrg", {"partition": "kmeans"}, "'partition' .* must be 'stratified' or 'random'; got"),
        ("dsvrg", {"n_strata": 0}, "'n_strata' .* must be an integer of at least 1; got 0"),
        ("dsvrg_printed", {"steps": 1.5}, "'steps' .* must be an integer of at least 1; got 1.5"),
        ("dsvrg_printed", {"step": 1.0}, "'step' .* must be a number between 0 and 1"),
        ("dsvrg_printed", {"listing": "both"}, "'listing' .* must be 'diodm' or 'sodm'; got"),
        ("dsvrg_printed", {"listing": "sodm", "steps": 9}, "'steps' must be left out; got 9"),
    ],
)
def test_wrong_options_are_refused(solver: str, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearODMClassifier(solver=solver, solver_options=options).fit(*rows())
