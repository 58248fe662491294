"""Every site of a network ends with the model of all rows."""

import warnings

import numpy as np
import pytest
from gossip_networks import EVEN, N_SITES, PLACES, SKEWED, X, Y, excess, gossip, pooled, rows
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from widemargin import GossipClassifier, LinearSVMClassifier
from widemargin.core.training_set import training_set
from widemargin.estimators.gossip_sites import placed
from widemargin.gossip import Consensus, Gadget, NetworkFaults, Tracking
from widemargin.gossip import simulation as simulation_module

pytestmark = pytest.mark.usefixtures("warnings_are_errors")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm"])
@pytest.mark.parametrize("topology", ["ring", "complete"])
@pytest.mark.parametrize("place", PLACES)
def test_every_site_reaches_the_pooled_optimum(loss, topology, place):
    model = gossip(topology=topology, loss=loss).fit(X, Y, sites=PLACES[place])
    assert model.converged_
    assert model.relative_gap_ <= 1e-3
    assert excess(model, X, Y).max() <= 1e-3  # as the certificate says
    scores = model.score_sites(X, Y)
    assert np.all(np.abs(scores - pooled(loss, X, Y).score(X, Y)) <= 0.01)


TROUBLES = {
    "lost": {"faults": NetworkFaults(loss=0.3)},
    "late": {"faults": NetworkFaults(delay=3)},
    "repeated": {"faults": NetworkFaults(duplication=0.5)},
    "asynchronous": {"asynchronous": True},
    "all of it": {
        "faults": NetworkFaults(loss=0.3, delay=2, duplication=0.2),
        "asynchronous": True,
    },
    "one partner": {"partners": "one"},
    "two crash and return": {
        "faults": NetworkFaults(
            schedule=[(10, "crash", 1), (12, "crash", 2), (60, "return", 1), (70, "return", 2)]
        )
    },
    "one joins": {"faults": NetworkFaults(schedule=[(40, "join", 4)])},
}


@pytest.mark.parametrize("loss", ["hinge", "odm"])
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("place", PLACES)
def test_trouble_changes_when_they_agree_but_not_on_what(loss, trouble, place):
    model = gossip(loss=loss, **TROUBLES[trouble]).fit(X, Y, sites=PLACES[place])
    assert model.converged_
    assert excess(model, X, Y).max() <= 1e-2


@pytest.mark.parametrize("loss", ["hinge", "odm"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("topology", "nearness"), [("ring", 1e-2), ("complete", 1e-3)])
def test_rows_of_a_site_that_leaves_count_no_longer(loss, place, topology, nearness):
    faults = NetworkFaults(schedule=[(20, "leave", 4)])
    with warnings.catch_warnings():
        if topology == "ring":  # now a line, whose ends are farther apart than sites assume
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = gossip(loss=loss, topology=topology, faults=faults)
        model.fit(X, Y, sites=PLACES[place])
    left = PLACES[place] != 4
    others = np.arange(N_SITES) != 4
    reached = excess(model, X[left], Y[left])[others]
    assert reached.max() <= model.relative_gap_ <= nearness  # of the rows that are left
    np.testing.assert_allclose(model.coef_, model.site_coef_[:, others].mean(axis=1))


@pytest.mark.parametrize("solver", [Gadget(batch_size=None), Tracking()])
def test_the_other_methods_come_near(solver):
    model = gossip(
        solver=solver, exchanges=3, loss="odm", topology="complete", tol=0.01, max_iter=3000
    )
    model.fit(X, Y, sites=EVEN)
    assert excess(model, X, Y).max() <= 0.02


def test_several_classes_are_one_problem_each():
    features, labels = rows(4)
    model = gossip(loss="odm", tol=1e-4).fit(features, labels)
    expected = pooled("odm", features, labels)
    np.testing.assert_allclose(
        model.decision_function(features), expected.decision_function(features), atol=0.05
    )
    assert model.site_coef_.shape == (4, N_SITES, 10)
    assert model.site_intercept_.shape == (4, N_SITES)
    assert model.history_["problem"].tolist() == sorted(model.history_["problem"])
    assert set(model.history_["problem"]) == {0, 1, 2, 3}
    ends = np.flatnonzero(np.diff(model.history_["problem"], append=9))
    assert model.n_messages_ == model.history_["messages"][ends].sum()
    assert model.n_bytes_ == model.history_["bytes"][ends].sum()
    assert model.n_iter_ == model.history_["round"].max()
    assert model.relative_gap_ == model.history_["relative_gap"][ends].max()
    scores = model.score_sites(features, labels)
    assert np.all(np.abs(scores - expected.score(features, labels)) <= 0.01)


def test_weights_of_rows_and_classes():
    weight = np.random.default_rng(3).integers(0, 3, len(Y)).astype(float)
    settings = {"class_weight": {0: 2.0}, "fit_intercept": False}
    model = gossip(tol=1e-4, **settings).fit(X, Y, weight, sites=SKEWED)
    expected = LinearSVMClassifier(loss="hinge", C=0.1, tol=1e-5, **settings).fit(X, Y, weight)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=0.05)
    repeated = np.repeat(np.arange(len(Y)), weight.astype(int))
    again = gossip(tol=1e-4, **settings).fit(X[repeated], Y[repeated], sites=SKEWED[repeated])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-10)


def test_a_larger_constant_feature_penalises_the_intercept_less():
    settings = {"intercept_scaling": 10.0, "loss": "squared_hinge", "C": 0.1}
    model = gossip(tol=1e-5, **settings).fit(X + 3.0, Y, sites=SKEWED)
    expected = LinearSVMClassifier(tol=1e-6, **settings).fit(X + 3.0, Y)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-2)
    np.testing.assert_allclose(model.intercept_, model.site_intercept_.mean(axis=1))


def test_lam_replaces_C():
    by_lam = gossip(C=9.0, lam=1e-2).fit(X, Y, sites=EVEN)
    by_C = gossip(C=1 / (1e-2 * len(Y))).fit(X, Y, sites=EVEN)
    np.testing.assert_array_equal(by_lam.coef_, by_C.coef_)
    by_lam = gossip(C=9.0, lam=50.0, loss="odm", theta=0.1).fit(X, Y, sites=EVEN)
    by_C = gossip(C=50.0 / (len(Y) * 0.9**2), loss="odm", theta=0.1).fit(X, Y, sites=EVEN)
    np.testing.assert_array_equal(by_lam.coef_, by_C.coef_)


@pytest.mark.parametrize("solver", [Consensus(), Gadget(), Tracking()])
def test_a_seed_decides_everything(solver, monkeypatch):
    monkeypatch.setattr(simulation_module, "THREADED_WORK", 0)
    settings = {
        "solver": solver,
        "faults": NetworkFaults(loss=0.2, delay=2),
        "partners": "one",
        "stopping": "never",
        "max_iter": 30,
        "tol": 1e9,
    }
    first = gossip(n_jobs=1, **settings).fit(X, Y)
    for same in (gossip(n_jobs=2, **settings), gossip(n_jobs=1, **settings)):
        np.testing.assert_array_equal(same.fit(X, Y).site_coef_, first.site_coef_)
    order = np.random.default_rng(0).permutation(len(Y))
    shuffled = gossip(n_jobs=1, **settings).fit(X[order], Y[order])
    np.testing.assert_array_equal(shuffled.site_coef_, first.site_coef_)
    other = gossip(**settings).set_params(random_state=1).fit(X, Y)
    assert not np.array_equal(other.site_coef_, first.site_coef_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_rows_are_the_same(dtype):
    features = np.where(np.abs(X) < 0.5, 0.0, X).astype(dtype)
    dense = gossip(loss="odm").fit(features, Y, sites=SKEWED)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        same = gossip(loss="odm").fit(kind(features), Y, sites=SKEWED)
        np.testing.assert_allclose(same.site_coef_, dense.site_coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(
            same.score_sites(kind(features), Y), dense.score_sites(features, Y)
        )
    assert dense.coef_.dtype == np.float64


def test_rows_sorted_by_site_are_not_copied(monkeypatch):
    # As in large sets.
    monkeypatch.setattr("widemargin.core.training_set.CANONICAL_VALUES", 100)
    training = training_set(X, Y, None, pairwise=False, estimator="GossipClassifier")
    sites = np.arange(len(Y)) // 250
    placement = placed(training, sites, None, "ring", 0)
    assert placement.training.X is training.X
    assert placement.start.tolist() == [0, 250, 500, 750, 1000]
    placement = placed(training, sites[::-1], None, "ring", 0)
    np.testing.assert_array_equal(placement.training.X[:250], X[750:])


def test_one_site_is_no_network():
    model = GossipClassifier(1, C=0.1, random_state=0).fit(X, Y)
    assert model.n_messages_ == model.n_bytes_ == 0
    assert model.converged_
    np.testing.assert_array_equal(model.coef_, model.site_coef_[:, 0])


def test_what_it_costs_is_counted():
    model = gossip(topology="ring", stopping="never", max_iter=50, tol=1.0).fit(X, Y)
    assert model.n_iter_ == 50
    assert model.n_messages_ == 2 * N_SITES * 50
    history = model.history_
    assert history["round"][-1] == 50
    assert np.all(np.diff(history["messages"]) > 0)
    assert np.all(history["min_accuracy"] <= history["mean_accuracy"])
    assert np.all(history["mean_objective"] <= history["max_objective"])
    scores = model.score_sites(X, Y)
    assert history["min_accuracy"][-1] == pytest.approx(scores.min())
    assert history["max_accuracy"][-1] == pytest.approx(scores.max())


def test_validation_rows_are_what_accuracies_are_of():
    settings = {"stopping": "never", "max_iter": 20, "tol": 1.0}
    model = gossip(**settings).fit(X[:600], Y[:600], X_val=X[600:], y_val=Y[600:])
    scores = model.score_sites(X[600:], Y[600:])
    assert model.history_["min_accuracy"][-1] == pytest.approx(scores.min())
    assert model.history_["mean_accuracy"][-1] == pytest.approx(scores.mean())
    assert model.history_["max_accuracy"][-1] == pytest.approx(scores.max())
    plain = gossip(**settings).fit(X[:600], Y[:600])
    np.testing.assert_array_equal(plain.site_coef_, model.site_coef_)


def test_a_crash_for_good_is_said_to_keep_them_from_the_optimum():
    faults = NetworkFaults(schedule=[(2, "crash", 4)])
    with (
        pytest.warns(UserWarning, match=r"Sites \[4\] crashed and did not return"),
        pytest.warns(ConvergenceWarning, match="in `max_iter` was reached"),
    ):
        model = gossip(faults=faults, max_iter=300).fit(X, Y, sites=EVEN)
    assert not model.converged_
    others = np.arange(N_SITES) != 4
    np.testing.assert_allclose(model.coef_, model.site_coef_[:, others].mean(axis=1))
