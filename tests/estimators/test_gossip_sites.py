"""Which rows are where: names of sites, empty sites, graphs, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from gossip_networks import EVEN, N_SITES, SKEWED, X, Y, gossip
from scipy import sparse

from widemargin import GossipClassifier
from widemargin.gossip import Gadget, NetworkFaults, Tracking
from widemargin.gossip.mixing import consensus_time

NAMES = np.array(["plant " + letter for letter in "abcdefgh"])


@pytest.fixture
def networkx():
    return pytest.importorskip("networkx")


def quick(**settings):
    return gossip(**{"tol": 0.1, **settings})


def test_rows_are_dealt_out_evenly():
    model = quick(n_sites=7, stopping="never", max_iter=1, tol=1e9).fit(X, Y)
    assert model.sites_.tolist() == list(range(7))
    assert model.label_skew_ < 0.15
    assert len(model.score_sites(X, Y)) == 7


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(200, 10), (6, 6)], ids=["ten", "never more than rows"]
)
def test_the_usual_number_of_sites(n_rows, expected):
    model = GossipClassifier(tol=0.1, C=0.1).fit(X[:n_rows], Y[:n_rows])
    assert len(model.sites_) == model.topology_.n_sites == expected


def test_labels_of_any_kind_name_sites():
    numbered = quick().fit(X, Y, sites=EVEN)
    assert numbered.sites_.tolist() == list(range(N_SITES))
    for labels, names in (
        (NAMES[EVEN], NAMES),
        (NAMES.astype(object)[EVEN], NAMES),
        (pd.Series(NAMES[EVEN]), NAMES),
        (10.5 * EVEN, 10.5 * np.arange(N_SITES)),
        (EVEN - 50, np.arange(N_SITES) - 50),
    ):
        for n_sites in (None, N_SITES):
            model = quick(n_sites=n_sites).fit(X, Y, sites=labels)
            assert model.sites_.tolist() == names.tolist()
            np.testing.assert_array_equal(model.site_coef_, numbered.site_coef_)


def test_sites_may_be_empty():
    model = gossip(n_sites=10, topology="ring").fit(X, Y, sites=EVEN + 1)  # neither 0 nor 9
    assert model.sites_.tolist() == list(range(10))
    assert model.converged_
    assert np.ptp(model.score_sites(X, Y)) < 0.02  # they have learnt it from their neighbours
    assert len(quick(n_sites=None).fit(X, Y, sites=EVEN + 1).sites_) == N_SITES


def test_sites_whose_rows_weigh_nothing_are_empty():
    weight = (EVEN != 3).astype(float)
    model = quick().fit(X, Y, weight, sites=EVEN)
    same = quick().fit(X[EVEN != 3], Y[EVEN != 3], sites=EVEN[EVEN != 3])
    np.testing.assert_array_equal(model.site_coef_, same.site_coef_)


def test_label_skew():
    assert quick().fit(X, Y, sites=EVEN).label_skew_ < 0.1
    share = np.mean(Y == 1)
    assert quick().fit(X, Y, sites=SKEWED).label_skew_ == pytest.approx(max(share, 1 - share))
    one_each = np.arange(8) % 2
    weight = np.where(one_each == 1, 3.0, 1.0)
    model = quick(n_sites=2).fit(X[:8], one_each, weight, sites=np.arange(8) // 2 % 2)
    assert model.label_skew_ == pytest.approx(0.0)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_a_matrix_of_links(as_matrix):
    line = np.eye(5, k=1) + np.eye(5, k=-1)
    model = quick(n_sites=None, topology=as_matrix(line)).fit(X, Y)
    assert model.sites_.tolist() == [0, 1, 2, 3, 4]
    assert model.topology_.n_links == 8
    assert model.mixing_time_ == consensus_time(model.topology_, 0.7)
    settings = {"solver": "tracking", "stopping": "never", "max_iter": 2, "tol": 10.0}
    averaged = quick(n_sites=None, topology=as_matrix(line), **settings).fit(X, Y)
    assert averaged.mixing_time_ == model.topology_.mixing_time()


def test_nodes_of_a_graph_name_sites(networkx):
    graph = networkx.Graph([("x", "a"), ("a", "m"), ("m", "b")])  # neither sorted nor all used
    sites = np.array(["a", "b", "m"])[EVEN % 3]
    model = quick(n_sites=None, topology=graph).fit(X, Y, sites=sites)
    assert model.sites_.tolist() == ["x", "a", "m", "b"]
    assert model.topology_.labels == ("x", "a", "m", "b")
    same = quick(n_sites=4, topology=networkx.path_graph(4)).fit(
        X, Y, sites=np.array([1, 3, 2])[EVEN % 3]
    )
    np.testing.assert_array_equal(model.site_coef_, same.site_coef_)
    assert quick(n_sites=None, topology=graph).fit(X, Y).sites_.tolist() == ["x", "a", "m", "b"]
    with pytest.raises(ValueError, match=r"`sites` must name nodes of the graph; it has no nodes"):
        quick(n_sites=None, topology=graph).fit(X, Y, sites=np.array(["a", "z"])[EVEN % 2])


@pytest.mark.parametrize("sites", [None, EVEN % 5], ids=["dealt out", "given"])
def test_graphs_of_another_size_are_refused(networkx, sites):
    message = "it has 5 nodes and `n_sites` is 8. Set n_sites=5 or give another graph"
    with pytest.raises(ValueError, match=message):
        quick(n_sites=8, topology=networkx.cycle_graph(5)).fit(X, Y, sites=sites)
    for n_sites in (None, 8):
        with pytest.raises(ValueError, match="one node per site; it has 0 nodes"):
            quick(n_sites=n_sites, topology=networkx.Graph()).fit(X, Y, sites=sites)


BAD = {
    "more sites than rows": (
        {"n_sites": 1001},
        {},
        "There must be a row for every site; `n_sites` is 1001, and there are 1000 rows",
    ),
    "no sites": ({"n_sites": 0}, {}, "'n_sites' parameter"),
    "short": ({}, {"sites": EVEN[:10]}, r"each of the 1000 rows; got an array of shape \(10,\)"),
    "table": ({}, {"sites": np.zeros((1000, 2))}, r"got an array of shape \(1000, 2\)"),
    "too many": ({"n_sites": 3}, {"sites": EVEN}, r"as many sites as there are, 3, or hold"),
    "too few": ({}, {"sites": NAMES[EVEN % 2]}, "it names 2: .'plant a', 'plant b'."),
    "NaN": ({}, {"sites": np.where(EVEN, EVEN, np.nan)}, "a site for every row; got NaN"),
    "mixed": (
        {},
        {"sites": np.array([1, "a"] * 500, dtype=object)},
        "labels of one kind, text or numbers; got int, str",
    ),
    "unknown family": ({"topology": "mesh"}, {}, "`topology` must be one of 'complete'"),
    "option": ({"topology": ("ring", {"degree": 3})}, {}, "takes no options"),
    "in two pieces": (
        {"topology": np.kron(np.eye(2), np.ones((4, 4)))},
        {},
        "The graph must be connected",
    ),
    "other size": ({"topology": np.ones((3, 3))}, {}, "it has 3 nodes and `n_sites` is 8"),
    "fault": ({"faults": NetworkFaults(loss=1.0)}, {}, r"`loss` must be in \[0, 1\); got 1.0"),
    "crash where nobody is": (
        {"faults": NetworkFaults(schedule=[(3, "crash", 8)])},
        {},
        "A site of `schedule` must be a number from 0 to 7, its position in `sites_`; got 8",
    ),
    "all leave": (
        {"faults": NetworkFaults(schedule=[(3, "leave", site) for site in range(8)])},
        {},
        "One site at least must be there all the time, from the beginning; by `schedule` there is "
        "none after 4 rounds",
    ),
    "fault of another kind": ({"faults": 0.3}, {}, "'faults' parameter"),
    "solver": ({"solver": "admm"}, {}, "'solver' parameter"),
    "step": ({"solver": Tracking(step=0.0)}, {}, "`step` must be positive and finite; got 0.0"),
    "trim": ({"solver": Gadget(robust="trim", trim=2)}, {}, "one site has only 2"),
    "stopping": ({"stopping": "soon"}, {}, "'stopping' parameter"),
    "validation rows alone": ({}, {"X_val": X}, "X_val and y_val go together"),
    "validation labels": ({}, {"X_val": X, "y_val": Y + 1}, "y_val holds labels that y does not"),
    "class weight": ({"class_weight": {7: 2.0}}, {}, "`class_weight` names none of the classes"),
}


@pytest.mark.filterwarnings("ignore:Classes are spread")
@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name):
    settings, arguments, message = BAD[name]
    model = gossip(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, **arguments)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (np.where(X > 2.5, np.nan, X), Y, "NaN"),
        (X, np.zeros(len(Y)), "needs rows of at least two classes; got only one class, 0.0"),
        (X, Y[:10], "inconsistent numbers of samples"),
    ],
)
def test_data_that_are_refused(features, labels, message):
    with pytest.raises(ValueError, match=message):
        gossip().fit(features, labels)


def test_networks_beyond_the_memory_limit_are_refused_at_once():
    model = gossip(n_sites=1000, topology="complete", memory_limit="10MB")
    message = "1,000 sites and their 499,500 links need about .* GiB .* Take a topology with fewer"
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    late = gossip(memory_limit="100kB", faults=NetworkFaults(delay=100))
    with pytest.raises(ValueError, match="more than `memory_limit`"):
        late.fit(X, Y)
    assert gossip(memory_limit="100kB", tol=0.1).fit(X, Y).converged_


def test_links_that_lead_one_way(networkx):
    graph = networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    settings = {"solver": "tracking", "loss": "odm", "stopping": "never", "topology": graph}
    model = quick(n_sites=None, **settings).fit(X, Y)
    assert model.converged_
    assert model.topology_.directed
    assert model.sites_.tolist() == ["a", "b", "c"]
    assert model.mixing_time_ == model.topology_.mixing_time()
    with pytest.raises(ValueError, match=r"`solver`='consensus' must have an undirected graph"):
        quick(n_sites=None, topology=graph).fit(X, Y)


def test_a_graph_for_every_round(networkx):
    rounds = [networkx.Graph([(0, 1), (2, 3)]), networkx.Graph([(1, 2), (3, 0)])]
    model = quick(n_sites=None, topology=rounds).fit(X, Y)
    assert model.converged_
    assert model.topology_.period == 2
    ring = quick(n_sites=4, topology="ring").fit(X, Y)
    assert model.n_messages_ / model.n_iter_ == ring.n_messages_ / ring.n_iter_ / 2


def test_slow_sites_delay_the_others():
    quickly = quick().fit(X, Y, sites=SKEWED)
    slowly = quick(faults=NetworkFaults(speeds={3: 0.1})).fit(X, Y, sites=SKEWED)
    assert quickly.converged_
    assert slowly.converged_
    assert slowly.n_iter_ > quickly.n_iter_
    with pytest.raises(ValueError, match="A site of `speeds` must be a number from 0 to 7"):
        quick(faults=NetworkFaults(speeds={8: 0.1})).fit(X, Y)


def test_gadget_as_printed_by_name():
    settings = {"solver": "gadget_printed", "partners": "one", "stopping": "norm", "tol": 10.0}
    model = quick(**settings, epsilon=0.1).fit(X, Y, sites=EVEN)
    assert model.solver_ == "gadget_printed"
    assert model.n_messages_ == model.n_iter_ * N_SITES
