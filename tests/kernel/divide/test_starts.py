"""Starts of merged parts: the dual along a ray, and what may never get worse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limits import limits
from parts_to_merge import LOSSES, random_duals, training_set
from widemargin.kernel.divide.starts import as_carried, best_multiple, from_margins, from_zero
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.problem import Duals, KernelProblem
from widemargin.kernel.solvers.binary import solve_binary

losses = pytest.mark.parametrize("loss", LOSSES)
STARTS = (best_multiple, from_margins)
KERNELS = (Kernel("rbf", 0.3), Kernel("linear"), Kernel("poly", 0.5, 1.0, 2, 1.0))


def dual(problem: KernelProblem, net_dual: np.ndarray, q: np.ndarray | None = None) -> float:
    """Evaluate the dual objective with a dense matrix; −∞ outside the loss's domain."""
    q = problem.dense_q() if q is None else q
    return float(-0.5 * net_dual @ q @ net_dual - problem.terms.phi(net_dual).sum())


def check_start(problem: KernelProblem, start: np.ndarray, margin: np.ndarray | None) -> None:
    """A start is in the loss's domain, and its margins are its own."""
    assert np.isfinite(dual(problem, start))
    assert np.all(start <= problem.terms.bound * (1 + 1e-12))
    assert margin is not None
    expected = problem.dense_q() @ start
    np.testing.assert_allclose(margin, expected, atol=1e-11 * (1 + np.abs(expected).max()))


@losses
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_best_multiple_equals_a_search_along_the_ray(
    loss: str, kernel: Kernel, scale: float
) -> None:
    for seed in range(4):
        set_ = training_set(40, loss, seed, kernel)
        problem, carried = set_.problem(1.0, 1), random_duals(set_, seed, scale)
        best = best_multiple(problem, carried)
        start, margin = best.net_dual, best.margin
        check_start(problem, start, margin)
        nonzero = carried != 0
        factors = start[nonzero] / carried[nonzero]
        np.testing.assert_allclose(factors, factors[0], rtol=1e-12)  # a multiple it is
        grid = np.concatenate([[0.0, 1.0], factors[0] * np.linspace(0.0, 2.0, 401)])
        q = problem.dense_q()
        best = max(dual(problem, t * carried, q) for t in grid)
        found = dual(problem, start)
        assert found >= best - 1e-10 * abs(best)


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(LOSSES)),
    st.integers(0, 10_000),
    st.sampled_from([1e-3, 1.0, 50.0]),
    st.sampled_from(KERNELS),
)
def test_no_start_is_worse_than_another(loss: str, seed: int, scale: float, kernel: Kernel) -> None:
    """Zero ≤ best multiple ≤ from margins, and what was carried is no better than its multiple."""
    set_ = training_set(25, loss, seed, kernel)
    problem, carried = set_.problem(1.0, 1), random_duals(set_, seed, scale)
    values = []
    for choose in STARTS:
        start = choose(problem, carried)
        check_start(problem, start.net_dual, start.margin)
        values.append(dual(problem, start.net_dual))
    rounding = 1e-10 * (1 + abs(values[0]))
    assert values[0] >= -rounding  # the dual of zero is zero
    assert values[0] >= dual(problem, carried) - rounding
    assert values[1] >= values[0] - rounding


def test_margins_sharpen_the_start() -> None:
    """Solutions of half the rows, divided: the averaged margins may tell more than the duals."""
    better = 0
    for seed in range(5):
        set_ = training_set(200, "odm", seed)
        glued = np.zeros(200)
        for half in (np.arange(0, 200, 2), np.arange(1, 200, 2)):
            part = set_.take(half)
            problem = part.problem(set_.weight.sum() / part.weight.sum(), 1)
            solution = solve_binary(problem, Duals(np.zeros(100)), "newton", *limits(tol=1e-8))
            glued[half] = solution.iterate.net_dual / 2
        problem = set_.problem(1.0, 1)
        duals = [dual(problem, choose(problem, glued).net_dual) for choose in STARTS]
        assert duals[0] > 0
        better += duals[1] > duals[0]
    assert better > 0


@losses
def test_duals_out_of_bounds_are_brought_inside(loss: str) -> None:
    set_ = training_set(30, loss)
    problem = set_.problem(1.0, 1)
    carried = 100.0 * np.random.default_rng(0).normal(size=30)  # of any sign and size
    for choose in STARTS:
        start = choose(problem, carried)
        check_start(problem, start.net_dual, start.margin)
    glued = as_carried(problem, carried)
    assert glued.margin is None
    np.testing.assert_array_equal(glued.net_dual, problem.terms.nearest(carried))
    assert np.isfinite(dual(problem, glued.net_dual))


@losses
@pytest.mark.parametrize("start", [*STARTS, from_zero, as_carried])
def test_nothing_carried_starts_at_zero(loss: str, start: object) -> None:
    problem = training_set(20, loss).problem(1.0, 1)
    found = start(problem, np.zeros(20))  # type: ignore[operator]
    net_dual, margin = found.net_dual, found.margin
    assert not np.any(net_dual)
    assert margin is None or not np.any(margin)


def test_useless_duals_are_dropped() -> None:
    """Duals of margins far too large, where there is nothing: along them the dual only falls."""
    problem = training_set(30, "odm").problem(1.0, 1)
    best = best_multiple(problem, -np.ones(30))
    start, margin = best.net_dual, best.margin
    assert not np.any(start)
    assert not np.any(margin)
    forgotten = from_zero(problem, np.ones(30)).net_dual
    assert not np.any(forgotten)


def test_box_is_met_exactly() -> None:
    """Too small duals of the hinge are lengthened until the first of them is at its bound."""
    set_ = training_set(10, "hinge", kernel=Kernel("linear"))
    problem = set_.problem(1e-9, 1)  # such small weights that every row wants its bound
    carried = 1e-3 * problem.terms.bound
    carried[3] *= 2.0
    start = best_multiple(problem, carried).net_dual
    assert start[3] == pytest.approx(problem.terms.bound[3], rel=1e-12)
    assert np.all(start <= problem.terms.bound * (1 + 1e-15))
