"""The benchmark of AutoClassifier: its sets and its tables."""

from __future__ import annotations

import pytest
from benchmarks.speed.auto.contestants import CONTESTANTS
from benchmarks.speed.auto.page import complete, page
from benchmarks.speed.auto.sets import SETS, drawn


def cells(accuracy: dict[str, float]) -> dict[str, dict[str, object]]:
    sizes = {"rows": 105, "features": 4, "classes": 3, "chosen": "SVM, rbf"}
    return {
        f"{name}/{who}": {
            **sizes,
            "accuracy": accuracy[who],
            "fit_seconds": 2.0,
            "cpu_seconds": 3.0,
        }
        for name in ("iris", "wine")
        for who in CONTESTANTS
    }


def test_there_are_twenty_sets():
    assert len(SETS) == 20


def test_rows_are_drawn_alike_and_apart():
    first, again = drawn("iris"), drawn("iris")
    assert (first.X == again.X).all()
    assert len(first.y) == 105
    assert len(first.y_test) == 45
    assert len(drawn("digits", 100).y) == 100


def test_tables_compare_complete_sets_only():
    found = cells({"auto": 0.9, "grid": 0.8, "lightgbm": 0.7})
    del found["wine/grid"]
    assert complete(found) == ["iris"]
    tables = {name: list(rows) for name, _, rows in page(found)}
    summary = {row[0]: row[1:] for row in tables["auto_summary"]}
    assert summary["Mean accuracy, 1 sets"] == ["90.00", "80.00", "70.00"]
    assert summary["Best or equal, sets"] == ["1", "0", "0"]
    assert summary["Seconds of all fits"] == ["2", "2", "2"]
    assert len(tables["auto_sets"]) == len(SETS)
    assert tables["auto_sets"][1][5] == "–"


@pytest.mark.parametrize("name", CONTESTANTS)
def test_contestants_can_be_made(name):
    if name == "lightgbm":
        pytest.importorskip("lightgbm")
    data = drawn("iris")
    assert hasattr(CONTESTANTS[name].make(data.X), "fit")
