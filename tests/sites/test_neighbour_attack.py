"""What a listed neighbour learns of a site's rows, by the attack and by looking on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.sites.attack_among_others import DEFENCES, InformedAttacker, site_among_others
from benchmarks.sites.neighbour_attack import (
    active_attack,
    binary_rows,
    passive_attack,
    site_of,
)
from site_folders import Folders
from test_participants import Network

from widemargin.data import DataFileError
from widemargin.sites.training.participant import Participant

ROWS = 40
UNLIMITED = 1e12


def test_without_limits_a_neighbour_takes_every_row(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000, max_travel=UNLIMITED)
    findings = active_attack(target, exchanges=800)
    assert findings.found == ROWS
    assert findings.wrong == 0


def test_one_row_shows_without_any_attack(tmp_path: Path) -> None:
    X, y = binary_rows(1)
    findings = passive_attack(site_of(tmp_path / "site", X, y, 2000), exchanges=30)
    assert findings.found == 1


def test_the_limit_stops_the_sweep_and_names_the_neighbour(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    findings = active_attack(target, exchanges=150)
    assert findings.found == 0
    assert findings.refused > 0
    alarms = [fields for event, fields in target.events if event == "neighbour_out_of_limits"]
    assert alarms
    assert alarms[0]["neighbour"] == "attacker"
    assert "max_travel" in alarms[0]["detail"]
    link = target.site.links.by_key[target.key]
    assert link.out_of_limits == findings.refused


def test_a_neighbour_out_of_limits_pulls_no_longer(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    assert active_attack(target, exchanges=150).refused > 0
    alone = site_of(tmp_path / "alone", X, y, 2000)
    for each in (target, alone):
        for _ in range(300):
            each.site.round()
    expected = alone.site.site.model()
    np.testing.assert_allclose(
        target.site.site.model(), expected, atol=0.02 * np.abs(expected).max()
    )


def test_following_a_neighbour_again_uses_up_its_way(tmp_path: Path) -> None:
    """Otherwise an attacker could turn its pull on and off for nothing."""
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    link = target.site.links.by_key[target.key]
    assert link.journeys is not None
    body = np.ones(target.site.site.message_size - 3)
    link.journeys.go({0: body})
    before = link.journeys.left
    link.journeys.go({0: body})
    assert link.journeys.left >= before  # it stays where it is
    link.journeys.begin_again()
    link.journeys.go({0: body})
    assert link.journeys.left < before


def test_a_thrifty_attacker_finds_little_at_a_larger_site(tmp_path: Path) -> None:
    X, y = binary_rows(1000)
    for strength in (10.0, 40.0):
        target = site_of(tmp_path / f"site-{strength}", X, y, 2000)
        assert active_attack(target, exchanges=600, strength=strength).found <= 10


@pytest.mark.parametrize(
    ("defence", "least", "most"),
    [("Neither", 60, 100), ("Robust", 0, 50), ("Limits and robust", 0, 3)],
)
def test_bounded_pulls_hide_rows_where_honest_neighbours_are(
    tmp_path: Path, defence: str, least: int, most: int
) -> None:
    X, y = binary_rows(2100)
    target = site_among_others(tmp_path, X[:100], y[:100], **DEFENCES[defence])
    findings = active_attack(target, exchanges=400, kind=InformedAttacker)
    assert least <= findings.found <= most
    assert findings.wrong == 0


def test_a_neighbour_that_begins_anew_gets_no_new_allowance(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    active_attack(target, exchanges=60, strength=20.0)
    link = target.site.links.by_key[target.key]
    assert link.journeys is not None
    left = link.journeys.left
    assert left < 60
    target.site.links._undo(link)
    assert link.journeys.left < left + 1.0


def test_only_an_orderly_stop_gives_a_new_allowance(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    active_attack(target, exchanges=60, strength=20.0)

    def left(site: Participant) -> float:
        journeys = site.links.by_key[target.key].journeys
        assert journeys is not None
        return journeys.left

    def start() -> Participant:
        return Participant(target.site.local, target.site.public_key, lambda *_, **__: None)

    target.site.save()
    used = left(target.site)
    assert used < 60
    assert left(start()) < used + 1.0
    target.site.put_away()
    assert left(start()) > used + 20.0


def test_a_crash_costs_a_sound_neighbour_nothing(tmp_path: Path) -> None:
    X, y = binary_rows(ROWS)
    target = site_of(tmp_path / "site", X, y, 2000)
    body = np.linspace(0.0, 1.0, target.site.site.message_size - 3)
    before = target.site.links.by_key[target.key].journeys
    assert before is not None
    before.go({0: body})
    target.site.save()
    again = Participant(target.site.local, target.site.public_key, lambda *_, **__: None)
    after = again.links.by_key[target.key].journeys
    assert after is not None
    after.go({0: body})
    assert after.left > before.left - 1e-3


def test_too_few_rows_are_refused_with_advice(tmp_path: Path) -> None:
    X, y = binary_rows(49)
    with pytest.raises(DataFileError, match=r"fewer than `network\.min_rows`, 50"):
        site_of(tmp_path / "site", X, y, 2000, min_rows=50)


@pytest.mark.parametrize("order", ["alike", "one class each"])
@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_sound_neighbours_keep_the_limits(tmp_path: Path, order: str, loss: float) -> None:
    """Also while they start, lose messages, restart, and lose their states."""
    X, y = binary_rows(400)
    if order != "alike":  # site k has the rows k, k + 4, ...
        sorted_rows = np.argsort(y, kind="stable").reshape(4, -1).T.ravel()
        X, y = X[sorted_rows], y[sorted_rows]
    settings = {"C": 1.0, "row_square": 15.0}
    sites = Network(Folders(tmp_path, X, y, 4, settings), loss=loss)
    sites.all_round(120)
    sites.kill(1)
    sites.all_round(30)
    sites.lose(2)
    sites.all_round(120)
    assert not [event for _, event in sites.events if event == "neighbour_out_of_limits"]
    assert sites.excess < 0.05
