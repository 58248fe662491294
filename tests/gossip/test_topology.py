import pickle
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from widemargin.gossip import mixing
from widemargin.gossip import topology as topology_module
from widemargin.gossip.graphs import FAMILIES, RANDOM_FAMILIES
from widemargin.gossip.topology import Topology, graph_of

networkx = pytest.importorskip("networkx")

NAMES = [*FAMILIES, *RANDOM_FAMILIES]
KINDS = ["metropolis", "random_walk"]
SIZES = [1, 2, 3, 4, 5, 6, 7, 10, 16, 17, 23, 30, 64]


def dense_links(graph):
    matrix = np.zeros((graph.n_sites, graph.n_sites), dtype=int)
    np.add.at(matrix, (graph.site, graph.other), 1)
    return matrix


def dense_weights(graph, kind):
    """Column j holds what site j sends to every site."""
    link, own = graph.weights(kind)
    matrix = np.diag(own)
    matrix[graph.other, graph.site] += link
    return matrix


def neighbours(graph, site):
    return graph.other[graph.start[site] : graph.start[site + 1]].tolist()


# ------------------------------------------------------------------------------------------- links


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11))))
def test_links_go_both_ways_in_order(n_sites, pairs):
    pairs = [(a, b) for a, b in pairs if max(a, b) < n_sites]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    graph = Topology.of_pairs(n_sites, (ends[:, 0], ends[:, 1]))
    wanted = sorted({(a, b) for a, b in pairs if a != b} | {(b, a) for a, b in pairs if a != b})
    assert list(zip(graph.site.tolist(), graph.other.tolist(), strict=True)) == wanted
    assert graph.n_links == len(wanted)
    assert np.array_equal(graph.site[graph.reverse], graph.other)
    assert np.array_equal(graph.other[graph.reverse], graph.site)
    assert {each.dtype for each in (graph.start, graph.other, graph.reverse)} == {np.dtype("i8")}


@pytest.mark.parametrize("n_sites", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_every_family_is_connected_without_loops(name, n_sites):
    graph = graph_of(name, n_sites, seed=3)
    assert graph.n_sites == n_sites
    links = dense_links(graph)
    assert np.array_equal(links, links.T)
    assert links.max(initial=0) == (n_sites > 1)
    assert not links.diagonal().any()
    assert networkx.is_connected(networkx.from_numpy_array(links))


def test_degrees_of_the_families():
    assert set(graph_of("complete", 7).degree) == {6}
    assert set(graph_of("ring", 7).degree) == {2}
    assert graph_of("star", 7).degree.tolist() == [6, 1, 1, 1, 1, 1, 1]
    assert np.bincount(graph_of("grid", 12).degree).tolist() == [0, 0, 4, 6, 2]
    assert set(graph_of("torus", 12).degree) == {4}
    assert set(graph_of("random_regular", 20).degree) == {4}
    for degree in (2, 3, 9, 10, 17, 19):
        graph = graph_of(("random_regular", {"degree": degree}), 20, seed=1)
        assert set(graph.degree) == {degree}
    assert set(graph_of(("small_world", {"degree": 6, "probability": 0}), 20).degree) == {6}
    graph = graph_of("erdos_renyi", 400, seed=0)
    expected = 2 * np.log(400) / 400 * 399
    assert graph.degree.mean() == pytest.approx(expected, rel=0.1)
    assert graph_of(("erdos_renyi", {"probability": 1.0}), 9).n_links == 72


@pytest.mark.parametrize(("periodic", "name"), [(False, "grid"), (True, "torus")])
def test_grids_are_those_of_networkx(periodic, name):
    for rows, columns in ((3, 3), (3, 5), (5, 3), (2, 4), (4, 2), (1, 6), (6, 1)):
        graph = graph_of((name, {"columns": columns}), rows * columns)
        known = networkx.grid_2d_graph(rows, columns, periodic=periodic)
        order = [(row, column) for row in range(rows) for column in range(columns)]
        wanted = networkx.to_numpy_array(known, nodelist=order)
        np.fill_diagonal(wanted, 0)  # networkx links a row of one with itself
        assert np.array_equal(dense_links(graph), wanted)


def test_short_last_rows():
    grid, torus = graph_of("grid", 10), graph_of("torus", 10)  # 4 + 4 + 2
    assert neighbours(grid, 8) == [4, 9]
    assert neighbours(grid, 7) == [3, 6]
    assert neighbours(torus, 8) == [0, 4, 9]
    assert neighbours(torus, 7) == [3, 4, 6]
    assert neighbours(graph_of("torus", 11), 10) == [2, 6, 8, 9]


def test_small_worlds_move_some_links():
    lattice = dense_links(graph_of(("small_world", {"probability": 0.0}), 50))
    moved = dense_links(graph_of("small_world", 50, seed=2))
    assert lattice.sum() == moved.sum() == 200
    assert 0 < (lattice & (1 - moved)).sum() < 60


@pytest.mark.parametrize("name", RANDOM_FAMILIES)
def test_the_seed_decides(name):
    one, same, other = (graph_of(name, 40, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.other, same.other)
    assert not np.array_equal(dense_links(one), dense_links(other))


def test_unconnected_draws_are_drawn_anew(monkeypatch):
    # Of graphs with two links a site, some are one ring and others are several.
    options = ("random_regular", {"degree": 2})
    rings = [graph_of(options, 20, seed=seed) for seed in range(20)]
    assert all(set(ring.degree) == {2} and not ring.component.any() for ring in rings)
    monkeypatch.setattr(topology_module, "DRAWS", 1)
    with pytest.raises(ValueError, match=r"none of 1 graphs .* was\. Raise `degree`\."):
        [graph_of(options, 20, seed=seed) for seed in range(20)]


# ------------------------------------------------------------------------------------ given graphs


@pytest.fixture
def names():
    graph = networkx.Graph([("Lyon", "Metz"), ("Metz", "Nice"), ("Nice", "Nice")])
    graph.add_edge("Nice", "Oran", weight=0.0)
    return graph


def test_a_graph_of_networkx(names):
    graph = graph_of(names, 4)
    assert graph.labels == ("Lyon", "Metz", "Nice", "Oran")
    assert [neighbours(graph, site) for site in range(4)] == [[1], [0, 2], [1, 3], [2]]
    twice = networkx.MultiGraph([(0, 1), (1, 0), (1, 2)])
    assert graph_of(twice, 3).degree.tolist() == [1, 2, 1]


@pytest.mark.parametrize("as_given", [np.array, np.ndarray.tolist, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize("dtype", [bool, int, float])
def test_a_matrix_of_links(as_given, dtype):
    links = networkx.to_numpy_array(networkx.petersen_graph()).astype(dtype)
    graph = graph_of(as_given(links), 10)
    assert graph.labels is None
    assert np.array_equal(dense_links(graph), links)


def test_loops_and_stored_zeros_are_no_links():
    links = sp.csr_array((np.array([7.0, 1.0, 0.0, 1.0, 0.0]), ([0, 0, 0, 1, 2], [0, 1, 2, 0, 0])))
    links.resize(3, 3)
    with pytest.raises(ValueError, match=r"2 components: \[0, 1\], \[2\]"):
        graph_of(links, 3)
    full = links.toarray() + np.eye(3) + np.diag([0, 1], 1) + np.diag([0, 1], -1)
    assert graph_of(full, 3).degree.tolist() == [1, 2, 1]


# ----------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("n_sites", [1, 2, 10, 17])
@pytest.mark.parametrize("name", NAMES)
def test_weights_conserve_what_is_averaged(name, n_sites):
    graph = graph_of(name, n_sites, seed=1)
    metropolis = dense_weights(graph, "metropolis")
    assert np.array_equal(metropolis, metropolis.T)
    assert np.allclose(metropolis.sum(axis=0), 1.0, atol=1e-15)
    assert np.allclose(metropolis.sum(axis=1), 1.0, atol=1e-15)
    walk = dense_weights(graph, "random_walk")
    assert np.allclose(walk.sum(axis=0), 1.0, atol=1e-15)
    for matrix in (metropolis, walk):
        assert np.all(matrix[np.eye(n_sites, dtype=bool) | (dense_links(graph) > 0)] > 0)


def test_weights_of_a_star():
    link, own = graph_of("star", 4).weights()
    assert link == pytest.approx(np.full(6, 1 / 4))
    assert own == pytest.approx([1 / 4, 3 / 4, 3 / 4, 3 / 4])
    link, own = graph_of("star", 4).weights("random_walk")
    assert link == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 2, 1 / 2, 1 / 2])
    assert own == pytest.approx([1 / 4, 1 / 2, 1 / 2, 1 / 2])


# ------------------------------------------------------------------------------------- mixing time


def expected_mixing_time(graph, kind):
    moduli = np.sort(np.abs(np.linalg.eigvals(dense_weights(graph, kind))))
    assert moduli[-1] == pytest.approx(1.0)
    return -1.0 / np.log(moduli[-2])


# The last is bipartite, and its smallest eigenvalue is the second in modulus.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "named",
    [*[name for name in NAMES if name != "complete"], networkx.complete_bipartite_graph(75, 75)],
    ids=str,
)
def test_mixing_time_by_dense_eigenvalues(named, kind, monkeypatch):
    graph = graph_of(named, 150, seed=2)
    wanted = expected_mixing_time(graph, kind)
    assert graph.mixing_time(kind) == pytest.approx(wanted, rel=1e-9)
    monkeypatch.setattr(mixing, "DENSE_SITES", 100)
    assert graph.mixing_time(kind) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_mixing_time_of_large_rings(kind):
    for n_sites in (999, 1001, 20_000):
        modulus = (1 + 2 * np.cos(2 * np.pi / n_sites)) / 3
        wanted = -1.0 / np.log(modulus)
        assert graph_of("ring", n_sites).mixing_time(kind) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_one_round_suffices(kind):
    assert [graph_of("complete", n).mixing_time(kind) for n in (1, 2, 9, 1200)] == [0.0] * 4


def test_disagreement_shrinks_at_that_rate():
    graph = graph_of("grid", 25)
    matrix, time = dense_weights(graph, "metropolis"), graph.mixing_time()
    values = np.random.default_rng(0).standard_normal(25)
    later = np.linalg.matrix_power(matrix, 200) @ values
    much_later = np.linalg.matrix_power(matrix, 200 + round(10 * time)) @ values
    mean = values.mean()
    shrunk = np.linalg.norm(much_later - mean) / np.linalg.norm(later - mean)
    assert np.log(shrunk) == pytest.approx(-round(10 * time) / time, rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_diameter(name, monkeypatch):
    graph = graph_of(name, 60, seed=4)
    known = networkx.diameter(networkx.from_numpy_array(dense_links(graph)))
    assert graph.diameter == known
    monkeypatch.setattr(topology_module, "EXACT_DIAMETER", 0)
    bound = graph_of(name, 60, seed=4).diameter
    assert known <= bound <= 2 * known
    assert graph_of(name, 1).diameter == 0


# ------------------------------------------------------------------------------------------- whole


def test_topologies_are_short_to_print_and_can_be_sent(names):
    graph = graph_of(names, 4)
    assert graph.diameter == 3
    again = pickle.loads(pickle.dumps(graph))
    assert repr(again) == "Topology(n_sites=4, n_links=6)"
    assert np.array_equal(again.reverse, graph.reverse)
    assert again.labels == graph.labels


REFUSED = {
    "zero sites": ("ring", 0, "`n_sites` must be an integer of at least 1; got 0."),
    "half a site": ("ring", 2.5, "`n_sites` must be an integer of at least 1; got 2.5."),
    "unknown": (
        "circle",
        3,
        "`topology` must be one of 'complete', 'ring', 'star', 'grid', 'torus', 'random_regular', "
        "'erdos_renyi', 'small_world', or a graph; got 'circle'.",
    ),
    "no dict": (("ring", 4), 3, "must hold a name and a dict of options"),
    "name alone": (("ring",), 3, "must hold a name and a dict of options"),
    "no options": (("ring", {"degree": 2}), 3, "'ring' takes no options; got ['degree']."),
    "not this option": (
        ("grid", {"rows": 2}),
        4,
        "topology='grid' takes the options ['columns']; got ['rows'].",
    ),
    "seed is no option": (
        ("small_world", {"seed": 2}),
        9,
        "['degree', 'probability']; got ['seed'",
    ),
    "columns": (
        ("grid", {"columns": 0}),
        6,
        "`columns` of 'grid' must be an integer from 1 to 6 for this number of sites; got 0.",
    ),
    "wide": (("torus", {"columns": 7}), 6, "`columns` of 'torus' must be an integer from 1 to 6"),
    "degree": (
        ("random_regular", {"degree": 6}),
        6,
        "`degree` of 'random_regular' must be an integer from 2 to 5 for this number of sites; "
        "got 6.",
    ),
    "whole degree": (("small_world", {"degree": 4.0}), 9, "must be an integer from 2 to 8"),
    "true degree": (("small_world", {"degree": True}), 9, "must be an integer from 2 to 8"),
    "odd sum": (
        ("random_regular", {"degree": 3}),
        7,
        "`degree` of 'random_regular' must be even, since `n_sites`=7 is odd; got 3. Take 2 or 4.",
    ),
    "odd degree": (
        ("small_world", {"degree": 3}),
        8,
        "`degree` of 'small_world' must be even, half of it on either side; got 3. Take 2 or 4.",
    ),
    "never": (
        ("erdos_renyi", {"probability": 0}),
        8,
        "`probability` of 'erdos_renyi' must be in (0, 1]; got 0.",
    ),
    "text": (
        ("erdos_renyi", {"probability": "often"}),
        8,
        "`probability` of 'erdos_renyi' must be in (0, 1]; got 'often'.",
    ),
    "too often": (
        ("small_world", {"probability": 1.5}),
        8,
        "`probability` of 'small_world' must be in [0, 1]; got 1.5.",
    ),
    "too few links": (
        ("erdos_renyi", {"probability": 0.01}),
        100,
        "The graph must be connected; none of 20 graphs drawn by topology='erdos_renyi' with 100 "
        "sites and options {'probability': 0.01} was. Raise `probability`.",
    ),
    "nothing": (None, 3, "got NoneType of shape () and type object."),
    "not square": (np.ones((2, 3)), 3, "got ndarray of shape (2, 3) and type float64."),
    "words": (np.array([["a", "b"], ["b", "a"]]), 2, "a square matrix of numbers"),
    "not finite": (
        np.array([[0, np.inf], [np.inf, 0]]),
        2,
        "The matrix of links must be finite, with 0 where two sites are no neighbours; got NaN or "
        "infinity.",
    ),
    "no way back": (
        np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0]]),
        3,
        "The graph must be strongly connected, or sites never hear of each other; it has 2 "
        "components: [0, 1], [2]. Add links between them, there and back.",
    ),
    "rounds that never meet": (
        [networkx.path_graph([0, 1, 2]), networkx.path_graph([1, 0, 3])],
        3,
        "The graphs of a list must have the same nodes; the first has no node 3.",
    ),
    "matchings that do not connect": (
        [np.eye(4)[[1, 0, 3, 2]], np.eye(4)[[1, 0, 3, 2]]],
        4,
        "it has 2 components: [0, 1], [2, 3].",
    ),
    "other number": (
        networkx.cycle_graph(5),
        10,
        "The graph must have one node per site; it has 5 nodes and `n_sites` is 10. "
        "Set n_sites=5 or give another graph.",
    ),
    "no nodes": (np.zeros((0, 0)), 1, "it has 0 nodes"),
    "apart": (
        networkx.Graph([("a", "b"), ("c", "d")]),
        4,
        "The graph must be connected, or sites never hear of each other; it has 2 components: "
        "['a', 'b'], ['c', 'd']. Add links between them.",
    ),
    "far apart": (
        networkx.disjoint_union(networkx.path_graph(6), networkx.empty_graph(6)),
        12,
        "it has 7 components: [0, 1, 2, 3 and 2 more], [6], [7], [8], [9] and 2 more.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    topology, n_sites, message = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        graph_of(topology, n_sites)


def test_unknown_weights_are_refused():
    with pytest.raises(ValueError, match=r"'random_walk' or 'given'; got 'uniform'\."):
        graph_of("ring", 5).weights("uniform")
    with pytest.raises(ValueError, match="`kind` must be"):
        graph_of("ring", 5).mixing_time("uniform")


# ---------------------------------------------------------------------------------------- networkx


def test_only_random_graphs_need_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    for name in FAMILIES:
        graph_of(name, 12)
    graph_of(np.ones((3, 3)), 3)
    for name in RANDOM_FAMILIES:
        with pytest.raises(ImportError, match=r"pip install 'widemargin\[gossip\]'"):
            graph_of(name, 12)
