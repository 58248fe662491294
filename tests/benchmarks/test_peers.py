"""The comparison with Flower and NVFlare: rows, our own figures, and the tables that come of it."""

from __future__ import annotations

import csv
import json
import sys

import numpy as np
import pytest
from benchmarks.sites.peers import page
from benchmarks.sites.peers.contest import Goal, answer_of, measure, ours
from benchmarks.sites.peers.rows import Silos, optimum
from sklearn.datasets import make_classification

from widemargin import LinearSVMClassifier


@pytest.fixture(scope="module")
def rows() -> Silos:
    X, y = make_classification(1500, 8, class_sep=0.8, random_state=0)
    sign = np.where(y == 1, 1.0, -1.0)
    return Silos(X[:1000], sign[:1000], np.arange(1000) % 10, X[1000:], sign[1000:], 1e-3)


def test_the_optimum_is_that_of_the_objective(rows: Silos) -> None:
    best = optimum(rows)
    lowest = rows.objective(best[None])[0]
    model = LinearSVMClassifier(loss="hinge", C=rows.C, tol=1e-4).fit(rows.X, rows.y)
    assert lowest == pytest.approx(model.history_["primal"][-1] * rows.lam, rel=1e-3)
    nearby = best + 0.05 * np.random.default_rng(0).standard_normal((20, len(best)))
    assert (rows.objective(nearby) > lowest).all()


def test_ours_comes_near_and_says_when(rows: Silos) -> None:
    cell = ours(rows, Goal(rows, optimum(rows)), "star")
    assert cell["excess"] < 0.01
    assert cell["rounds_objective"] <= cell["rounds_run"] == 200
    assert cell["rounds_accuracy"] <= cell["rounds_run"]
    assert cell["bytes_a_round"] > 18 * 8 * 9


def test_what_does_not_stay_near_is_not_near(rows: Silos) -> None:
    goal = Goal(rows, optimum(rows))
    good, bad = goal.enough + 0.001, goal.enough - 0.001
    found = goal.reached([1, 2, 3, 4], [good, bad, good, good], [goal.lowest] * 4, 10.0)
    assert (found["rounds_accuracy"], found["rounds_objective"]) == (3, 1)
    found = goal.reached([1, 2], [good, bad], [2 * goal.lowest] * 2, 10.0)
    assert (found["rounds_accuracy"], found["rounds_objective"]) == (None, None)


def test_scripts_of_other_interpreters_fail_loudly(rows: Silos, tmp_path) -> None:
    with pytest.raises(SystemExit, match=r"flower_fedavg\.py failed in"):
        answer_of(sys.executable, "flower_fedavg.py", tmp_path / "none.npz", "1")
    cells = measure(rows, None, None)
    assert set(cells) == {"pooled", "consensus ring", "consensus star", "consensus features"}


def test_tables_show_what_leaves_a_site(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(page, "TABLES", tmp_path)
    near = {"accuracy": 0.85, "bytes_a_round": 20_000.0, "rounds_run": 200}
    settings = {"learning_rate": "constant", "eta0": 0.01, "epochs": 5, "alpha": 1e-4}
    cells = {
        "pooled": {"accuracy": 0.8512},
        "consensus ring": {**near, "rounds_accuracy": 5, "rounds_objective": 10},
        "flower": {
            **near,
            "rounds_accuracy": None,
            "rounds_objective": None,
            "settings": settings,
        },
        "nvflare rbf": {"accuracy": 0.8, "bytes": 3_000_000, "rows_sent": 1200, "rows": 3000},
        "nvflare linear": {"error": "site 0: one class"},
    }
    page.write(json.loads(json.dumps({"a9a/alike": cells})))
    with open(tmp_path / "federated.csv") as file:
        lines = list(csv.reader(file))[1:]
    assert lines == [
        ["a9a", "alike", "all rows in one place", "85.12", "–", "–", "–", "all rows"],
        ["a9a", "alike", "ours, ring", "85.00", "5", "0.10", "10", page.VECTORS],
        [
            "a9a",
            "alike",
            "Flower, FedAvg",
            "85.00",
            "not in 200",
            "4.00",
            "not in 200",
            page.MODELS,
        ],
        [
            *("a9a", "alike", "NVFlare SVM, linear", "does not run", "–", "–", "–"),
            "– (a site must have both classes)",
        ],
        [
            *("a9a", "alike", "NVFlare SVM, RBF", "80.00", "1, and done", "3.00", "–"),
            "1,200 of 3,000 rows, with labels",
        ],
    ]
    flower = (tmp_path / "federated_flower.csv").read_text().splitlines()
    assert flower[1] == 'a9a,alike,"constant, 0.01",5,0.0001'
