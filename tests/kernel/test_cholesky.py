"""Pivoted Cholesky against the naive reference, and its promises."""

import numpy as np
import pytest
import scipy.sparse as sp

from reference import kernels as naive
from reference import pivoted_cholesky as reference
from widemargin.core.rows import as_rows
from widemargin.kernel.cholesky import _accept, pivoted_cholesky
from widemargin.kernel.kernels import Kernel

KERNELS = [
    (Kernel("rbf", 0.7), lambda X: naive.rbf(X, X, 0.7)),
    (Kernel("laplacian", 0.4), lambda X: naive.laplacian(X, X, 0.4)),
    (Kernel("poly", 0.5, 1.0, 2), lambda X: naive.polynomial(X, X, 0.5, 2, 1.0)),
    (Kernel("linear", constant=1.0), lambda X: naive.linear(X, X) + 1.0),
]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 7))


@pytest.mark.parametrize(("kernel", "matrix"), KERNELS, ids=lambda k: getattr(k, "name", ""))
@pytest.mark.parametrize("sparse", [False, True])
def test_greedy_pivots_equal_the_reference(X, kernel, matrix, sparse):
    rows = as_rows(sp.csr_matrix(X) if sparse else X)
    found = pivoted_cholesky(kernel, rows, 6)
    factor, pivots = reference.pivoted_cholesky(matrix(X), 6)
    np.testing.assert_array_equal(found.pivots, pivots)
    np.testing.assert_allclose(found.factor @ found.factor.T, factor @ factor.T, atol=1e-12)


@pytest.mark.parametrize("pivoting", ["greedy", "random"])
def test_residual_is_the_diagonal_left_over(X, pivoting):
    kernel = Kernel("rbf", 0.2)
    K = naive.rbf(X, X, 0.2)
    found = pivoted_cholesky(kernel, as_rows(X), 40, pivoting=pivoting, random_state=0)
    left = K - found.factor @ found.factor.T
    assert found.rank == 40
    assert len(set(found.pivots)) == 40
    np.testing.assert_allclose(found.residual, left.diagonal(), atol=1e-12)
    np.testing.assert_allclose(left[found.pivots], 0.0, atol=1e-12)  # exact on the pivots
    assert np.linalg.eigvalsh(left)[0] > -1e-12


@pytest.mark.parametrize("pivoting", ["greedy", "random"])
def test_stops_at_the_rank_of_the_matrix(X, pivoting):
    found = pivoted_cholesky(Kernel("linear"), as_rows(X), 50, pivoting=pivoting, random_state=1)
    assert found.rank == X.shape[1]
    np.testing.assert_allclose(found.factor @ found.factor.T, X @ X.T, atol=1e-10)


def test_precomputed_equals_the_kernel(X):
    K = naive.rbf(X, X, 0.3)
    by_name = pivoted_cholesky(Kernel("rbf", 0.3), as_rows(X), 10)
    by_matrix = pivoted_cholesky(Kernel("precomputed"), as_rows(K), 10)
    np.testing.assert_array_equal(by_name.pivots, by_matrix.pivots)


def test_random_pivots_are_repeatable_and_do_not_depend_on_threads(X):
    def run(threads):
        return pivoted_cholesky(
            Kernel("rbf", 0.3), as_rows(X), 20, pivoting="random", random_state=7, threads=threads
        )

    first, second = run(1), run(2)
    np.testing.assert_array_equal(first.pivots, second.pivots)
    np.testing.assert_array_equal(first.factor, second.factor)


def test_random_pivots_follow_the_residual():
    """The second of two pivots, drawn in a block, has the distribution of drawing one by one."""
    corner = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 2.0]])
    random = np.random.default_rng(0)
    trace = corner.diagonal()
    second = np.zeros(3)
    draws = 40_000
    for _ in range(draws):
        proposals = random.choice(3, size=20, p=trace / trace.sum())
        accepted = proposals[_accept(corner[np.ix_(proposals, proposals)], random.random(20))]
        second[accepted[1]] += 1
    # By hand: P(first = i) times the residual left, summed over i.
    expected = np.zeros(3)
    for i in range(3):
        left = trace - corner[:, i] ** 2 / trace[i]
        expected += trace[i] / trace.sum() * left / left.sum()
    np.testing.assert_allclose(second / draws, expected, atol=0.01)


def test_random_leaves_less_trace_than_greedy_with_outliers():
    random = np.random.default_rng(0)
    bulk = random.normal(size=(500, 5))
    outliers = 30.0 * random.normal(size=(30, 5))
    rows = as_rows(np.vstack([bulk, outliers]))
    kernel = Kernel("rbf", 0.3)
    greedy = pivoted_cholesky(kernel, rows, 60)
    drawn = pivoted_cholesky(kernel, rows, 60, pivoting="random", random_state=0)
    assert drawn.residual.sum() < greedy.residual.sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"rank": 0}, "at least 1; got 0"), ({"rank": 2, "pivoting": "best"}, "got 'best'")],
)
def test_bad_arguments_are_refused(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(Kernel("rbf"), as_rows(X), **arguments)
