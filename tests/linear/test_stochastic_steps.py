"""Native stochastic steps do what their formulas say, at the cost of the rows they touch."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from linear_problems import LOSSES, Case, dense, problem_of

from widemargin import _native
from widemargin.core.losses import LossConstants
from widemargin.linear.problem import LinearProblem
from widemargin.linear.solvers.svrg import safe_step


def implied_dual(problem: LinearProblem, loss: str, i: int, w: np.ndarray) -> float:
    weight = 1.0 if problem.weight is None else problem.weight[i]
    terms = LOSSES[loss].terms(np.array([weight]))
    return float(terms.implied_dual(problem.label[i] * (dense(problem)[[i]] @ w))[0])


@pytest.mark.parametrize("loss", ["odm", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("step_factor", [1.0, 60.0])  # the latter folds a u + (1 − a) v on the way
def test_svrg_steps(loss: str, sparse: bool, step_factor: float) -> None:
    problem = problem_of(Case(loss, sparse=sparse, weighted=True, n_rows=40))
    random = np.random.default_rng(0)
    start, L = random.normal(size=problem.size), problem.smoothness()
    step = safe_step(L.sum(), step_factor)
    net_dual = np.empty(problem.n_rows)
    gradient = problem.evaluate(start, dual=net_dual).gradient
    order = random.integers(0, problem.n_rows, 60)

    w, total = start.copy(), np.zeros(problem.size)
    problem.native.svrg_steps(order, L, L.sum(), net_dual, start - gradient, step, 20, w, total)

    X, expected, expected_total = dense(problem), start.copy(), np.zeros(problem.size)
    for k, i in enumerate(order):
        change = net_dual[i] - implied_dual(problem, loss, i, expected)
        row = change * problem.label[i] * X[i] * L.sum() / L[i]
        expected = expected - step * ((expected - start) + row + gradient)
        expected_total += expected if k >= 20 else 0.0
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(total, expected_total, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("batch", [1, 7, 40])
@pytest.mark.parametrize("radius", [np.inf, 0.7])
def test_sgd_steps(loss: str, batch: int, radius: float) -> None:
    problem = problem_of(Case(loss, weighted=True, n_rows=40))
    random = np.random.default_rng(0)
    start, order, n = random.normal(size=problem.size), random.permutation(40), 40
    offset = 0.0 if loss == "hinge" else float(problem.smoothness().sum())

    w, total, visited = start.copy(), np.zeros(problem.size), np.zeros(n)
    problem.native.sgd_steps(order, batch, 1.0, offset, radius, visited, w, total)

    X, expected, expected_total = dense(problem), start.copy(), np.zeros(problem.size)
    expected_visited = np.zeros(n)
    for t, begin in enumerate(range(0, n, batch)):
        rows = order[begin : begin + batch]
        g = np.array([implied_dual(problem, loss, i, expected) for i in rows])
        expected_visited[rows] = g
        step = 1 / (offset + 1 + t)
        push = (g * problem.label[rows]) @ X[rows] * n / len(rows)
        expected = (1 - step) * expected + step * push
        expected *= min(1.0, radius / np.linalg.norm(expected))
        expected_total += expected
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(total, expected_total, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(visited, expected_visited, rtol=1e-9, atol=1e-12)


class TestDrawRows:
    def test_equal_shares_are_a_permutation(self) -> None:
        drawn = _native.draw_rows(np.full(1000, 0.1), 1000, 3)
        assert sorted(drawn) == list(range(1000))
        assert np.any(np.diff(drawn) != 1)

    def test_rows_come_in_proportion_rounded_up_or_down(self) -> None:
        share = np.random.default_rng(0).random(500) ** 3
        expected = 2000 * share / share.sum()
        for seed in range(20):
            times = np.bincount(_native.draw_rows(share, 2000, seed), minlength=500)
            assert np.all((times >= np.floor(expected)) & (times <= np.ceil(expected)))

    def test_chance_is_the_share(self) -> None:
        share = np.array([1.0, 2.0, 3.0, 4.0, 0.0])
        times = sum(np.bincount(_native.draw_rows(share, 2, s), minlength=5) for s in range(20_000))
        # Standard errors are below 0.0035.
        np.testing.assert_allclose(times / 20_000, 2 * share / 10, atol=0.015)

    def test_order_and_seed(self) -> None:
        share = np.ones(100)
        np.testing.assert_array_equal(
            _native.draw_rows(share, 50, 1), _native.draw_rows(share, 50, 1)
        )
        assert not np.array_equal(_native.draw_rows(share, 50, 1), _native.draw_rows(share, 50, 2))

    def test_nothing_to_choose_from(self) -> None:
        assert set(_native.draw_rows(np.zeros(3), 4, 0)) <= {0, 1, 2}
        with pytest.raises(ValueError, match="rows to draw from"):
            _native.draw_rows(np.zeros(0), 4, 0)


def test_a_step_costs_its_row_and_not_the_features() -> None:
    def seconds(n_features: int, step: str) -> float:
        n, stored = 20_000, 10
        random = np.random.default_rng(0)
        columns = random.integers(0, n_features, n * stored)
        X = sp.csr_matrix(
            (np.ones(n * stored), columns, np.arange(0, n * stored + 1, stored)),
            shape=(n, n_features),
        )
        label = np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
        problem = LinearProblem(X, label, LossConstants.of(LOSSES["odm"], 1.0))
        L, w = problem.smoothness(), np.zeros(n_features)
        total, order = np.zeros(n_features), random.permutation(n)
        net_dual = np.empty(n)
        v = w - problem.evaluate(w, dual=net_dual).gradient
        best = np.inf
        for _ in range(5):
            begin = time.perf_counter()
            if step == "svrg":
                eta = safe_step(L.sum())
                problem.native.svrg_steps(order, L, L.sum(), net_dual, v, eta, 0, w, total)
            else:
                problem.native.sgd_steps(order, 1, 1.0, L.sum(), np.inf, net_dual, w, total)
            best = min(best, time.perf_counter() - begin)
        return best

    for step in ("svrg", "sgd"):
        # A thousand times the features: 20,000 dense steps on them would take 20 s. What is left
        # is one look at them a call, and memory further away.
        assert seconds(200_000, step) < 30 * seconds(200, step)


def test_bad_arguments_are_refused() -> None:
    problem = problem_of(Case(n_rows=40))
    rows, w = np.zeros(40), np.zeros(problem.size)
    order = np.arange(40)
    with pytest.raises(ValueError, match="row number"):
        problem.native.svrg_steps(order + 1, rows, 1.0, rows, w, 0.1, 0, w.copy(), w.copy())
    with pytest.raises(ValueError, match="between 0 and 1"):
        problem.native.svrg_steps(order, rows, 1.0, rows, w, 1.0, 0, w.copy(), w.copy())
    with pytest.raises(ValueError, match="one entry per row"):
        problem.native.svrg_steps(order, rows[1:], 1.0, rows, w, 0.1, 0, w.copy(), w.copy())
    with pytest.raises(ValueError, match="one entry per feature"):
        problem.native.sgd_steps(order, 1, 1.0, 0.0, np.inf, rows.copy(), w[1:].copy(), w.copy())
    with pytest.raises(ValueError, match="must be positive"):
        problem.native.sgd_steps(order, 0, 1.0, 0.0, np.inf, rows.copy(), w.copy(), w.copy())
