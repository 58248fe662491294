"""The harness that compares mcODM with other multi-class machines, on generated data."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers.__main__ import main, render
from benchmarks.papers.multiclass_odm import accuracy
from benchmarks.race.store import Store


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "iris.npz", X=X.astype(np.float32), y=y)
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    monkeypatch.setattr(accuracy, "C_OF_ODM", (1.0,))
    monkeypatch.setattr(accuracy, "TRIED", 4)
    return tmp_path


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_method_tries_as_many_settings():
    counts = {len(accuracy.settings_of(method)) for method in accuracy.METHODS}
    assert counts == {accuracy.TRIED}


def test_a_run_is_measured_once_and_shown(folder, capsys):
    results = folder / "results"
    arguments = ["mcodm", "--only", "iris", "--splits", "2", "--results", str(results)]
    main(arguments)
    assert "iris/1/ovr_odm" in capsys.readouterr().out
    main(arguments)
    assert capsys.readouterr().out == ""
    cells = Store(results / "mcodm.json").cells
    assert len(cells) == 6 * 3
    assert all(len(cells[f"iris/search/{m}"]["search"]["tried"]) == 4 for m in accuracy.METHODS)
    render(results, folder / "tables", ["mcodm"])
    (row,) = table(folder / "tables" / "mcodm_accuracy.csv")
    assert (row["Rows"], row["Features"], row["Classes"]) == ("150", "4", "3")
    shown = {m: float(row[t].strip("*").split()[0]) for m, t in accuracy.METHODS.items()}
    means = {
        m: np.mean([cells[f"iris/{k}/{m}"]["accuracy"] for k in range(2)]) for m in accuracy.METHODS
    }
    assert shown == pytest.approx({m: 100 * value for m, value in means.items()}, abs=0.01)
    others = max(value for m, value in means.items() if m != "mcodm")
    assert float(row["mcODM − best other"]) == pytest.approx(
        100 * (means["mcodm"] - others), abs=0.01
    )
    best = [m for m in means if means[m] == max(means.values())]
    assert [m for m, t in accuracy.METHODS.items() if row[t].startswith("**")] == best
    summary = table(folder / "tables" / "mcodm_summary.csv")
    assert len(summary) == 6
    assert summary[-1]["mean difference, points"] == row["mcODM − best other"]
    assert summary[-1]["mean without it"] == "–"
    assert "υ" in table(folder / "tables" / "mcodm_settings.csv")[0]["mcODM: c"]


def test_the_mean_is_shown_without_the_set_that_differs_most():
    shown = accuracy._compared("WW", {"iris": 0.01, "letter": -0.04, "dna": 0.02, "usps": 0.0})
    assert shown == ["WW", "2 of 4", "1 of 4", "-0.25", "-4.00 (letter)", "+1.00"]


def test_settings_at_an_end_of_the_grid_are_bold():
    def chosen(c, **of_odm):
        return accuracy._chosen({"search": {"c": c, **of_odm}})

    assert [chosen(c) for c in (0.1, 0.13, 316.22777)] == ["**0.1**", "0.13", "**316**"]
    assert chosen(316.22777, upsilon=0.2, theta=0.6) == "**316**, υ = 0.2, θ = 0.6"


def test_large_sets_have_more_seconds_and_fewer_splits(monkeypatch):
    asked = {}

    def measure_set(store, name, rows, max_time, search_time, splits):
        asked[name] = (max_time, search_time, splits)

    monkeypatch.setattr(accuracy, "measure_set", measure_set)
    accuracy.run(None, ["iris", "sector"], quick=False)
    assert asked == {"iris": (20.0, 5.0, 5), "sector": (60.0, 15.0, 3)}


def test_rows_left_out_are_not_trained_on():
    for n in (100, 5_000):
        y = np.arange(n) % 3
        parts = list(accuracy._held_out(y))
        assert len(parts) == (5 if n == 100 else 1)
        for fit, left in parts:
            assert not set(fit) & set(left)


def test_c_is_divided_by_the_length_of_the_rows():
    X = np.full((10, 3), 2.0, dtype=np.float32)
    model = accuracy.make("ww", {"c": 26.0}, X, 1.0)
    assert (model.C, model.formulation) == (pytest.approx(2.0), "ww")
    model = accuracy.make("mcodm", {"c": 13.0, "upsilon": 0.2, "theta": 0.6}, X, 1.0)
    assert (model.C, model.upsilon, model.theta) == (1.0, 0.2, 0.6)
