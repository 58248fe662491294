"""What a site says of its classes and of the choice of C; and three processes that do it all."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pretended import status
from test_choice import VALUES, choice_of, network, noisy, until_chosen
from test_columns import three_classes
from test_metrics import samples
from test_site_cli_tables import drawn

from widemargin.cli.status_table import site_view
from widemargin.gossip import graph_of
from widemargin.sites.fleet import LocalFleet
from widemargin.sites.status import metrics_text
from widemargin.sites.training.column_status import choice_figures, class_figures, gap_figures

FIGURES: dict[str, Any] = {
    "classes": [
        {"label": 'ash"', "n_rows": 7, "estimated_gap": 0.25, "content": False, "distance": None},
        {"label": "oak", "n_rows": 0, "estimated_gap": 1e-4, "content": True, "distance": 0.5},
    ],
    "scores": [
        {"C": 0.1, "held_out_accuracy": 0.75},
        {"C": 10.0, "held_out_accuracy": None},
    ],
    "scores_settled": True,
    "C": None,
}


def test_metrics_have_labels_for_classes_and_values() -> None:
    found = samples(metrics_text(status(**FIGURES), "s"))
    assert found["class_rows", 'site="s",class="ash\\""'] == 7
    assert found["class_content", 'site="s",class="oak"'] == 1
    assert ("class_distance", 'site="s",class="ash\\""') not in found
    assert found["held_out_accuracy", 'site="s",C="0.1"'] == 0.75
    assert ("held_out_accuracy", 'site="s",C="10.0"') not in found
    assert found["scores_settled", 'site="s"'] == 1
    assert ("chosen_C", 'site="s"') not in found


def test_a_terminal_shows_classes_and_scores() -> None:
    text = drawn(site_view(status(**FIGURES)))
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert ["oak", "content", "0", "1.0e-04", "5.0e-01"] in lines
    assert ["0.1", "0.7500"] in lines
    assert "waiting for the other sites" in text
    chosen = drawn(site_view(status(**{**FIGURES, "C": 0.1})))
    assert ["0.1", "chosen", "0.7500"] in [line.split() for line in chosen.splitlines()]
    assert "classes" not in drawn(site_view(status()))


def test_figures_follow_the_choice(tmp_path: Path) -> None:
    X, y = three_classes(240)
    sites = network(tmp_path, X, y, 3)
    member = sites.members[0]
    before = choice_figures(member.site)
    assert before["C"] is None
    assert not before["scores_settled"]
    assert [each["C"] for each in before["scores"]] == VALUES
    chosen = until_chosen(sites)
    after = choice_figures(member.site)
    assert after["C"] == choice_of(member).values[chosen]
    classes = class_figures(member.local, member.site)["classes"]
    assert [each["label"] for each in classes] == [0, 1, 2]
    assert sum(each["n_rows"] for each in classes) == member.local.n_rows
    json.dumps([before, after, classes], allow_nan=False)


@pytest.mark.parametrize(
    ("estimate", "gap", "content"),
    [(5e-4, 5e-4, True), (-1e-5, 0.0, True), (-0.3, None, False), (float("nan"), None, True)],
)
def test_a_negative_gap_is_none_and_nobody_is_content(
    estimate: float, gap: float | None, content: bool
) -> None:
    """As after the death of a site: the sums of the others lack its share."""
    site: Any = SimpleNamespace(estimate=estimate, content=True)
    assert gap_figures(site, tol=1e-3) == {"estimated_gap": gap, "content": content}


def test_two_classes_and_one_value_say_nothing_more(tmp_path: Path) -> None:
    member = network(tmp_path, *noisy(200), C=0.1).members[0]
    assert class_figures(member.local, member.site) == {}
    assert choice_figures(member.site) == {}


def test_three_processes_choose_and_agree_though_one_is_killed(tmp_path: Path) -> None:
    X, y = three_classes(600)
    order = np.argsort(y, kind="stable")  # hardly a site has all classes
    parts = [(X[here], y[here]) for here in np.array_split(order, 3)]
    settings = {
        "C": [0.001, 1.0],
        "kernel": "rbf",
        "gamma": 0.1,
        "n_components": 60,
        "tol": 5e-3,
        "sync": False,
        "heartbeat": 0.3,
    }
    with LocalFleet(tmp_path, parts, graph_of("ring", 3), settings) as fleet:
        for site in fleet.sites:
            fleet.start(site)
        deadline, killed = time.monotonic() + 240, False
        while time.monotonic() < deadline:
            seen = fleet.statuses()
            if not killed and all(each and each["rounds"] > 5 for each in seen.values()):
                fleet.kill(fleet.sites[1])
                fleet.start(fleet.sites[1])
                killed = True
            if killed and all(each and each["agreed"] for each in seen.values()):
                break
            time.sleep(0.2)
        else:
            pytest.fail(str([fleet.last_output(site) for site in fleet.sites]))
        assert {each["C"] for each in seen.values() if each} == {1.0}
        for site in fleet.sites:
            model = fleet.model(site)
            assert model[-1].coef_.shape == (3, 60)
            assert model.score(X, y) > 0.9
