"""The schedule of matches, and the bundles that play them."""

from itertools import combinations

import numpy as np
import pytest

from widemargin.multiclass.solvers.tournament import bundle_count, bundles_of, rounds


@pytest.mark.parametrize("players", range(2, 66))
def test_every_pair_meets_exactly_once(players):
    met = [match for one_round in rounds(players) for match in one_round]
    assert sorted(met) == sorted(combinations(range(players), 2))


@pytest.mark.parametrize("players", range(2, 66))
def test_nobody_plays_twice_in_a_round(players):
    schedule = rounds(players)
    for one_round in schedule:
        busy = [player for match in one_round for player in match]
        assert len(busy) == len(set(busy))
    assert len(schedule) == players - (players % 2 == 0)


def test_one_player_has_nobody_to_meet():
    assert rounds(1) == []


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_bundles_share_out_classes_and_rows(count):
    class_rows = np.random.default_rng(0).zipf(1.6, 60).clip(max=500)
    bundles = bundles_of(class_rows, count)
    assert sorted(np.concatenate(bundles)) == list(range(60))
    sizes = [len(bundle) for bundle in bundles]
    assert max(sizes) - min(sizes) <= 1
    rows = [class_rows[bundle].sum() for bundle in bundles]
    assert max(rows) - min(rows) <= class_rows.max()


def test_the_number_of_bundles_is_a_matter_of_the_classes():
    assert [bundle_count(k) for k in (2, 3, 4, 255, 256, 2048)] == [2, 3, 4, 4, 8, 16]
