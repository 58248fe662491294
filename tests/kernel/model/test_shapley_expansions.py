"""Shapley values of kernel expansions, against their definition."""

import numpy as np
import pytest
import scipy.sparse as sp

from reference import kernels as naive
from reference.shapley import game_with_background, game_without_background, shapley
from widemargin import _native
from widemargin.core.rows import as_rows
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.model.shapley import ROUNDING, gauss_legendre, integration_rule

GAMMA = 0.3
FACTORS = {
    "rbf": lambda x, s: np.exp(-GAMMA * (x - s) ** 2),
    "laplacian": lambda x, s: np.exp(-GAMMA * np.abs(x - s)),
}
MATRIX = {"rbf": naive.rbf, "laplacian": naive.laplacian}
both = pytest.mark.parametrize("name", FACTORS)


def values_of(name, X, vectors, coef, background=None, threads=1, gamma=GAMMA):
    node, weight = integration_rule(X.shape[1])
    others = None if background is None else as_rows(background, np.float64)
    return _native.shapley_values(
        as_rows(X, np.float64),
        as_rows(vectors, np.float64),
        Kernel(name, gamma).spec,
        np.ascontiguousarray(coef),
        node,
        weight,
        others,
        threads,
    )


def expansion(n_rows=3, n_vectors=21, n_features=8, n_outputs=2):
    random = np.random.default_rng(0)
    X, vectors = (
        random.normal(size=(n_rows, n_features)),
        random.normal(size=(n_vectors, n_features)),
    )
    return X, vectors, random.normal(size=(n_vectors, n_outputs))


@both
def test_all_coalitions_of_eight_features(name):
    X, vectors, coef = expansion()
    found = values_of(name, X, vectors, coef)
    for i, x in enumerate(X):
        for o in range(coef.shape[1]):
            game = game_without_background(FACTORS[name], x, vectors, coef[:, o])
            assert np.allclose(found[i, :, o], shapley(game, 8), rtol=0, atol=1e-13)


@both
def test_all_coalitions_against_a_background(name):
    X, vectors, coef = expansion()
    Z = np.random.default_rng(1).normal(size=(5, 8))
    Z[1, 3] = X[0, 3]  # a feature that does not change
    Z[2] = X[1]  # nor any of a row's
    found = values_of(name, X, vectors, coef, Z)
    for i, x in enumerate(X):
        for o in range(coef.shape[1]):

            def decide(rows, weights=coef[:, o]):
                return MATRIX[name](rows, vectors, GAMMA) @ weights

            expected = shapley(game_with_background(decide, x, Z), 8)
            assert np.allclose(found[i, :, o], expected, rtol=0, atol=1e-13)


@both
@pytest.mark.parametrize("against", [False, True])
def test_values_sum_to_the_decision_minus_the_base(name, against):
    X, vectors, coef = expansion(n_rows=7, n_vectors=103, n_features=67, n_outputs=3)
    Z = X[4:] if against else None
    gamma = 0.02
    found = values_of(name, X, vectors, coef, Z, gamma=gamma).sum(axis=1)
    base = MATRIX[name](Z, vectors, gamma) @ coef if against else coef.sum(axis=0)[None]
    expected = MATRIX[name](X, vectors, gamma) @ coef - base.mean(axis=0)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


def test_many_features_and_vanishing_factors():
    # The closed form of one pair whose factors are all k: every value is the same.
    for n_features, gamma in ((400, 1e-4), (400, 40.0), (2500, 900.0)):
        x, s = np.ones((1, n_features)), np.zeros((1, n_features))
        found = values_of("rbf", x, s, np.ones((1, 1)), gamma=gamma)[0, :, 0]
        expected = np.expm1(-gamma * n_features) / n_features
        assert np.allclose(found, expected, rtol=1e-12, atol=0)


def test_products_of_a_background_far_away_do_not_vanish_early():
    # Every factor is 1e-44 or so with x or z alone; one of them at a time is much smaller.
    x, z, s = np.full((1, 40), 0.9), np.full((1, 40), 1.0), np.zeros((1, 40))
    found = values_of("rbf", x, s, np.ones((1, 1)), z, gamma=15.0)[0, :, 0]
    difference = np.exp(-15.0 * 40 * 0.81) - np.exp(-15.0 * 40)
    assert np.allclose(found, difference / 40, rtol=1e-10, atol=0)


def test_a_feature_equal_in_all_vectors_gets_nothing():
    X, vectors, coef = expansion()
    X[:, 2] = vectors[:, 2] = 0.7
    assert np.all(values_of("rbf", X, vectors, coef)[:, 2] == 0.0)


def test_equal_features_get_equal_values():
    X, vectors, coef = expansion()
    X[:, 5], vectors[:, 5] = X[:, 1], vectors[:, 1]
    found = values_of("rbf", X, vectors, coef)
    assert np.allclose(found[:, 5], found[:, 1], rtol=0, atol=1e-14)


@both
@pytest.mark.parametrize("against", [False, True])
def test_sparse_rows_are_rows(name, against):
    X, vectors, coef = expansion(n_rows=9, n_vectors=50, n_features=40)
    keep = np.random.default_rng(3)
    X[keep.random(X.shape) < 0.8] = 0.0
    vectors[keep.random(vectors.shape) < 0.9] = 0.0
    Z = X[5:] if against else None
    dense = values_of(name, X, vectors, coef, Z)
    for left, right in ((sp.csr_matrix, sp.csr_matrix), (sp.csr_matrix, np.asarray)):
        for first, second in ((left, right), (right, left)):
            others = None if Z is None else first(Z)
            found = values_of(name, first(X), second(vectors), coef, others)
            assert np.allclose(found, dense, rtol=0, atol=1e-13)


@pytest.mark.parametrize("against", [False, True])
def test_threads_and_other_rows_do_not_change_a_bit(against):
    X, vectors, coef = expansion(n_rows=5, n_vectors=9000, n_features=6)  # several tasks a row
    Z = X[3:] if against else None
    one, two = (values_of("rbf", X, vectors, coef, Z, threads) for threads in (1, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(values_of("rbf", X[2:3], vectors, coef, Z), one[2:3])


@pytest.mark.parametrize("features", [1, 2, 7, 50, 300, 784])
def test_the_rule_integrates_the_hardest_products(features):
    node, weight = integration_rule(features)
    assert len(node) <= max(1, -(-features // 2))
    for p in {features - 1, (features - 1) // 2, 0}:
        for q in {0, features - 1 - p}:
            exact = np.exp(
                np.sum(np.log(np.arange(1, min(p, q) + 1)))
                - np.sum(np.log(np.arange(max(p, q) + 1, p + q + 2)))
            )
            allowed = (
                ROUNDING * (2 * features + 20) * exact + ROUNDING / features
            )  # powers round, too
            assert abs(weight @ (node**p * (1 - node) ** q) - exact) <= allowed


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 8, 40])
def test_the_rule_is_that_of_gauss_and_legendre(n_nodes):
    node, weight = gauss_legendre(n_nodes)
    expected_node, expected_weight = np.polynomial.legendre.leggauss(n_nodes)
    assert np.allclose(2 * node - 1, expected_node, rtol=0, atol=1e-15)
    assert np.allclose(2 * weight, expected_weight, rtol=1e-12, atol=0)


def test_native_refusals():
    X, vectors, coef = expansion()
    with pytest.raises(ValueError, match="product over the features"):
        values_of("poly", X, vectors, coef)
    with pytest.raises(ValueError, match="same features"):
        values_of("rbf", X[:, :-1], vectors, coef)
    with pytest.raises(ValueError, match="same features"):
        values_of("rbf", X, vectors, coef, X[:, :-1])
    with pytest.raises(ValueError, match="one row of `coef`"):
        values_of("rbf", X, vectors, coef[:-1])
    with pytest.raises(ValueError, match="needs a row"):
        values_of("rbf", X, vectors, coef, X[:0])
