"""Kernels at sites: the linear model of random features, its limits, its files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons
from sklearn.pipeline import make_pipeline

from widemargin import GossipClassifier, LinearSVMClassifier, RandomFeatures, load_model
from widemargin.gossip import NetworkFaults
from widemargin.persistence import ModelFileError, dumps, loads

SETTINGS = {"kernel": "rbf", "gamma": 2.0, "n_components": 200, "fit_intercept": False}


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.15, random_state=0)


def test_the_model_is_that_of_pooled_features(moons):
    X, y = moons
    model = GossipClassifier(5, C=1.0, random_state=7, tol=1e-4, **SETTINGS).fit(X, y)
    map = RandomFeatures("rbf", gamma=2.0, n_components=200, random_state=7)
    pooled = LinearSVMClassifier(loss="hinge", C=1.0, tol=1e-5, fit_intercept=False)
    pooled = make_pipeline(map, pooled).fit(X, y)
    assert np.array_equal(model.random_features_.random_weights_, map.random_weights_)
    difference = np.abs(model.decision_function(X) - pooled.decision_function(X))
    assert difference.max() < 0.1
    assert difference.mean() < 0.02
    assert model.score(X, y) > 0.97
    assert GossipClassifier(5, random_state=7).fit(X, y).score(X, y) < 0.9
    assert model.n_features_in_ == 2
    assert model.coef_.shape == (1, 200)
    assert model.site_coef_.shape == (1, 5, 200)


@pytest.mark.filterwarnings("ignore:GossipClassifier did not converge")
def test_sites_of_one_class_with_lost_messages(moons):
    X, y = moons
    sites = 2 * (np.arange(len(y)) % 3) + y
    faults = NetworkFaults(loss=0.3, schedule=[(10, "crash", 1), (20, "return", 1)])
    model = GossipClassifier(6, C=10.0, faults=faults, max_iter=150, **SETTINGS)
    assert model.fit(X, y, sites=sites).score_sites(X, y).min() > 0.95


@pytest.mark.filterwarnings("ignore:GossipClassifier did not converge")
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_files_and_many_classes(kernel, tmp_path):
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    model = GossipClassifier(
        3, kernel=kernel, gamma=0.2, degree=2, coef0=1.0, n_components=151, tol=0.1, max_iter=30
    )
    with np.errstate(all="raise"):
        model.fit(X, y, X_val=X[:50], y_val=y[:50])
    assert model.coef_.shape == (10, 151)
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "model.wm")
    again = load_model(tmp_path / "model.wm")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(again.score_sites(X, y), model.score_sites(X, y))


def test_prediction_in_blocks_is_prediction_at_once(moons, monkeypatch):
    X, y = moons
    model = GossipClassifier(3, tol=0.1, **SETTINGS).fit(X, y)
    whole, of_sites = model.decision_function(X), model.score_sites(X, y)
    monkeypatch.setattr("widemargin.estimators.gossip_features.BLOCK_FEATURES", 200 * 37)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.score_sites(X, y), of_sites)


def test_mapped_rows_count_against_the_memory_limit(moons):
    X, y = moons
    model = GossipClassifier(3, memory_limit="700kB", **SETTINGS)
    with pytest.raises(ValueError, match=r"Random features .* `n_components`, or raise"):
        model.fit(X, y)
    GossipClassifier(3, memory_limit="700kB", tol=0.1, **SETTINGS).fit(X.astype(np.float32), y)


def test_a_random_state_object_draws_one_map(moons):
    X, y = moons
    fits = [
        GossipClassifier(3, tol=0.1, random_state=np.random.RandomState(s), **SETTINGS).fit(X, y)
        for s in (0, 0, 1)
    ]
    weights = [model.random_features_.random_weights_ for model in fits]
    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_damaged_files_are_refused(moons):
    X, y = moons
    model = GossipClassifier(3, tol=0.1, **SETTINGS).fit(X, y)
    kept = model.random_features_
    for wrong in (None, RandomFeatures(n_components=200), RandomFeatures().fit(X[:, :1])):
        model.random_features_ = wrong
        with pytest.raises((ModelFileError, ValueError, TypeError)):
            loads(dumps(model))
    model.random_features_ = kept
    loads(dumps(model))
