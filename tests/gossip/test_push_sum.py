"""Push-Sum keeps what there is, whatever the network does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.gossip import weight_matrix
from widemargin.gossip.averaging import average, averaging
from widemargin.gossip.faults import NetworkFaults
from widemargin.gossip.simulation import Talking

SITES = 8
TOPOLOGIES = ("ring", "complete", "star", "grid")


@st.composite
def troubles(draw):
    """Loss, delay, repetition, and sites that crash, return and leave."""
    schedule = []
    for site in draw(st.lists(st.integers(0, SITES - 1), max_size=3, unique=True)):
        down = draw(st.integers(0, 40))
        schedule.append((down, "crash", site))
        schedule.append((down + draw(st.integers(1, 20)), "return", site))
    return NetworkFaults(
        loss=draw(st.floats(0, 0.7)),
        duplication=draw(st.floats(0, 1)),
        delay=draw(st.integers(0, 5)),
        schedule=schedule,
    )


talks = st.builds(
    Talking,
    partners=st.sampled_from(["all", "one"]),
    exchanges=st.integers(1, 3),
    weights=st.sampled_from(["metropolis", "random_walk"]),
    asynchronous=st.booleans(),
)


def vectors(seed, sites=SITES, size=3):
    return np.random.default_rng(seed).normal(size=(sites, size))


@given(troubles(), talks, st.sampled_from(TOPOLOGIES), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_nothing_is_lost_or_doubled(faults, talking, topology, seed):
    values = vectors(seed)
    network = averaging(values, topology, talking=talking, faults=faults, seed=seed).network
    for _ in range(6):
        network.run(10)
        total = network.total()
        np.testing.assert_allclose(total[:-1], values.sum(axis=0), atol=1e-11)
        assert total[-1] == pytest.approx(SITES, abs=1e-11)


@given(troubles(), talks, st.sampled_from(TOPOLOGIES), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_every_site_learns_the_exact_mean(faults, talking, topology, seed):
    values = vectors(seed)
    means = average(values, topology, rounds=1500, talking=talking, faults=faults, seed=seed)
    np.testing.assert_allclose(means, np.tile(values.mean(axis=0), (SITES, 1)), atol=1e-7)


@given(st.floats(0, 0.5), st.integers(0, 4), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_sites_that_leave_take_nothing_away_and_those_that_join_add_nothing(loss, delay, seed):
    values = vectors(seed)
    faults = NetworkFaults(
        loss=loss, delay=delay, schedule=[(5, "leave", 2), (9, "join", 6), (30, "leave", 0)]
    )
    network = averaging(values, "complete", faults=faults, seed=seed).network
    founders = np.delete(values, 6, axis=0)
    for _ in range(5):
        network.run(10)
        total = network.total()
        np.testing.assert_allclose(total[:-1], founders.sum(axis=0), atol=1e-11)
        assert total[-1] == pytest.approx(SITES - 1, abs=1e-11)
    network.run(400)
    present = network.sites()[:, 0] > 0
    assert present.tolist() == [False, True, False, True, True, True, True, True]
    mean = founders.mean(axis=0)
    np.testing.assert_allclose(network.models()[present], np.tile(mean, (6, 1)), atol=1e-7)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_mean_without_faults_is_that_of_the_weight_matrix(topology):
    values = vectors(3)
    simulation = averaging(values, topology)
    matrix = weight_matrix(simulation.topology)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    simulation.network.run(7)
    expected = np.linalg.matrix_power(matrix.T, 7) @ values
    np.testing.assert_allclose(simulation.network.models(), expected, atol=1e-12)


def test_messages_are_counted():
    network = averaging(vectors(0), "ring", talking=Talking(exchanges=3)).network
    network.run(10)
    assert network.messages == 10 * 3 * SITES * 2
    # Value and mass, figures and theirs, the counter, the message's number, the last one read.
    assert network.message_size == 3 + 1 + 4 + 1 + 3


def test_values_must_be_finite_rows():
    with pytest.raises(ValueError, match="must be finite"):
        average([[np.nan], [1.0]])
    with pytest.raises(ValueError, match="one row per site"):
        average([1.0, 2.0])
