"""Choice of C by the sites: scores on held-out rows, the fit that follows, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from widemargin import GossipClassifier
from widemargin.core.training_set import training_set
from widemargin.estimators.gossip_choice import HeldOutRows, checked_values
from widemargin.estimators.gossip_sites import placed
from widemargin.gossip import NetworkFaults
from widemargin.persistence import dumps, loads

SLOW = "ignore:GossipClassifier did not converge"


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_the_best_value_is_trained_on_all_rows(cancer):
    X, y = cancer
    values = [1e-6, 0.01]
    model = GossipClassifier(4, C=values, random_state=0).fit(X, y)
    assert model.C_ == 0.01
    assert model.C_scores_.shape == (2,)
    assert model.C_scores_[1] > 0.93
    alone = GossipClassifier(4, C=0.01, random_state=0).fit(X, y)
    assert np.array_equal(model.site_coef_, alone.site_coef_)
    assert alone.C_scores_ is None
    assert alone.C_ == 0.01
    assert model.n_bytes_ > alone.n_bytes_
    again = loads(dumps(model))
    assert values == again.C
    assert np.array_equal(again.C_scores_, model.C_scores_)


def test_scores_are_those_of_own_models_on_own_rows(cancer):
    X, y = cancer
    training = training_set(X, y, None, pairwise=False, estimator="x")
    sites = np.arange(len(y)) % 3
    placement = placed(training, sites, 3, "ring", 0)
    held_out = HeldOutRows.of(placement, 0.25, seed=0)
    assert len(held_out.codes) + len(held_out.part.training.codes) == len(y)
    # A quarter of every class at every site.
    for s in range(3):
        for c in (0, 1):
            there = int(((sites == s) & (y == c)).sum())
            held = int(((held_out.site == s) & (held_out.codes == c)).sum())
            assert held == there // 4
    # Site 0 gets every row right, site 1 none, site 2 has left.
    signs = np.where(held_out.codes == 1, 1.0, -1.0) * np.where(held_out.site == 0, 1.0, -1.0)
    known = HeldOutRows(
        held_out.part, signs[:, None], held_out.codes, held_out.weights, held_out.site
    )
    members = np.array([True, True, False])
    score = known.score(np.ones((1, 3, 1)), 0.0, members)
    first, second = ((held_out.site == s).sum() for s in (0, 1))
    assert score == pytest.approx(first / (first + second))


@pytest.mark.filterwarnings(SLOW)
def test_several_classes_one_at_each_site():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    faults = NetworkFaults(loss=0.2)
    model = GossipClassifier(
        3,
        "complete",
        C=(1e-5, 1.0),
        kernel="rbf",
        n_components=100,
        faults=faults,
        max_iter=200,
        holdout=0.5,  # of the 30 rows that a fifth leaves, chance decides on two or three
        random_state=0,
    )
    model.fit(X, y, sites=y)
    assert model.C_ == 1.0
    assert model.C_scores_[1] > 0.85
    assert model.score_sites(X, y).min() > 0.9


def test_equal_scores_go_to_the_smaller_value(cancer):
    X, y = cancer
    model = GossipClassifier(3, C=[0.5, 0.4999, 0.5001], random_state=0).fit(X, y)
    if len(set(model.C_scores_.tolist())) == 1:
        assert model.C_ == 0.4999
    best = np.flatnonzero(model.C_scores_ == model.C_scores_.max())
    assert min(np.array([0.5, 0.4999, 0.5001])[best]) == model.C_


def test_refusals(cancer):
    X, y = cancer
    for wrong in ([], [1.0, -1.0], [1.0, np.nan], [1.0, 1.0], ["a"]):
        with pytest.raises(ValueError, match="`C` must"):
            GossipClassifier(3, C=wrong).fit(X, y)
    with pytest.raises(ValueError, match="exclude each other"):
        GossipClassifier(3, C=[1.0, 2.0], lam=1.0).fit(X, y)
    with pytest.raises(ValueError, match="leaves no row"):
        GossipClassifier(200, C=[1.0, 2.0], holdout=0.01).fit(X, y)
    with pytest.raises(ValueError, match="holdout"):
        GossipClassifier(3, C=[1.0, 2.0], holdout=1.0).fit(X, y)
    assert checked_values(np.array([1, 2])) == [1.0, 2.0]
