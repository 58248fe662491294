"""Fits that nobody asks for a level before the root: leaves as its start, where they pay."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from engines_under_test import CarryingEngine
from widemargin import Clustered, ODMClassifier, Stratified, SVMClassifier
from widemargin.core.budget import Budget
from widemargin.core.losses import Hinge
from widemargin.core.outcome import certify
from widemargin.kernel.divide.part_solver import START_TOL, start_budget
from widemargin.kernel.divide.starts import best_multiple, mean_if_close
from widemargin.kernel.divide.strategies import Plan
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.samples import Samples

ROWS = 4500


@pytest.fixture(scope="module")
def moons() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_moons(ROWS, noise=0.2, random_state=0)
    return X.astype(np.float32), y


def machine(strategy: Any = None, **settings: Any) -> ODMClassifier:
    """By size there are four leaves, and a level between."""
    strategy = strategy or Stratified(fan_in=2)
    return ODMClassifier(gamma=2.0, strategy=strategy, random_state=0, **settings)


def test_levels_between_are_left_out_only_where_nobody_asks() -> None:
    assert Stratified().plan(20_000, direct=True) == Plan(1, 16, 0, direct=True)
    assert Stratified().plan(2_000, direct=True) == Plan(0, 4, 0)
    for strategy, levels in [
        (Stratified(levels=2), 2),
        (Stratified(stop_level=1), 2),
        (Stratified(printed=True), 2),
        (Clustered(), 2),
    ]:
        assert not strategy.plan(20_000, direct=True).direct
        assert strategy.plan(20_000, direct=True).levels == levels
    assert Stratified().plan(20_000) == Plan(2, 4, 0)


def test_leaves_are_the_start_of_a_certified_root(moons: tuple) -> None:
    X, y = moons
    model = machine().fit(X, y)
    assert model.history_["parts"].tolist() == [4, 1]
    assert model.converged_
    assert model.level_ == 0
    assert model.relative_gap_ <= 1e-3
    assert model.history_["worst_gap"][0] <= START_TOL
    assert model.history_["movement"][1] < 0.9  # the root began where the leaves were
    exact = machine("exact").fit(X, y)
    best = exact.history_["primal"][-1]
    assert model.history_["objective"][-1] == pytest.approx(best, rel=2e-3)


def test_the_model_depends_neither_on_threads_nor_on_the_engine(moons: tuple) -> None:
    X, y = moons
    one, two = (machine(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    away = machine(engine=CarryingEngine()).fit(X, y)
    for other in (two, away):
        np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(one.history_["objective"], other.history_["objective"])


@pytest.mark.parametrize("asked", ["max_time", "checkpoint", "X_val", "validation_fraction"])
def test_levels_that_may_be_the_last_are_all_solved(
    asked: str, moons: tuple, tmp_path: Any
) -> None:
    X, y = moons
    model, rows = machine(), {}
    if asked == "max_time":
        model.set_params(max_time=1000.0)
    elif asked == "checkpoint":
        model.set_params(checkpoint=tmp_path)
    elif asked == "X_val":
        rows = {"X_val": X[:200], "y_val": y[:200]}
    else:
        model.set_params(strategy__validation_fraction=0.05)
    model.fit(X, y, **rows)
    assert model.history_["parts"].tolist()[:2] == [4, 2]
    assert model.history_["worst_gap"][0] <= 1e-2


def test_leaves_that_are_too_hard_are_passed_over() -> None:
    """Noise with a large C: its leaves take far longer than they save the root."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2500, 5)).astype(np.float32)
    y = random.integers(2, size=2500)
    model = SVMClassifier(C=100.0, gamma=0.1, strategy="sodm", random_state=0, tol=0.05)
    model.fit(X, y)
    assert model.history_["parts"].tolist() == [1]
    exact = clone(model).set_params(strategy="exact").fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, exact.dual_coef_)


def test_blind_leaves_are_warned_of_and_passed_over(moons: tuple) -> None:
    X, y = moons
    with pytest.warns(UserWarning, match="blind with this kernel"):
        model = machine().set_params(gamma=1e6).fit(X[:2500], y[:2500])
    assert model.history_["parts"].tolist() == [1]
    assert model.relative_gap_ <= 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine("exact").set_params(gamma=1e6).fit(X[:2500], y[:2500])


def test_work_for_a_start_is_counted() -> None:
    budget = Budget(tol=1e-3, max_iter=10**6)
    few = start_budget(budget, 1000, 4)
    assert few.tol == START_TOL
    assert few.max_iter == 14  # two times over the rows, in working sets of 160
    assert start_budget(budget, 2000, 256).max_iter > start_budget(budget, 2000, 64).max_iter
    assert start_budget(Budget(tol=0.5, max_iter=3), 1000, 4).tol == 0.5
    assert start_budget(Budget(tol=0.5, max_iter=3), 1000, 4).max_iter == 3


def test_a_start_is_taken_only_if_it_is_close(moons: tuple) -> None:
    X, y = moons
    label = np.where(y == 1, 1.0, -1.0)
    problem = Samples(X, Kernel("rbf", 2.0), label, np.ones(ROWS), Hinge()).problem(1.0, 1)
    model = SVMClassifier(gamma=2.0, strategy="exact", tol=0.05, fit_intercept=False).fit(X, y)
    carried = np.zeros(ROWS)
    carried[model.support_] = np.abs(model.dual_coef_[0])
    close, wanted = mean_if_close(problem, 0.5 * carried), best_multiple(problem, 0.5 * carried)
    np.testing.assert_allclose(close.net_dual, wanted.net_dual, rtol=1e-4)
    np.testing.assert_allclose(close.margin, wanted.margin, atol=1e-3)
    assert certify(problem.terms, close.net_dual, close.margin).relative_gap < 0.5
    far = np.where(np.arange(ROWS) % 100 == 0, 1.0, 0.0)
    assert np.any(best_multiple(problem, far).net_dual)
    assert not np.any(mean_if_close(problem, far).net_dual)
    assert not np.any(mean_if_close(problem, np.zeros(ROWS)).net_dual)
