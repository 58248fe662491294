"""Early levels against the exact fit: settings chosen on training rows alone, and the page."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race.data import DataSet
from benchmarks.race.store import Store
from benchmarks.speed import early_levels


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> DataSet:
    X, y = make_moons(1500, noise=0.2, random_state=0)
    X = X.astype(np.float32)
    split = DataSet(X[:1000], y[:1000], X[1000:], y[1000:])
    monkeypatch.setattr(early_levels, "data_of", lambda name, quick: split)
    monkeypatch.setitem(early_levels.CANDIDATES, "SODM", [(2, 8), (4, 8), (500, 8)])
    monkeypatch.setitem(early_levels.CANDIDATES, "DC-SVM", [(4, 100)])
    return split


@pytest.mark.parametrize(
    ("accuracies", "chosen"),
    [((0.95, 0.97), 4), ((0.9, 0.97), 2), ((0.9, 0.91), 4)],
    ids=["fastest near", "near only", "none near"],
)
def test_the_fastest_near_enough_is_chosen_on_training_rows(
    rows: DataSet, monkeypatch: pytest.MonkeyPatch, accuracies: tuple[float, ...], chosen: int
) -> None:
    seconds = {1: 9.0, 2: 5.0, 4: 1.0}
    by_parts = {1: 0.95, 2: accuracies[1], 4: accuracies[0]}
    if chosen == 4 and accuracies[0] < 0.95:
        by_parts = {1: 0.99, 2: accuracies[0], 4: accuracies[1]}

    def fitted(model: Any, inner: DataSet) -> dict[str, float]:
        training = {tuple(row) for row in rows.X.tolist()}
        seen = [tuple(row) for X in (inner.X, inner.X_test) for row in X.tolist()]
        assert set(seen) == training
        assert len(seen) == len(training)
        assert len(inner.y_test) == 200
        strategy = model.strategy
        parts = 1 if strategy == "exact" else strategy.fan_in
        return {"accuracy": by_parts[parts], "cpu_seconds": seconds[parts]}

    monkeypatch.setattr(early_levels, "fitted", fitted)
    found = early_levels.choose("ijcnn1", "SODM", rows)
    assert found["chosen"]["parts"] == chosen
    assert [each["parts"] for each in found["tried"]] == [2, 4]  # 500 parts are too many


def test_measures_and_writes_its_page(rows: DataSet, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    run = ["--only", "cod-rna", "--repeats", "2", "--results", str(results)]
    early_levels.main(run)
    early_levels.main(["render", "--results", str(results), "--to", str(tmp_path)])
    with open(tmp_path / "early_levels.csv", newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == early_levels.COLUMNS
    cells = Store(results).cells
    parts = cells["cod-rna/SODM/choice"]["chosen"]["parts"]
    assert [line[5] for line in lines] == [f"SODM, {parts} parts", "DC-SVM, 4 clusters"]
    for line, method in zip(lines, early_levels.METHODS, strict=True):
        assert line[7] == f"{cells[f'cod-rna/{method}']['early_accuracy']:.4f}"
        assert float(line[7]) > 0.9
    assert (tmp_path / "early_levels_machine.csv").exists()
