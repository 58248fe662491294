"""SODM's root against the exact fit: measured on a generated set, and the page."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers.sodm.published import SODM
from benchmarks.speed import sodm_root


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    X, y = make_moons(5000, noise=0.2, random_state=0)
    monkeypatch.setattr(sodm_root, "whole_set", lambda name, rows: (X.astype(np.float32), y))
    return tmp_path


def test_every_set_of_the_tables_has_settings() -> None:
    assert set(sodm_root.SETTINGS) == set(SODM)
    for each in sodm_root.SETTINGS.values():
        assert set(each) == set(sodm_root.LOSSES)


def test_measures_and_writes_its_page(folder: Path, capsys: Any) -> None:
    results = folder / "results.json"
    run = ["--only", "svmguide1", "--repeats", "1", "--results", str(results)]
    sodm_root.main(run)
    assert capsys.readouterr().out.count("root ÷ exact") == 2
    sodm_root.main(["render", "--results", str(results), "--to", str(folder)])
    with open(folder / "sodm_root.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == sodm_root.COLUMNS
    assert [row[2] for row in rows] == ["ODM", "SVM"]
    for row in rows:
        assert row[1] == "4,000"
        assert float(row[7]) <= 1e-3
        assert abs(float(row[8]) - float(row[9])) < 0.5
    assert (folder / "sodm_root_machine.csv").exists()
