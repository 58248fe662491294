"""The one-class problem: its offset, its certificate, and duals with a given sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.kernel.kernels import Kernel
from widemargin.kernel.one_class import one_class_problem, weighted_quantile


def problem(n=30, nu=0.3, seed=0):
    random = np.random.default_rng(seed)
    X, weights = random.normal(size=(n, 2)), random.uniform(0.2, 3.0, size=n)
    return one_class_problem(X, Kernel("rbf", 0.5), weights, nu, 1)


def test_quantile_is_the_middle_of_all_that_are_as_good():
    values = np.array([3.0, 1.0, 2.0, 4.0])
    assert weighted_quantile(values, np.ones(4), 2.0) == 2.5
    assert weighted_quantile(values, np.ones(4), 1.5) == 2.0
    assert weighted_quantile(values, np.ones(4), 4.0) == 4.0
    assert weighted_quantile(values, np.array([1.0, 5.0, 1.0, 1.0]), 2.0) == 1.0


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
def test_no_offset_has_a_better_primal(seed, nu):
    one = problem(12, nu, seed)
    margin = np.random.default_rng(seed + 1).normal(size=12)

    def primal(offset):
        return -offset * one.mass + one.weights @ np.maximum(offset - margin, 0.0)

    best = primal(one.offset(margin))
    assert best <= min(primal(each) for each in margin) + 1e-12


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
def test_feasible_duals_add_up_within_their_bounds(seed, nu):
    one = problem(12, nu, seed)
    given_duals = np.random.default_rng(seed).normal(size=12)
    for found in (one.feasible(given_duals), one.outlying(given_duals)):
        assert np.all((found >= 0) & (found <= one.weights))
        assert found.sum() == pytest.approx(one.mass, rel=1e-12)


def test_feasible_duals_stay_as_they_are():
    one = problem()
    duals = one.outlying(np.arange(30.0))
    np.testing.assert_allclose(one.feasible(duals), duals, rtol=1e-12)
    # Rounding is not made up for by rows without a dual, which would be support vectors then.
    nearly = duals * (1 + 1e-14)
    np.testing.assert_array_equal(np.flatnonzero(one.feasible(nearly)), np.flatnonzero(duals))
    at_bounds = one_class_problem(np.zeros((3, 1)), Kernel("rbf"), np.full(3, 0.1), 1 / 3, 1)
    lowest = at_bounds.outlying(np.arange(3.0)) * (1 - 1e-15)
    assert np.count_nonzero(at_bounds.feasible(lowest)) == 1


def test_outlying_rows_are_those_of_the_lowest_scores():
    one = one_class_problem(np.zeros((4, 1)), Kernel("rbf"), np.array([1.0, 2, 1, 1]), 0.5, 1)
    np.testing.assert_allclose(one.outlying(np.array([4.0, 1, 2, 3])), [0, 2, 0.5, 0])


def test_certificate_has_the_gap_of_the_one_class_problem():
    one = problem()
    net_dual = one.outlying(np.random.default_rng(5).normal(size=30))
    margin = one.margins(net_dual)
    offset, norm = one.offset(margin), 0.5 * net_dual @ margin
    primal = norm - offset * one.mass + one.weights @ np.maximum(offset - margin, 0.0)
    certificate = one.certificate(net_dual, margin)
    assert certificate.gap == pytest.approx(primal + norm, rel=1e-12)
    assert certificate.primal - offset * one.mass == pytest.approx(primal, rel=1e-12)
    # Margins that may be off only make it worse.
    assert one.certificate(net_dual, margin, 0.01).gap > certificate.gap


def test_some_rows_have_the_same_share_of_outliers():
    one = problem()
    some = one.only(np.array([1, 4, 5, 9]))
    assert some.mass / some.weights.sum() == pytest.approx(one.mass / one.weights.sum())
