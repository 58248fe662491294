"""The solver of the one-class machine, against Clarabel and against what may not matter to it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from limits import limits
from one_class_oracle import one_class_optimum
from widemargin.core.outcome import Outcome
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.one_class import one_class_problem
from widemargin.kernel.solvers import pair_blocks
from widemargin.kernel.solvers.pair_blocks import solve

KERNELS = {
    "rbf": Kernel("rbf", gamma=0.3),
    "laplacian": Kernel("laplacian", gamma=0.3),
    "poly": Kernel("poly", gamma=0.05, coef0=1.0, degree=3),
    "linear": Kernel("linear"),
}


def rows(n=120, features=4, seed=0):
    # Off the origin, where the best linear function is not zero.
    return np.random.default_rng(seed).normal(size=(n, features)) + 4.0


def posed(X, kernel="rbf", nu=0.2, weights=None, threads=1):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return one_class_problem(X, KERNELS[kernel], weights, nu, threads)


@pytest.fixture
def small_blocks(monkeypatch):
    """Make sets of a few hundred rows take several blocks, and a sample for their start."""
    monkeypatch.setattr(pair_blocks, "BLOCK", 64)
    monkeypatch.setattr(pair_blocks, "EXACT_ROWS", 0)
    monkeypatch.setattr(pair_blocks, "FEWEST_SAMPLED", 32)


def assert_optimal(problem, solution, tol=1e-6):
    assert solution.outcome is Outcome.CONVERGED
    net_dual, K = solution.iterate.net_dual, problem.dense_q()
    assert net_dual.sum() == pytest.approx(problem.mass, rel=1e-12)
    assert np.all((net_dual >= 0) & (net_dual <= problem.weights))
    nu = problem.mass / problem.weights.sum()
    optimum = one_class_optimum(K, problem.weights, nu)
    assert 0.5 * net_dual @ K @ net_dual == pytest.approx(optimum.objective, rel=tol)
    np.testing.assert_allclose(solution.iterate.margin, K @ net_dual, rtol=1e-9, atol=1e-9)
    return optimum


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nu", [0.02, 0.3, 0.9])
def test_same_optimum_as_clarabel(kernel, nu):
    problem = posed(rows(), kernel, nu)
    solution = solve(problem, *limits(tol=1e-8))
    optimum = assert_optimal(problem, solution)
    spread = np.abs(optimum.scores).max()
    np.testing.assert_allclose(solution.iterate.margin, optimum.scores, atol=1e-5 * spread)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_same_optimum_as_clarabel_by_blocks(small_blocks, kernel, nu):
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=300)
    problem = posed(rows(300), kernel, nu, weights)
    solution = solve(problem, *limits(tol=1e-8))
    assert solution.iterations > 0
    assert_optimal(problem, solution)


def test_copies_are_merged_and_weigh_as_much(small_blocks):
    X, count = rows(150), np.random.default_rng(2).integers(1, 4, size=150)
    weighted = posed(X, weights=count.astype(float))
    copied = posed(np.repeat(X, count, axis=0))
    one, other = (solve(each, *limits(tol=1e-8)) for each in (weighted, copied))
    assert_optimal(copied, other)
    np.testing.assert_allclose(
        np.repeat(one.iterate.margin, count), other.iterate.margin, rtol=1e-3
    )


def test_threads_change_nothing(small_blocks):
    one, two = (solve(posed(rows(400), threads=k), *limits(threads=k)) for k in (1, 2))
    np.testing.assert_array_equal(one.iterate.net_dual, two.iterate.net_dual)


def test_dense_and_sparse_rows_have_one_solution(small_blocks):
    X = rows(300)
    X[X < 4.0] = 0.0
    dense, sparse = (solve(posed(each), *limits(tol=1e-8)) for each in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense.iterate.margin, sparse.iterate.margin, rtol=1e-4)


def test_kernel_matrix_has_the_solution_of_its_rows(small_blocks):
    X = rows(300)
    problem = posed(X)
    given = one_class_problem(problem.dense_q(), Kernel("precomputed"), problem.weights, 0.2, 1)
    solution = solve(given, *limits(tol=1e-8))
    assert_optimal(problem, solution)


def test_single_precision_is_certified(small_blocks):
    X = rows(3000).astype(np.float32)
    problem = posed(X)
    solution = solve(problem, *limits(tol=1e-6))
    assert solution.outcome is Outcome.CONVERGED
    exact = replace(problem, X=X.astype(np.float64), grouped=[])
    margin = exact.margins(solution.iterate.net_dual)
    assert exact.certificate(solution.iterate.net_dual, margin).relative_gap <= 1e-6


def test_start_at_the_optimum_takes_no_block(small_blocks):
    problem = posed(rows(300))
    first = solve(problem, *limits(tol=1e-6))
    again = solve(problem, *limits(tol=1e-6), start=first.iterate.net_dual)
    assert first.iterations > 0
    assert again.iterations == 0


def test_limits_are_kept(small_blocks):
    problem = posed(rows(400))
    stopped = solve(problem, *limits(tol=1e-12, max_iter=1))
    assert stopped.outcome is Outcome.ITERATIONS
    assert stopped.iterations == 1
    assert stopped.certificate.relative_gap > 1e-12
    late = solve(problem, *limits(tol=1e-12, max_time=1e-6))
    assert late.outcome is Outcome.TIME
    assert late.iterate.net_dual.sum() == pytest.approx(problem.mass)


def test_memory_for_no_block_is_refused():
    with pytest.raises(ValueError, match="memory_limit"):
        solve(posed(rows(100)), *limits(memory=1000))


def test_zero_among_the_rows_gives_the_zero_function():
    X = rows(80) - 4.0
    solution = solve(posed(X, "linear"), *limits())
    assert solution.outcome is Outcome.CONVERGED
    np.testing.assert_allclose(solution.iterate.margin, 0.0, atol=1e-8)


def test_indefinite_kernel_has_no_certificate():
    X = rows(60) - 3.0
    problem = one_class_problem(X, Kernel("sigmoid", 0.5, -1.0), np.ones(60), 0.3, 1)
    solution = solve(problem, *limits())
    assert np.isnan(solution.certificate.relative_gap)
    assert solution.iterate.lowest_eigenvalue < 0
    scores = problem.margins(solution.iterate.net_dual)
    np.testing.assert_allclose(solution.iterate.margin, scores, atol=1e-8)
