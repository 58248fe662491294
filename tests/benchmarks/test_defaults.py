"""The race of classifiers with their defaults."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from benchmarks.race.data import DataSet
from benchmarks.race.store import Store
from benchmarks.speed.defaults import contest, sets
from benchmarks.speed.defaults.__main__ import main

OURS = ["--without", "intelex", "lightgbm", "--quick"]


def test_splits_are_scaled_and_complete() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) * [1.0, 100.0, 0.01]
    X[5, 1] = np.nan
    named = sets.NamedSet("toy", "toy", lambda: DataSet(X, np.arange(200) % 3))
    found = list(named.splits(quick=False))
    assert len(found) == 10
    for split in found:
        np.testing.assert_allclose(split.X.std(axis=0), 1.0)
        assert np.isfinite(split.X_test).all()
        assert (len(split.y), len(split.y_test)) == (140, 60)


def test_large_sets_are_drawn_from() -> None:
    many = DataSet(np.random.default_rng(0).normal(size=(20_001, 1)), np.arange(20_001) % 2)
    for split in sets.NamedSet("toy", "toy", lambda: many).splits(quick=False):
        assert len(split.y) + len(split.y_test) == sets.DRAWN_ROWS


def test_a_run_is_stored_continued_and_shown(tmp_path, capsys: pytest.CaptureFixture) -> None:
    file = ["--results", str(tmp_path / "r.json")]
    main([*OURS, *file, "--only", "sklearn/iris", "sklearn/breast_cancer"])
    assert "sklearn/iris/svm: " in capsys.readouterr().out
    main([*OURS, *file, "--only", "sklearn/iris"])
    assert capsys.readouterr().out == ""  # measured already
    cells = Store(tmp_path / "r.json").cells
    assert {name.rpartition("/")[2] for name in cells} == {"svc", "svm", "odm"}
    assert all(0.8 < cell["accuracy"] <= 1.0 for cell in cells.values())
    main(["render", *file, "--to", str(tmp_path)])
    with (tmp_path / "defaults.csv").open(encoding="utf-8") as stream:
        _, *rows = csv.reader(stream)
    assert [row[0] for row in rows] == ["sklearn/breast_cancer", "sklearn/iris"]
    with (tmp_path / "defaults_summary.csv").open(encoding="utf-8") as stream:
        titles = [row[0] for row in csv.reader(stream)]
    assert "mean accuracy, all sets (2)" in titles
    assert (tmp_path / "defaults_machine.csv").exists()


def test_what_is_lost_is_shown() -> None:
    facts = {"rows": 100, "features": 2, "classes": 2, "splits": 1}
    facts |= {"cpu_seconds": 0.1, "predict_cpu_seconds": 0.1}
    cells = {
        f"{name}/{who}": {**facts, "accuracy": accuracy}
        for name, scores in (("one", (0.9, 0.87)), ("two", (0.8, 0.81)))
        for who, accuracy in zip(("svc", "svm"), scores, strict=True)
    }
    shown = {name: list(rows) for name, _, rows in contest.tables(cells)}
    assert [row[-1] for row in shown["defaults"]] == ["**-3.00**", "+1.00"]
    by_title = {row[0]: row[1:3] for row in shown["defaults_summary"]}
    assert by_title["mean difference from SVC, points"] == ["–", "-1.00"]
    assert by_title["lowest difference, points"] == ["–", "-3.00"]
