"""The harness of the published multi-class tables, on generated and bundled data."""

import csv
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers.__main__ import main, render
from benchmarks.papers.multiclass_svm import (
    page,
    published,
    second_solver,
    shares,
    sources,
    speed_up,
    tables,
)
from benchmarks.papers.multiclass_svm.sources import Source, split_of
from benchmarks.race import generated
from benchmarks.race.store import Store
from benchmarks.speed.multiclass import machines


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with iris twice, and with half of it as the test part of another set."""
    X, y = load_iris(return_X_y=True)
    X, y = X.astype(np.float32), 10 * y
    for name in ("iris", "news20_t"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    np.savez(tmp_path / "satimage.npz", X=X[::2], y=y[::2], X_test=X[1::2], y_test=y[1::2])
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    sources.whole.cache_clear()
    yield tmp_path
    sources.whole.cache_clear()


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_generated_texts_have_all_classes_and_many_small_ones():
    data, again = (generated.topics(60, 600, 200, 3_000) for _ in range(2))
    assert (data.X != again.X).nnz == 0
    assert np.array_equal(data.y_test, again.y_test)
    rows = np.bincount(data.y, minlength=60)
    assert rows.min() >= 1
    assert rows.max() > 4 * np.median(rows)
    for X in (data.X, data.X_test):
        assert X.dtype == np.float32
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        assert norms == pytest.approx(1.0, abs=1e-5)
    solution = machines.fit(data.X, data.y, 60, "cs", 1.0, tol=1e-2)
    error = np.mean(machines.predict(solution.weights, data.X_test) != data.y_test)
    assert error < 0.9  # chance is .95


def test_sets_are_split_and_scaled_as_in_the_paper(folder):
    first, second = (split_of(Source("iris", sources.UNIT_LENGTH), k) for k in (0, 1))
    assert (len(first.y), len(first.y_test)) == (135, 15)
    assert not np.array_equal(first.y_test, second.y_test)
    assert np.linalg.norm(first.X, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert set(first.y) == {0, 1, 2}
    scaled = split_of(Source("satimage", sources.UNIT_VARIANCE, to_range=True), 0)
    assert (len(scaled.y), len(scaled.y_test)) == (75, 75)
    assert scaled.X.std(axis=0) == pytest.approx(1.0, abs=1e-5)
    assert scaled.X.min(axis=0) == pytest.approx(-scaled.X.max(axis=0), abs=1e-5)


@pytest.mark.skipif("WIDEMARGIN_DATA" not in os.environ, reason="needs WIDEMARGIN_DATA")
@pytest.mark.parametrize("source", [each for each in tables.TABLE_1 if each.authors])
@pytest.mark.parametrize("formulation", ["ww", "llw"])
def test_the_authors_rows_give_the_printed_errors(source, formulation):
    """Table 1, to the last digit."""
    if not (Path(os.environ["WIDEMARGIN_DATA"]) / "authors_splits").is_dir():
        pytest.skip("needs the authors' files")
    split = split_of(source, 0)
    printed = published.TABLE_1[source.published][formulation]
    for C, (error, _) in zip(published.CS_OF_TABLE_1, printed, strict=True):
        cell = tables.measured(split, formulation, C=C, tol=tables.TOL["1"], max_time=60.0)
        assert round(100.0 * (1.0 - cell["accuracy"]), 2) == error


def test_rows_of_unknown_classes_count_as_errors(folder):
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "dna.npz", X=X[:100], y=y[:100], X_test=X[50:], y_test=y[50:])
    split = split_of(Source("dna"), 0)
    assert np.array_equal(np.unique(split.y_test), [-1, 1])
    cell = tables.measured(split, "ww", C=1.0, tol=1e-3, max_time=30.0)
    assert cell["accuracy"] <= 0.5


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_second_solver_finds_the_same_machine(folder, form):
    split = split_of(Source("iris", sources.UNIT_LENGTH), 0)
    ours = machines.fit(split.X, split.y, 3, "ww", 10.0, tol=1e-5)
    found = second_solver.weston_watkins(form(split.X), split.y, 3, 10.0, 60.0, tol=5e-4)
    assert found.primal == pytest.approx(ours.certificate.primal, rel=6e-4)
    assert found.dual <= ours.certificate.primal
    assert found.dual >= (1.0 - 5e-4) * found.primal
    assert found.weights == pytest.approx(np.asarray(ours.weights), abs=0.2)


def test_a_second_solver_without_time_still_bounds_the_optimum(folder):
    split = split_of(Source("iris", sources.UNIT_LENGTH), 0)
    optimum = machines.fit(split.X, split.y, 3, "ww", 10.0, tol=1e-5).certificate
    found = second_solver.weston_watkins(split.X, split.y, 3, 10.0, 0.0)
    assert found.dual < optimum.dual
    assert found.primal > optimum.primal


def test_cores_share_the_steps_of_an_epoch():
    class_rows = np.array([5, 1, 7, 3, 2, 2, 9, 4])
    steps = shares.steps_of_an_epoch(class_rows)
    assert steps == 33 * 7
    for formulation in ("ww", "llw"):
        assert shares.busiest_steps(class_rows, formulation, 1) == steps
        for cores in (2, 4):
            busiest = shares.busiest_steps(class_rows, formulation, cores)
            assert steps / cores <= busiest < steps
    even = np.full(8, 10)
    assert shares.busiest_steps(even, "llw", 8) == 80 * 7 / 8
    assert shares.busiest_steps(even, "ww", 4) == 80 * 7 / 4


def test_the_model_of_machines_counts_messages():
    busiest = {1: 800, 4: 220}
    sizes = {"classes": 8, "features": 1_000, "density": 0.5, "step": 1e-3, "busiest": busiest}
    for formulation in ("ww", "llw"):
        model = speed_up.EpochModel(formulation, **sizes)
        assert model.speed_up(1) == 1.0
        assert model.speed_up(4) == pytest.approx(800 / 220)
        assert model.speed_up(4, 2) < model.speed_up(4)
        assert model.messages(4) > model.messages(2) > 0.0
    # Two machines meet once; each sends two of its four classes there and the other's two back.
    sent = 4 * 1_000 * 0.5 * 12 / 1.25e9
    assert speed_up.EpochModel("ww", **sizes).messages(2) == pytest.approx(2e-4 + sent)


def test_threads_are_measured_and_more_cores_modelled(folder, monkeypatch):
    few = {"satimage": Source("satimage")}
    monkeypatch.setattr(speed_up, "SOURCES", few)
    monkeypatch.setattr(speed_up, "DATA_SETS", tuple(few))
    main(["multiclass_speed_up", "--quick", "--results", str(folder)])
    render(folder, folder / "tables", ["multiclass_speed_up"])
    rows = table(folder / "tables" / "multiclass_speed_up.csv")
    assert [each["Formulation"] for each in rows] == ["LLW", "WW"]
    assert all(float(each["2 threads s"]) for each in rows)
    model = table(folder / "tables" / "multiclass_speed_up_model.csv")
    assert [each["Machines"] for each in model] == ["1", "2", "4"] * 2
    assert model[2]["2 cores"] == "–"
    assert (folder / "tables" / "multiclass_speed_up.svg").exists()


def test_tables_stand_beside_the_print(folder, monkeypatch):
    off = {"news20_t": 5.0, "satimage": 0.0}
    monkeypatch.setattr(tables, "off_print", lambda cells, source, C, numbers: off[source.name])
    measured = [("news20_t", "1"), ("news20_t", "check"), ("satimage", "1")]
    for name, which in (*measured, ("satimage", "check"), ("satimage", "5")):
        arguments = ["--only", name, "--tables", which, "--splits", "2", "--max-time", "5"]
        main(["multiclass", *arguments, "--results", str(folder)])
    cells = Store(folder / "multiclass.json").cells
    assert "table_1/news20_t/0/check/0.1" in cells
    assert "table_1/news20_t/1/check/0.1" not in cells
    assert not any(name.startswith("table_1/satimage/0/check") for name in cells)
    assert "table_1/satimage/1/ww/1" not in cells  # it has a test part: one split
    render(folder, folder / "tables", ["multiclass"])
    rows = table(folder / "tables" / "multiclass_table_1_error.csv")
    row = next(
        each for each in rows if (each["Data set"], each["C"]) == ("news20, test file", "0.1")
    )
    fits = [cells[f"table_1/news20_t/{number}/ww/0.1"]["accuracy"] for number in range(2)]
    error = 100 * (1 - np.mean(fits))
    assert row["WW"] == f"{error:.2f} (2)"
    assert row["WW (published)"] == "15.32"
    assert row["WW − published, points"].strip("*") == f"{error - 15.32:+.2f}"
    assert row["CS"] != "–"
    checks = table(folder / "tables" / "multiclass_table_1_check.csv")
    assert [each["C"] for each in checks] == ["0.1", "1", "10"]
    for each in checks:
        assert -0.02 < float(each["Our objective above the second solver's bound, %"]) < 0.2
    sets = table(folder / "tables" / "multiclass_table_1_sets.csv")
    (gap,) = (
        float(each["Largest relative gap"]) for each in sets if each["Data set"] == "satimage"
    )
    assert 0.0 < gap <= 1e-4
    large = table(folder / "tables" / "multiclass_table_5.csv")
    assert [each["C"] for each in large[:3]] == ["100", "1000", "10000"]
    assert large[0]["Error"] == "–"
    assert large[-1]["Micro-F1"] == f"{published.TABLE_5[-1][1]:.2f}"
    shown = [each for each in large if each["Error"] != "–"]
    assert len(shown) == 6  # satimage, and the print
    for each in shown:  # of one label a row
        total = float(each["Error"].rstrip("†")) + float(each["Micro-F1"])
        assert total == pytest.approx(100.0, abs=0.02)


def test_the_best_error_is_shown_with_its_c(tmp_path):
    store = Store(tmp_path / "multiclass.json")
    for formulation, accuracies in {"ww": (0.5, 0.7), "cs": (0.6, 0.6), "ovr": (0.2, 0.4)}.items():
        for C, accuracy in zip((1e-3, 1e-2), accuracies, strict=True):
            name = tables.cell_name("3", "sector", 0, formulation, C)
            store.put(name, {}, {"accuracy": accuracy}, {})
    by_name = {name: rows for name, _, rows in page.tables(store.cells)}
    found = {row[0]: row[1:] for row in by_name["multiclass_table_3_best"]}
    assert found["sector"] == ["30.00 (0.01)", "–", "40.00 (0.001)", "60.00 (0.01)", "+30.00"]
    assert found["CLINC150"] == ["–"] * 5
    of_print = ["54.41 (10)", "93.00 (0.001)", "54.57 (10)", "57.75 (10)", "+3.34"]
    assert found["LSHTC-small (published)"] == of_print
    assert found["LSHTC-2012 (published)"][-1] == "+4.16"
