"""Draws by seed: exact words, their distribution, and streams that have nothing in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from widemargin.core.random_draws import Draws, shuffled

WORDS_OF_SEED_0 = [12035550249420947055, 12935080325729570654, 7141179953334974231]
WORDS_OF_SEED_7 = [11278381511437956102, 17716545681467632064]


def test_words_are_those_of_every_machine():
    # Written down once; another generator, seed rule or order would map rows differently at
    # every site and in every saved model.
    assert Draws(0).words(0, 3).tolist() == WORDS_OF_SEED_0
    assert Draws(7).words(2, 2, 1).ravel().tolist() == WORDS_OF_SEED_7


def test_words_by_pure_python():
    def mixed(x):
        mask = 2**64 - 1
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    golden = 0x9E3779B97F4A7C15
    start = mixed((5 + 4 * golden) % 2**64)
    wanted = [mixed((start + (k + 1) * golden) % 2**64) for k in range(10)]
    assert Draws(5).words(3, 10).tolist() == wanted


@pytest.mark.parametrize("seed", [0, 1, 2**31])
def test_distributions(seed):
    draws, n = Draws(seed), 20_000
    assert stats.kstest(draws.uniform(0, n), "uniform").pvalue > 1e-3
    assert stats.kstest(draws.normal(1, n), "norm").pvalue > 1e-3
    signs = draws.signs(2, n)
    assert set(signs) == {-1.0, 1.0}
    assert abs(signs.mean()) < 4 / np.sqrt(n)
    counts = np.bincount(draws.below(7, 3, n), minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_streams_and_seeds_are_unrelated():
    n = 5_000
    columns = [Draws(s).normal(k, n) for s in (0, 1) for k in (0, 1, 2)]
    correlation = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlation).max() < 4.5 / np.sqrt(n)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 1000, 4096, 4097])
def test_a_shuffle_is_an_order(size):
    places = np.arange(size)
    found = shuffled(places, size, [3, 1])
    np.testing.assert_array_equal(np.sort(found), places)
    some = places[:: max(1, size // 7)]
    np.testing.assert_array_equal(shuffled(some, size, [3, 1]), found[some])
    if size > 5:
        assert not np.array_equal(found, shuffled(places, size, [3, 2]))
        assert not np.array_equal(found, shuffled(places, size, [4, 1]))


def test_a_shuffle_is_even():
    """Where numbers go does not follow from where they were, nor from their neighbours."""
    n = 20_000
    found = shuffled(np.arange(n), n, [0, 0])
    assert abs(np.corrcoef(found, np.arange(n))[0, 1]) < 0.03
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.03
    for of in (2, 7, 64):
        same = np.mean(found[1:] % of == found[:-1] % of)
        assert same == pytest.approx(1 / of, abs=4 * np.sqrt(1 / of / n))


def test_a_shuffle_of_nothing():
    assert shuffled(np.zeros(0, dtype=np.int64), 0, [0]).size == 0


def test_a_shuffle_refuses_numbers_beyond_it():
    with pytest.raises(ValueError, match="below 5; got 5"):
        shuffled(np.array([1, 5]), 5, [0])
