"""Real sites with differential privacy: what they send, spend, refuse and export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.sites.neighbour_attack import attack_on_private, binary_rows, site_of
from site_folders import Folders
from test_participants import Network

import widemargin
from widemargin.gossip import PrivacyAccount
from widemargin.gossip.privacy import epsilon_of, mu_of
from widemargin.sites.network.wire import decode
from widemargin.sites.settings import ConfigError

PRIVATE = {"solver": "private", "epsilon": 3.0, "row_norm": 4.0, "releases": 30, "C": 1.0}
ROWS = binary_rows(1200)


def network(tmp_path: Path, **changes: Any) -> Network:
    return Network(Folders(tmp_path, *ROWS, 3, {**PRIVATE, **changes}))


def test_private_sites_learn_and_stop_releasing(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(30 * 2 + 40)
    for k, member in enumerate(sites.members):
        assert member.budget is not None
        status = member.budget.status()
        assert status["releases_made"] == 30
        assert status["epsilon_spent"] == pytest.approx(3.0)
        assert sites.events.count((k, "privacy_budget_spent")) == 1
        w = member.site.model()
        assert np.mean((ROWS[0] @ w[:-1] + w[-1] > 0) == (ROWS[1] > 0)) > 0.8
    before = [m.site.releases for m in sites.members]  # type: ignore[union-attr]
    sites.all_round(50)
    assert [m.site.releases for m in sites.members] == before  # type: ignore[union-attr]
    assert all(m.site.content for m in sites.members)
    sites.check_mass()


def test_no_figure_of_the_rows_is_sent(tmp_path: Path) -> None:
    """Beside the models' sums, messages have figures: these must not depend on rows."""
    sites = network(tmp_path)
    sites.all_round(20)
    member = sites.members[0]
    for data in member.round().values():
        frame = decode(
            data,
            agreement=member.local.agreed.digest,
            dimension=member.local.problem.size,
            count=member.message_sizes,
        )
        figures = frame.numbers[member.site.body_size : -4]  # type: ignore[union-attr]
        np.testing.assert_array_equal(figures, 0.0)


@pytest.mark.parametrize("n_rows", [1, 40])
def test_an_attacker_finds_no_row(tmp_path: Path, n_rows: int) -> None:
    X, y = binary_rows(n_rows)
    for seed in range(5):
        target = site_of(tmp_path / f"{seed}", X, y, 2000, **PRIVATE)
        assert attack_on_private(target, exchanges=150, seed=seed).found == 0


def test_the_same_attack_finds_the_row_where_there_is_hardly_noise(tmp_path: Path) -> None:
    X, y = binary_rows(1)
    settings = {**PRIVATE, "epsilon": 1e5}
    target = site_of(tmp_path / "site", X, y, 2000, **settings)
    assert attack_on_private(target, exchanges=150).found == 1


def test_noise_differs_after_a_restart(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(3)
    one = sites.members[0]
    one.save()  # else what was read since the last round would be forgotten
    sites.kill(0)
    two = sites.members[0]
    np.testing.assert_array_equal(one.site.model(), two.site.model())
    for _ in range(4):
        one.site.step()
        two.site.step()
    assert one.site.releases == two.site.releases  # type: ignore[union-attr]
    assert np.abs(one.site.model() - two.site.model()).min() > 0.0


def test_what_is_spent_is_on_disk_before_it_is_told(tmp_path: Path) -> None:
    sites = network(tmp_path)
    account = PrivacyAccount(3.0, 1e-6, 30, 4.0)
    for _ in range(10):
        sites.round(0)
        spent = json.loads((sites.folders.folder(0) / "privacy.json").read_text())["mu_squared"]
        made = sites.members[0].site.releases  # type: ignore[union-attr]
        assert spent == pytest.approx(made / account.noise**2)
        assert epsilon_of(np.sqrt(spent), 1e-6) == pytest.approx(account.spent(made), abs=1e-9)
    assert made == 5


def test_a_restart_spends_nothing_anew(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(20)
    made = sites.members[1].site.releases  # type: ignore[union-attr]
    for _ in range(5):
        sites.kill(1)
    assert sites.members[1].site.releases == made  # type: ignore[union-attr]


@pytest.mark.parametrize("how", ["lost", "older", "other rows", "other settings"])
def test_a_lost_state_does_not_begin_anew(tmp_path: Path, how: str) -> None:
    sites = network(tmp_path)
    sites.all_round(12)
    folder = sites.folders.folder(0)
    old = (folder / "state.wms").read_bytes()
    sites.all_round(12)
    if how == "lost":
        (folder / "state.wms").unlink()
    elif how == "older":
        (folder / "state.wms").write_bytes(old)
    elif how == "other rows":
        np.savez(folder / "rows.npz", X=ROWS[0][1::3], y=ROWS[1][1::3])
    else:
        sites.folders.settings["C"] = 0.5
        sites.folders.write(0)
    with pytest.raises(ConfigError, match="after_lost_state"):
        sites.start(0)
    sites.folders.settings["after_lost_state"] = "go_on"
    sites.folders.write(0)
    again = sites.start(0)
    assert again.site.releases == 12  # type: ignore[union-attr]
    for _ in range(60):
        again.round()
    assert again.budget is not None
    assert again.site.releases == 30  # type: ignore[union-attr]
    assert again.budget.status()["epsilon_spent"] == pytest.approx(3.0)


def test_an_old_copy_of_everything_is_found_out_and_releases_no_more(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(10)
    folder = sites.folders.folder(0)
    old = {name: (folder / name).read_bytes() for name in ("state.wms", "privacy.json")}
    sites.all_round(20)
    for name, data in old.items():
        (folder / name).write_bytes(data)
    sites.kill(0)
    sites.all_round(10)
    assert (0, "privacy_budget_unknown") in sites.events
    assert sites.members[0].site.releases == 30  # type: ignore[union-attr]


def test_a_smaller_budget_counts_what_was_spent(tmp_path: Path) -> None:
    sites = network(tmp_path, after_lost_state="go_on")
    sites.all_round(80)
    sites.folders.settings["epsilon"] = 6.0
    sites.folders.write(0)
    again = sites.start(0)
    for _ in range(80):
        again.round()
    assert again.budget is not None
    spent = again.budget.status()["epsilon_spent"]
    assert 3.0 < spent <= 6.0
    assert mu_of(6.0, 1e-6) > mu_of(3.0, 1e-6)


def test_a_damaged_account_is_refused(tmp_path: Path) -> None:
    sites = network(tmp_path)
    (sites.folders.folder(0) / "privacy.json").write_text("{}")
    with pytest.raises(ConfigError, match="damaged"):
        sites.start(0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"C": [0.1, 1.0]}, "one value of `model.C`"),
        ({"holdout": 0.2}, "one value of `model.C`"),
        ({"delta": 2.0}, "delta"),
    ],
)
def test_what_would_let_out_more_is_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        network(tmp_path, **changes)


def test_the_exported_model_says_what_was_spent(tmp_path: Path) -> None:
    sites = network(tmp_path)
    sites.all_round(40)
    member = sites.members[0]
    assert member.budget is not None
    model = member.local.exported(member.site, False, member.budget.status())
    model.save(tmp_path / "model.wm")
    again = widemargin.load_model(tmp_path / "model.wm")
    assert again.privacy_["releases_made"] == 20
    assert 0.0 < again.privacy_["epsilon_spent"] < 3.0
    assert np.isnan(again.dual_gap_)


def test_three_classes_share_a_budget(tmp_path: Path) -> None:
    X, y = ROWS[0], np.arange(1200) % 3
    settings = {**PRIVATE, "classes": [0, 1, 2]}
    sites = Network(Folders(tmp_path, X, y, 3, settings))
    sites.all_round(5)
    budget = sites.members[0].budget
    assert budget is not None
    assert budget.account.problems == 3
    assert budget.account.noise == pytest.approx(
        np.sqrt(3) * PrivacyAccount(3.0, 1e-6, 30, 4.0).noise
    )
