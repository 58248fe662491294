"""Descent from a start close to the solution."""

import numpy as np
import pytest

from widemargin.core.budget import Budget
from widemargin.core.history import History
from widemargin.core.losses import Hinge, MarginDistribution
from widemargin.core.outcome import Outcome
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import COLUMNS, Duals, KernelProblem
from widemargin.kernel.solvers import resumed_descent
from widemargin.kernel.solvers.binary import solve_binary

LOSSES = {"hinge": Hinge(), "odm": MarginDistribution(0.5, 0.2)}


def problem_of(n, loss="hinge", C=2.0, noise=0.1, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    label = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)
    label[random.random(n) < noise] *= -1
    return KernelProblem(X, Kernel("rbf", 0.3), label, LOSSES[loss].terms(np.full(n, C)))


def resumed(problem, start, **limits):
    budget = Budget(**{"tol": 1e-4, "max_iter": 10**6, **limits})
    history = History.of(COLUMNS, budget)
    return resumed_descent.solve(problem, start, "auto", budget, history)


def true_gap(problem, found):
    net_dual = found.iterate.net_dual
    return problem.certificate(net_dual, problem.margins(net_dual)).relative_gap


def optimum(problem, tol=1e-5):
    budget = Budget(tol=tol, max_iter=10**6)
    return solve_binary(
        problem, Duals(np.zeros(problem.n_rows)), "blocks", budget, History.of(COLUMNS, budget)
    ).iterate


@pytest.mark.parametrize("loss", LOSSES)
class TestStarts:
    def test_at_the_solution_nothing_is_done(self, loss):
        problem = problem_of(1200, loss)
        found = resumed(problem, optimum(problem))
        assert found.iterations == 0
        assert found.outcome is Outcome.CONVERGED

    def test_margins_that_are_missing_are_computed(self, loss):
        problem = problem_of(1200, loss)
        start = optimum(problem)
        for rows in (np.arange(0, 1200, 7), np.arange(1200)):
            margin = start.margin.copy()
            margin[rows] = np.nan
            found = resumed(problem, Duals(start.net_dual, margin))
            assert found.iterations == 0
            assert np.abs(found.iterate.margin - start.margin).max() < 1e-9

    def test_without_margins(self, loss):
        problem = problem_of(1200, loss)
        start = optimum(problem)
        assert resumed(problem, Duals(start.net_dual)).iterations == 0

    def test_margins_that_are_off_are_noticed(self, loss):
        problem = problem_of(1200, loss)
        start = optimum(problem)
        off = 0.01 * np.random.default_rng(0).normal(size=1200)
        found = resumed(problem, Duals(start.net_dual, start.margin + off))
        assert found.outcome is Outcome.CONVERGED
        assert true_gap(problem, found) <= 1e-4

    def test_a_start_far_away(self, loss):
        problem = problem_of(1500, loss)
        start = Duals(np.random.default_rng(0).random(1500))
        found = resumed(problem, start)
        assert found.outcome is Outcome.CONVERGED
        assert found.certificate.relative_gap == pytest.approx(true_gap(problem, found), rel=1e-3)


def test_duals_outside_their_bounds_are_moved():
    problem = problem_of(1200)
    found = resumed(problem, Duals(optimum(problem).net_dual * 1.5, np.zeros(1200)))
    assert np.all(found.iterate.net_dual <= 2.0)
    assert true_gap(problem, found) <= 1e-4


def test_a_slow_descent_is_finished_by_other_solvers(monkeypatch):
    problem, asked = problem_of(600, C=1e4, noise=0.4), []

    def counted(*arguments):
        asked.append(arguments[1])
        return solve_binary(*arguments)

    monkeypatch.setattr(resumed_descent, "solve_binary", counted)
    found = resumed(problem, Duals(np.full(600, 1e4), np.full(600, np.nan)), tol=1e-3)
    assert len(asked) == 1
    assert found.outcome is Outcome.CONVERGED
    assert true_gap(problem, found) <= 1e-3


def test_limits():
    problem = problem_of(1500)
    start = Duals(np.random.default_rng(0).random(1500))
    found = resumed(problem, start, max_iter=2)
    assert found.outcome is Outcome.ITERATIONS
    assert found.certificate.relative_gap == pytest.approx(true_gap(problem, found), rel=1e-3)
    assert resumed(problem, start, max_time=1e-9).outcome is Outcome.TIME
