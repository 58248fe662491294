"""Model files of GossipClassifier."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from test_persistence import (
    assert_same_model,
    assert_same_value,
    edited,
    refuse,
    set_array,
    set_fitted,
    set_param,
    with_entry,
)

from widemargin import GossipClassifier, load_model
from widemargin.gossip import Consensus, Gadget, NetworkFaults
from widemargin.persistence import dumps, loads

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
NAMES = np.array(["setosa", "versicolor", "virginica"])
FAULTS = NetworkFaults(loss=0.1, schedule=[(3, "crash", 1), (5, "return", 1)], lies={2: "noise"})


def model(**settings):
    settings = {"n_sites": 4, "stopping": "never", "max_iter": 8, "random_state": 0, **settings}
    return GossipClassifier(tol=100.0, **settings)


def models():
    yield "faults", model(faults=FAULTS, loss="odm", lam=3.0).fit(X, NAMES[Y])
    solver = Gadget(batch_size=None, robust="clip")
    yield "solver", model(solver=solver, fit_intercept=False, exchanges=2).fit(X, Y > 0)
    places = np.array(["a", "b", "c", "d"], dtype=object)[np.arange(150) % 4]
    yield "names", model(topology=("grid", {"columns": 2})).fit(X, Y > 0, sites=places)
    links = np.ones((4, 4))
    yield "matrix", model(topology=links, solver=Consensus(epochs=2)).fit(X, Y > 1)
    yield "sparse", model(topology=sparse.csr_matrix(links)).fit(X.astype(np.float32), Y > 1)
    one_way = np.roll(np.eye(4), 1, axis=1)
    yield "one way", model(topology=one_way, solver="gadget_printed").fit(X, Y > 1)
    yield "shares", model(topology=0.3 * one_way, solver="gadget", weights="given").fit(X, Y > 1)
    slow = NetworkFaults(speeds={1: 0.5})
    yield "rounds", model(topology=["ring", "star", links], faults=slow).fit(X, Y > 1)


@pytest.mark.parametrize("fitted", [pytest.param(m, id=name) for name, m in models()])
def test_a_loaded_model_is_the_saved_one(fitted, tmp_path):
    fitted.save(tmp_path / "model.wm")
    loaded = load_model(tmp_path / "model.wm")
    assert_same_model(loaded, fitted, X)
    assert_same_value(loaded.get_params(deep=False), fitted.get_params(deep=False))
    y = fitted.classes_[Y % len(fitted.classes_)]
    np.testing.assert_array_equal(loaded.score_sites(X, y), fitted.score_sites(X, y))
    again, expected = loaded.fit(X, y), fitted.fit(X, y)
    np.testing.assert_array_equal(again.site_coef_, expected.site_coef_)


def test_graphs_of_rounds_become_the_matrices_of_their_links():
    networkx = pytest.importorskip("networkx")
    rounds = [networkx.path_graph(4), "ring", networkx.DiGraph([(0, 2), (2, 0), (1, 3), (3, 1)])]
    fitted = model(topology=rounds).fit(X, Y > 0)
    loaded = loads(dumps(fitted))
    assert loaded.topology[1] == "ring"
    path = networkx.to_numpy_array(rounds[0])
    np.testing.assert_array_equal(loaded.topology[0].toarray(), path)
    again = loaded.fit(X, Y > 0)
    np.testing.assert_array_equal(again.site_coef_, fitted.site_coef_)


def test_a_graph_becomes_the_matrix_of_its_links():
    networkx = pytest.importorskip("networkx")
    graph = networkx.grid_2d_graph(2, 3)
    fitted = model(n_sites=None, topology=graph).fit(X, Y > 0)
    loaded = loads(dumps(fitted))
    assert loaded.sites_.tolist()[:2] == ["(0, 0)", "(0, 1)"]
    assert loaded.topology_.labels == fitted.topology_.labels
    np.testing.assert_array_equal(loaded.topology.toarray(), networkx.to_numpy_array(graph))
    np.testing.assert_array_equal(loaded.fit(X, Y > 0).site_coef_, fitted.site_coef_)


def test_an_interrupted_model_can_be_saved():
    fitted = model().fit(X, Y)
    fitted.relative_gap_ = fitted.dual_gap_ = np.nan
    fitted.converged_ = False
    assert np.isnan(loads(dumps(fitted)).relative_gap_)


def part(name, key, value):
    """Change an argument of an object among the fitted attributes or parameters."""

    def edit(header, arrays):
        where = header["fitted"] if name.endswith("_") else header["params"]
        where[name]["$gossip"][1][key] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("coef_", lambda a: a[:, :3].copy()), "`coef_` must be of shape"),
        (set_array("site_coef_", lambda a: a[:, 1:].copy()), "`site_coef_` must be of shape"),
        (set_array("site_coef_", with_entry(np.nan)), "`site_coef_` must be finite"),
        (set_array("site_intercept_", lambda a: a.T.copy()), "`site_intercept_` must be of shape"),
        (set_array("intercept_", lambda a: a[:2].copy()), "`intercept_` must be of shape"),
        (set_fitted("label_skew_", 1.5), "`label_skew_` must be a number from 0 to 1"),
        (set_fitted("mixing_time_", -1.0), "`mixing_time_` must be a number from 0"),
        (set_fitted("n_messages_", -1), "`n_messages_` must be an integer that is not"),
        (set_fitted("estimated_gap_", "small"), "`estimated_gap_` must be a number"),
        (set_array("sites_", lambda a: a[1:].copy()), "`sites_` must be an array of 4 names"),
        (set_array("topology_.start", with_entry(7)), "`Topology.start` must be ascending"),
        (set_array("topology_.other", with_entry(4)), "`Topology.other` must be numbers below 4"),
        (set_array("topology_.other", with_entry(3)), "the opposite link of every link"),
        (set_array("topology_.reverse", with_entry(0)), "the opposite link of every link"),
        (set_array("topology_.reverse", with_entry(-1)), "`Topology.reverse` must be numbers"),
        (part("topology_", "labels", ["a"]), "`Topology.labels` must be None or a name"),
        (part("topology_", "extra", 1), "a part of a network is wrong"),
        (set_fitted("topology_", 3), "nothing uses array 'topology_.other'"),
        (part("faults", "loss", 1.5), r"`loss` must be in \[0, 1\); got 1.5"),
        (part("faults", "schedule", [[3, "crash", 9]]), "A site of `schedule` must be a number"),
        (part("faults", "schedule", 7), "not a valid GossipClassifier"),
        (part("solver", "epochs", [3]), "`Consensus.epochs` must be a number, a text or None"),
        (set_param("solver", {"$gossip": ["Simulation", {}]}), "names nothing of a network"),
        (set_param("solver", {"$gossip": ["Topology", {}]}), "a part of a network is wrong"),
        (set_param("solver", "admm"), "'solver' parameter"),
        (set_param("loss", "log"), "'loss' parameter"),
        (lambda header, arrays: header["fitted"].pop("n_bytes_"), "`n_bytes_` is missing"),
    ],
)
def test_files_that_do_not_fit_together_are_refused(edit, message):
    fitted = model(faults=FAULTS, solver=Consensus(), topology="star").fit(X, Y)
    refuse(edited(fitted, edit), message)
