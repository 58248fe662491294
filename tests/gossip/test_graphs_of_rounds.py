"""Links that lead one way, graphs that change from round to round, slow sites, many sites."""

import re

import numpy as np
import pytest
from scipy import sparse
from test_gossip_methods import implied, optimum, parts_of, problem_of, simulate, starts

from reference import gossip as reference
from widemargin.gossip import (
    Consensus,
    Gadget,
    NetworkFaults,
    PrintedGadget,
    Simulation,
    Stopping,
    Talking,
    Tracking,
    average,
    graph_of,
)
from widemargin.gossip.averaging import averaging
from widemargin.linear.problem import LinearProblem

SITES = 6
# A ring that leads one way, with a shortcut: masses of Push-Sum differ from site to site.
CYCLE = np.roll(np.eye(SITES), 1, axis=1)
SHORTCUT = CYCLE + np.eye(SITES)[[3]].T @ np.eye(SITES)[[0]]
# The links of a ring of six, every other one in even rounds, the rest in odd ones.
MATCHINGS = [np.eye(SITES)[[1, 0, 3, 2, 5, 4]], np.eye(SITES)[[5, 2, 1, 4, 3, 0]]]
VALUES = np.random.default_rng(0).standard_normal((SITES, 3))


def relative_gap(simulation):
    return simulation.certificate.primal / optimum(simulation.problem).primal - 1.0


def test_a_graph_of_one_way_links():
    graph = graph_of(SHORTCUT, SITES)
    assert graph.directed
    assert (graph.n_links, len(graph.other)) == (7, 14)
    assert graph.degree.tolist() == [1, 1, 1, 2, 1, 1]
    assert graph.diameter == 5
    assert graph.component.max() == 0
    np.testing.assert_array_equal(graph.matrices()[0].toarray(), SHORTCUT)
    link, own = graph.weights("random_walk")
    sent = np.bincount(graph.site, link, minlength=SITES)
    np.testing.assert_allclose(sent + own, 1.0)


def test_directed_graphs_of_networkx_name_their_sites():
    networkx = pytest.importorskip("networkx")
    graph = graph_of(networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")]), 3)
    assert graph.labels == ("a", "b", "c")
    np.testing.assert_array_equal(graph.matrices()[0].toarray(), np.roll(np.eye(3), 1, axis=1))
    both_ways = graph_of(networkx.DiGraph([("a", "b"), ("b", "a")]), 2)
    assert not both_ways.directed
    assert both_ways.active is None


@pytest.mark.parametrize("weights", ["metropolis", "random_walk"])
@pytest.mark.parametrize("partners", ["all", "one"])
def test_push_sum_averages_over_one_way_links(weights, partners):
    talking = Talking(weights=weights, partners=partners)
    faults = NetworkFaults(loss=0.3, delay=2)
    means = average(VALUES, SHORTCUT, rounds=600, talking=talking, faults=faults)
    np.testing.assert_allclose(means, np.tile(VALUES.mean(axis=0), (SITES, 1)), atol=1e-9)


def test_nothing_is_lost_over_one_way_links():
    simulation = averaging(VALUES, SHORTCUT, faults=NetworkFaults(loss=0.5))
    simulation.network.run(777)
    expected = np.append(VALUES.sum(axis=0), SITES)
    np.testing.assert_allclose(simulation.network.total(), expected, atol=1e-9)
    assert simulation.network.messages == 777 * 7


def test_methods_over_one_way_links_take_the_steps_of_the_plain_versions():
    problem = problem_of()
    gadget = simulate(problem, Gadget(batch_size=None, average=False), SHORTCUT)
    gadget.network.run(12)
    matrix = reference.weight_matrix(gadget.topology)
    offset = float(np.sum(problem.squared_norms / problem.constants.below))
    expected = reference.gadget(parts_of(problem), implied(problem), matrix, 12, offset)
    np.testing.assert_allclose(gadget.network.models(), expected, rtol=1e-9, atol=1e-12)


def test_tracking_over_one_way_links_reaches_the_optimum():
    simulation = simulate(problem_of(skewed=True), Tracking(), SHORTCUT)
    simulation.run(3000)
    assert relative_gap(simulation) < 1e-4


def test_sites_stop_by_themselves_over_one_way_links():
    simulation = simulate(problem_of(), Tracking(), SHORTCUT, rule="gap", tol=1e-2)
    simulation.run(5000)
    assert simulation.network.stopped
    assert relative_gap(simulation) < 1e-2


@pytest.mark.parametrize("method", [Consensus(), Gadget(robust="clip"), Gadget(robust="trim")])
def test_methods_that_need_answers_refuse_one_way_links(method):
    with pytest.raises(ValueError, match=r"must have an undirected graph.*Take 'gadget' or"):
        simulate(problem_of(), method, SHORTCUT)


def test_graphs_of_rounds_come_in_turn():
    graph = graph_of(MATCHINGS, SITES)
    assert (graph.period, graph.n_links, graph.directed) == (2, 12, False)
    for number in range(4):
        link, own = graph.weights("metropolis", number)
        shares = sparse.csr_array((link, graph.other, graph.start), shape=(SITES, SITES))
        np.testing.assert_array_equal(shares.toarray(), 0.5 * MATCHINGS[number % 2])
        np.testing.assert_array_equal(own, 0.5)
    simulation = averaging(VALUES, MATCHINGS)
    expected = VALUES
    for number in range(5):
        simulation.network.run(1)
        expected = 0.5 * (expected + MATCHINGS[number % 2] @ expected)
        np.testing.assert_allclose(simulation.network.models(), expected, atol=1e-12)
    assert simulation.network.messages == 5 * SITES


def test_random_graphs_of_rounds_differ():
    graph = graph_of([("erdos_renyi", {"probability": 0.5})] * 3, 12, seed=1)
    assert graph.period == 3
    first, second, third = (matrix.toarray() for matrix in graph.matrices())
    assert (first != second).any()
    assert (second != third).any()
    np.testing.assert_array_equal(first, first.T)


def test_graphs_of_rounds_have_their_nodes_in_any_order():
    networkx = pytest.importorskip("networkx")
    rounds = [networkx.Graph([("a", "b"), ("b", "c")]), networkx.Graph([("c", "a"), ("a", "b")])]
    first, second = graph_of(rounds, 3).matrices()
    np.testing.assert_array_equal(first.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(second.toarray(), [[0, 1, 1], [1, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("method", [Consensus(), Tracking()], ids=lambda m: m.name)
@pytest.mark.parametrize("skewed", [False, True])
def test_graphs_of_rounds_lead_to_the_optimum(method, skewed):
    simulation = simulate(problem_of(skewed=skewed), method, MATCHINGS)
    simulation.run(3000)
    assert relative_gap(simulation) < 1e-4


def test_robust_exchanges_refuse_graphs_of_rounds():
    with pytest.raises(ValueError, match="must have one graph; got a list of graphs"):
        simulate(problem_of(), Gadget(robust="clip"), MATCHINGS)


def test_slow_sites_take_part_in_their_share_of_the_rounds():
    faults = NetworkFaults(speeds={1: 0.25, 4: 0.5})
    simulation = simulate(problem_of(), Consensus(), faults=faults)
    simulation.network.run(400)
    steps = simulation.network.sites()[:, 1]
    np.testing.assert_array_equal(steps, [400, 100, 400, 400, 200, 400])
    apart = simulate(problem_of(), Consensus(), faults=faults, talking=Talking(asynchronous=True))
    apart.network.run(2000)
    steps = apart.network.sites()[:, 1]
    assert 400 < steps[1] < 600
    assert 1800 < steps[0] < 2200


@pytest.mark.parametrize("method", [Consensus(), Tracking()], ids=lambda m: m.name)
def test_slow_sites_delay_the_optimum_and_do_not_move_it(method):
    faults = NetworkFaults(speeds={0: 0.1, 3: 0.3})
    slow = simulate(problem_of(skewed=True), method, faults=faults)
    slow.run(6000)
    assert relative_gap(slow) < 1e-4


def test_rows_of_slow_sites_count_in_full():
    # A site steps as far in one round of four as the others do in all four together.
    faults = NetworkFaults(speeds={5: 0.25})
    problem = problem_of()
    quick = simulate(problem, Gadget(batch_size=None), "complete")
    slow = simulate(problem, Gadget(batch_size=None), "complete", faults=faults)
    for each in (quick, slow):
        each.run(3000)
    assert relative_gap(slow) < relative_gap(quick) + 3e-3


def test_nothing_is_lost_to_slow_sites():
    simulation = averaging(VALUES, "ring", faults=NetworkFaults(speeds={2: 0.05}))
    simulation.network.run(1000)
    expected = np.append(VALUES.sum(axis=0), SITES)
    np.testing.assert_allclose(simulation.network.total(), expected, atol=1e-9)
    means = np.tile(VALUES.mean(axis=0), (SITES, 1))
    np.testing.assert_allclose(simulation.network.models(), means, atol=1e-6)


def test_all_of_it_at_once():
    faults = NetworkFaults(loss=0.2, delay=2, speeds={2: 0.3})
    simulation = simulate(problem_of(), Consensus(), MATCHINGS, faults=faults, rule="gap")
    simulation.run(10_000)
    assert simulation.network.stopped
    assert relative_gap(simulation) < 1e-3


BAD_SPEEDS = {
    "a list": ([1.0, 0.5], "`speeds` must have the speed of each slow site, such as {3: 0.25}"),
    "zero": ({1: 0.0}, "A speed must be in (0, 1], a share of the rounds; got 0.0 for site 1."),
    "fast": ({1: 2}, "A speed must be in (0, 1], a share of the rounds; got 2 for site 1."),
    "nobody": ({6: 0.5}, "A site of `speeds` must be a number from 0 to 5"),
}


@pytest.mark.parametrize("case", BAD_SPEEDS)
def test_impossible_speeds_are_refused(case):
    speeds, message = BAD_SPEEDS[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        NetworkFaults(speeds=speeds).check(SITES)


def test_a_matrix_may_give_the_shares():
    shares = np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.9, 0.0, 0.1]])
    link, own = graph_of(shares, 3).weights("given")
    np.testing.assert_allclose(link, [0.5, 0.0, 0.2, 0.6, 0.9, 0.0])
    np.testing.assert_allclose(own, np.diag(shares))
    values = VALUES[:3]
    simulation = averaging(values, shares, talking=Talking(weights="given"))
    simulation.network.run(4)
    total, mass = values, np.ones(3)
    for _ in range(4):
        total, mass = shares.T @ total, shares.T @ mass
    np.testing.assert_allclose(simulation.network.models(), total / mass[:, None])
    with pytest.raises(ValueError, match="must have the shares as entries of the matrix"):
        graph_of("ring", 3).weights("given")
    with pytest.raises(ValueError, match="sum to at most 1 beside the diagonal"):
        graph_of(2 * shares, 3).weights("given")


def printed_reference(problem, matrix, rounds):
    """Algorithm 3 with all rows of a site a step; Push-Sum begins anew every time."""
    parts, total = parts_of(problem), problem.n_rows
    models = np.zeros((len(parts), problem.size))
    for t in range(1, rounds + 1):
        for i, (X, y) in enumerate(parts):
            models[i] *= 1.0 - 1.0 / t
            if len(y):
                short = y * (X @ (models[i] / (1.0 - 1.0 / t) if t > 1 else models[i])) < 1.0
                pull = problem.constants.bound * (y * short) @ X
                models[i] += total / (t * len(y)) * pull
        models = (matrix.T @ models) / (matrix.T @ np.ones(len(parts)))[:, None]
    return models


@pytest.mark.parametrize("weights", ["metropolis", "random_walk"])
def test_gadget_as_printed(weights):
    problem = problem_of("hinge")
    talking = Talking(weights=weights)
    simulation = simulate(problem, PrintedGadget(batch_size=None), "star", talking=talking)
    simulation.network.run(20)
    matrix = reference.weight_matrix(simulation.topology, weights)
    expected = printed_reference(problem, matrix, 20)
    np.testing.assert_allclose(simulation.network.models(), expected, rtol=1e-9, atol=1e-12)


def test_gadget_as_printed_sends_half_to_one_neighbour_and_stops_by_the_norm():
    simulation = Simulation(
        problem_of("hinge"),
        starts(),
        graph_of("ring", SITES),
        PrintedGadget(),
        Talking(partners="one"),
        stopping=Stopping("norm", epsilon=1e-2),
    )
    simulation.run(20_000)
    assert simulation.network.stopped
    assert simulation.network.messages == simulation.network.round * SITES


def test_projection_keeps_printed_models_in_the_ball():
    problem = problem_of("hinge", C=10.0)
    radius = np.sqrt(10.0 * problem.n_rows)
    free = simulate(problem, PrintedGadget())
    held = simulate(problem, PrintedGadget(project=True))
    for each in (free, held):
        each.network.run(2)
    assert np.linalg.norm(free.network.models(), axis=1).max() > radius
    assert np.linalg.norm(held.network.models(), axis=1).max() <= radius * (1 + 1e-12)


def test_what_is_not_printed_is_refused():
    with pytest.raises(ValueError, match="must have `loss`='hinge'"):
        simulate(problem_of("odm"), PrintedGadget())
    for settings in (
        {"faults": NetworkFaults(loss=0.1)},
        {"faults": NetworkFaults(speeds={1: 0.5})},
        {"talking": Talking(asynchronous=True)},
    ):
        with pytest.raises(ValueError, match=r"no faults but `lies`.*Take 'gadget'"):
            simulate(problem_of("hinge"), PrintedGadget(), **settings)


def test_a_thousand_sites():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 5))
    label = np.where(X[:, 0] + 0.5 * rng.standard_normal(4000) > 0, 1, -1).astype(np.int8)
    problem = LinearProblem(X, label, problem_of("hinge", C=0.01).constants)
    start = np.arange(0, 4001, 4)
    graph = graph_of(("random_regular", {"degree": 4}), 1000)
    simulation = Simulation(problem, start, graph, Consensus(), stopping=Stopping("gap", 1e-2))
    simulation.run(2000)
    assert simulation.network.stopped
    assert relative_gap(simulation) < 1e-2
