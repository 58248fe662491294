"""C chosen by held-out rows of all sites: the same value everywhere, whatever happens."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from site_folders import Folders, generated_rows
from test_columns import excess, three_classes
from test_participants import Network

from widemargin import LinearSVMClassifier, load_model, save
from widemargin.sites.config import ConfigError
from widemargin.sites.network.wire import FrameError, decode, encode
from widemargin.sites.training.choice import Choice
from widemargin.sites.training.scores import Scores, held_out_rows

VALUES = [0.003, 0.1, 10.0]


def noisy(n_rows: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X, y = generated_rows(n_rows, 30, 3)
    return X, np.where(rng.random(n_rows) < 0.15, -y, y)


def network(path: Path, X: Any, y: Any, n_sites: int = 4, **options: Any) -> Network:
    faults = options.pop("faults", {})
    classes = np.unique(y).tolist()
    settings = {"C": VALUES, "classes": classes, **options}
    return Network(Folders(path, X, y, n_sites, settings), **faults)


def choice_of(member: Any) -> Choice:
    assert isinstance(member.site, Choice)
    return member.site


def until_chosen(sites: Network, most: int = 1500) -> int:
    for _ in range(most):
        sites.all_round()
        chosen = {choice_of(member).chosen for member in sites.members}
        if None not in chosen:
            assert len(chosen) == 1
            return int(chosen.pop() or 0)
    raise AssertionError([choice_of(m).scores.saved() for m in sites.members])


def pooled_scores(sites: Network) -> list[float]:
    """Accuracies of models of all rows that are not held out, on those that are."""
    folders = sites.folders
    mask = np.zeros(len(folders.y), dtype=bool)
    for k, member in enumerate(sites.members):
        mask[k :: len(sites.members)] = member.local.held_out
    X, y = folders.X, folders.y
    return [
        float(
            LinearSVMClassifier(loss="hinge", C=C, tol=1e-4, max_iter=10_000)
            .fit(X[~mask], y[~mask])
            .score(X[mask], y[mask])
        )
        for C in VALUES
    ]


def test_sites_choose_as_if_rows_were_pooled(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy())
    expected = pooled_scores(sites)
    chosen = until_chosen(sites)
    for member in sites.members:
        np.testing.assert_allclose(choice_of(member).table, expected, atol=0.03)
    assert expected[chosen] >= max(expected) - 0.02
    # They go on with all rows, and agree on the optimum for this value.
    sites.until_agreed(1500)
    sites.folders.settings["C"] = VALUES[chosen]
    assert sites.excess < 0.01
    sites.check_mass()
    sites.check_nothing_is_missing()


def test_the_chosen_problems_are_continued(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy())
    chosen = until_chosen(sites)
    sites.folders.settings["C"] = VALUES[chosen]
    # Far below what a new network would have after as few rounds.
    assert sites.excess < 0.1
    steps = {member.site.steps for member in sites.members}
    assert min(steps) > 40


def test_several_classes_loss_and_kills(tmp_path: Path) -> None:
    X, y = three_classes(300)
    sites = network(tmp_path, X, y, 3, faults={"loss": 0.2, "delay": 0.2, "repeat": 0.2})
    sites.all_round(20)
    sites.kill(1)
    chosen = until_chosen(sites)
    sites.until_agreed(2000)
    sites.folders.settings["C"] = VALUES[chosen]
    assert excess(sites) < 0.01
    sites.check_mass()


def test_a_site_that_lost_its_state_takes_over_the_choice(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy())
    chosen = until_chosen(sites)
    sites.lose(2)
    assert choice_of(sites.members[2]).chosen is None
    sites.all_round(4)
    assert choice_of(sites.members[2]).chosen == chosen
    sites.until_agreed(1500)
    sites.check_nothing_is_missing()


def test_both_phases_survive_a_restart_bit_for_bit(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy())
    for phase in (None, until_chosen(sites)):
        if phase is None:
            sites.all_round(30)
        before = sites.members[1]
        before.save()
        sites.kill(1)
        after = sites.members[1]
        for _ in range(3):
            assert before.round() == after.round()
        assert before.site.save() == after.site.save()


@pytest.mark.parametrize("seed", range(3))
def test_the_smaller_value_wins_where_choices_differ(tmp_path: Path, seed: int) -> None:
    sites = network(tmp_path, *noisy(), seed=seed)
    sites.all_round(15)
    draw = random.Random(seed)
    forced = [draw.randrange(3) for _ in sites.members]
    for member, value in zip(sites.members, forced, strict=True):
        choice_of(member).choose(value)
    sites.faults = {"loss": 0.3, "delay": 0.3}
    sites.all_round(40)
    assert {choice_of(m).chosen for m in sites.members} == {min(forced)}
    sites.check_mass()
    sites.until_agreed(2000)
    sites.folders.settings["C"] = VALUES[min(forced)]
    assert sites.excess < 0.01
    sites.check_nothing_is_missing()


def test_one_value_with_held_out_rows_is_scored(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy(), C=0.1, holdout=0.25)
    assert until_chosen(sites) == 0
    sites.until_agreed(1500)
    sites.folders.settings["C"] = 0.1
    assert sites.excess < 0.01


def test_the_exported_model_has_the_choice_and_the_scores(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy())
    early = sites.members[0].local.exported(sites.members[0].site, False)
    assert not early.converged_
    chosen = until_chosen(sites)
    member = sites.members[0]
    save(member.local.exported(member.site, True), tmp_path / "model.wm")
    model = load_model(tmp_path / "model.wm")
    assert pytest.approx(VALUES[chosen], rel=1e-15) == model.C
    np.testing.assert_array_equal(model.history_["C"], VALUES)
    np.testing.assert_array_equal(model.history_["held_out_accuracy"], choice_of(member).table)


def test_scores_out_of_bounds_and_false_marks_are_refused(tmp_path: Path) -> None:
    sites = network(tmp_path, *noisy())
    sites.all_round(5)
    member, sender = sites.members[0], sites.members[1]
    data = sender.round()[member.public_key]

    def changed(at: int, value: float) -> str | None:
        frame = decode(
            data,
            agreement=member.config.agreement,
            dimension=member.local.problem.size,
            count=member.message_sizes,
        )
        frame.numbers[at] = value
        before = dict(member.links.by_key[sender.public_key].reasons)
        member.receive(sender.public_key, encode(frame))
        after = member.links.by_key[sender.public_key].reasons
        return next((k for k in after if after[k] != before.get(k)), None)

    assert changed(-4, 1.0) == "number"  # a choice in a message of the other size
    assert changed(-4, 0.5) == "number"
    assert changed(-5, 1e12) == "magnitude"
    assert changed(-9, 0.5) == "number"  # the counter of scores
    assert choice_of(member).chosen is None
    assert member.receive(sender.public_key, data)[1]
    for mark in (0.0, 4.0, 1.5, -1.0):
        with pytest.raises(FrameError, match="mark"):
            choice_of(member).choice_in(
                np.r_[np.zeros(min(member.message_sizes) - 4), mark, 0, 1, 1]
            )


def test_held_out_rows_are_a_share_that_the_seed_decides() -> None:
    mask = held_out_rows(20_000, 0.2, 5)
    assert mask.mean() == pytest.approx(0.2, abs=0.01)
    np.testing.assert_array_equal(mask[:7000], held_out_rows(7000, 0.2, 5))
    assert (mask != held_out_rows(20_000, 0.2, 6)).any()
    assert not held_out_rows(100, 0.0, 0).any()


def test_scores_of_all_sites_are_averaged_exactly() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 100, (5, 3))
    sites = [Scores(3, 2, 2) for _ in counts]
    for site, own in zip(sites, counts, strict=True):
        site.report(own.tolist(), 100)
    for _ in range(200):
        for site in sites:
            site.give(np.full(2, 1 / 3), np.zeros(2))
        for k, site in enumerate(sites):
            if rng.random() < 0.7:  # the others are lost
                site.read(0, sites[(k + 1) % 5].write(1))
            if rng.random() < 0.7:
                site.read(1, sites[(k - 1) % 5].write(0))
    for site in sites:
        np.testing.assert_allclose(site.accuracies, counts.sum(axis=0) / 500, atol=1e-9)


def test_settled_scores_count_in_the_end_though_a_problem_is_not_solved() -> None:
    scores = Scores(2, 1, 1)
    scores.report([30, 40], 50)
    scores.heard[:] = 2**20
    alone = np.array([True])
    waited = 0
    while scores.counter == 0:
        scores.note(False, alone)
        waited += 1
        assert waited < 1000
    assert waited > 400
    assert scores.decided == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": []}, "list"),
        ({"C": [1.0, 1.0]}, "list"),
        ({"C": [1.0, -1.0]}, "list"),
        ({"C": [0.1, 1.0], "lam": 0.1}, "lam"),
        ({"holdout": 1.0}, "holdout"),
        ({"holdout": 0}, "holdout"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Folders(tmp_path, *noisy(40), 2, settings).config(0)
