"""The harness of the published linear table and figures, on generated data."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers import search
from benchmarks.papers.__main__ import main, render
from benchmarks.papers.linear_odm import accuracy as linear_table
from benchmarks.papers.linear_odm import divided, solvers, speed_up
from benchmarks.papers.sodm import published
from benchmarks.papers.sodm import tables as sodm_tables
from benchmarks.papers.sodm.page import level_curve
from benchmarks.race.store import Store


class Recorded:
    """A linear classifier with the history of a solver that halves its error every iteration."""

    def __init__(self, solver="newton", max_iter=20):
        self.solver, self.max_iter = solver, max_iter
        self.predict = None

    def fit(self, X, y):
        self.predict = LinearSVC(random_state=0).fit(X, y).predict
        iteration = np.arange(self.max_iter + 1)
        cost = 4.0 if self.solver == "pegasos" else 1.0
        self.history_ = {
            "iteration": iteration,
            "seconds": 0.1 * iteration,
            "primal": 100.0 * (1.0 + 0.5**iteration),
            "gradient_evaluations": cost * len(y) * iteration,
        }
        self.relative_gap_ = 1e-7
        return self


@pytest.fixture
def linear_fits(monkeypatch):
    """Stand in for our classifiers; returns the settings they were made with."""
    made = []

    def linear(loss, max_time=None, tol=None, **settings):
        made.append({"loss": loss, **settings})
        known = {name: settings[name] for name in ("solver", "max_iter") if name in settings}
        return Recorded(**known)

    for module in (linear_table, solvers):
        monkeypatch.setattr(module, "linear", linear)
    return made


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X, y = make_classification(400, 5, random_state=0)
    X = X.astype(np.float32)
    np.savez(tmp_path / "ijcnn1.npz", X=X[:300], y=y[:300], X_test=X[300:], y_test=y[300:])
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    return tmp_path


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def rendered(folder, name):
    render(folder, folder / "tables", [name])
    return lambda name: table(folder / "tables" / f"{name}.csv")


def test_a_search_may_ask_for_the_best_score(monkeypatch):
    class Share:
        def __init__(self, C, theta):
            self.share = {1.0: 0.80, 8.0: 0.897, 64.0: 0.90}[C] - 0.01 * theta

        def fit(self, X, y):
            assert len(y) == 50
            return self

        def predict(self, X):
            return np.where(np.arange(len(X)) < self.share * len(X), 1, 0)

    X, y = np.zeros((8_000, 1)), np.ones(8_000, dtype=int)
    grid = {"C": [64.0, 1.0, 8.0], "theta": [0.2, 0.0]}
    best = search.choose_from(Share, X, y, grid, standard_errors=0.0, rows=(50, 4_000))
    assert (best["C"], best["theta"]) == (64.0, 0.0)
    near = search.choose_from(Share, X, y, grid, rows=(50, 4_000))
    assert (near["C"], near["theta"]) == (8.0, 0.0)
    assert (near["hold_out_rows"], len(near["tried"])) == (4_000, 6)


def test_the_linear_table_stands_beside_the_print(folder, linear_fits):
    main(["linear", "--only", "ijcnn1", "--splits", "2", "--results", str(folder)])
    cells = Store(folder / "linear.json").cells
    searched = len(cells["ijcnn1/search/odm"]["search"]["tried"])
    grid = linear_table.GRIDS["odm"]
    assert searched == len(grid["C"]) * len(grid["upsilon"]) * len(grid["theta"])
    fits = [made for made in linear_fits if made["loss"] == "odm"]
    assert len(fits) == searched + 2
    chosen = cells["ijcnn1/search/odm"]["search"]
    assert {name: fits[-1][name] for name in grid} == {name: chosen[name] for name in grid}
    rows = rendered(folder, "linear")
    row = next(each for each in rows("linear_accuracy") if each["Data set"] == "ijcnn1")
    ours = float(row["ODM"].split()[0])
    accuracy = np.mean([cells[f"ijcnn1/{number}/odm"]["accuracy"] for number in range(2)])
    assert row["ODM"] == f"{100 * accuracy:.2f} (2)"
    assert row["ODM (published)"] == f"{100 * published.LINEAR['ijcnn1']['whole'][0]:.2f}"
    assert row["ODM − published, points"].strip("*") == f"{ours - 91.3:+.2f}"
    settings = next(each for each in rows("linear_settings") if each["Data set"] == "ijcnn1")
    assert (settings["Rows"], settings["Features"]) == ("400", "5")
    busy = {name: {**cell, "busy": True} for name, cell in cells.items()}
    (of_busy,) = (row for row in linear_table._settings(busy) if row[0] == "ijcnn1")
    assert of_busy[-3:] == ["–", "–", "–"] != list(settings.values())[-3:]
    made = len(linear_fits)
    main(["linear", "--only", "ijcnn1", "--splits", "2", "--results", str(folder)])
    assert len(linear_fits) == made


def test_divided_methods_stand_beside_dsvrg(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sodm_tables, "LEAF_ROWS", 20)  # two levels
    monkeypatch.setattr(linear_table, "GRIDS", {"odm": {"C": (1.0,)}})
    main(["linear", "--only", "ijcnn1", "--splits", "1", "--results", str(folder)])
    cells = Store(folder / "linear.json").cells
    variants = ("early", "level 1", "root", "printed")
    names = {f"{method}/{each}" for method in divided.METHODS for each in variants}
    names |= {"odm", "dsvrg", *divided.PRINTED, "dsvrg third 1", "dsvrg third 2"}
    assert set(cells) == {"ijcnn1/search/odm", *(f"ijcnn1/0/{each}" for each in names)}
    one = [cells[f"ijcnn1/0/{each}"]["accuracy"] for each in ("odm", "dsvrg", "clustered/root")]
    assert one == pytest.approx([one[0]] * 3, abs=0.02)  # solvers of one problem
    stages = [cells[f"ijcnn1/0/dsvrg{rest}"]["iterations"] for rest in (" third 1", " third 2", "")]
    assert stages == sorted(stages)
    assert stages[0] < stages[2]
    seconds = [cells[f"ijcnn1/0/cascade/{each}"]["fit_seconds"] for each in variants[:3]]
    assert seconds == sorted(seconds)
    monkeypatch.setattr(linear_table, "TITLES", {"odm": "ODM"})
    shown = rendered(folder, "linear")
    rows = {row["Method"]: row for row in shown("linear_divided") if row["Data set"] == "ijcnn1"}
    assert rows["Ca-ODM"]["Published"] == "89.60"
    assert rows["DC-ODM"]["Published"] == "–"
    ends = [cells[f"ijcnn1/0/{each}"] for each in divided.PRINTED]
    assert ends[0]["relative_gap"] < ends[1]["relative_gap"]  # a step a row, and a step a part
    for title, end in zip(divided.DESCENTS, ends, strict=True):
        assert rows[title]["As printed"] == f"{100 * end['accuracy']:.2f} (1)"
    assert rows["Ca-ODM"]["Early"] == f"{100 * cells['ijcnn1/0/cascade/early']['accuracy']:.2f} (1)"
    times = {row["Method"]: row for row in shown("linear_divided_seconds")[:6]}
    assert times["Ca-ODM"]["Published"] == "35.3"  # svmguide1
    curve = level_curve(cells, "ijcnn1/0/cascade")
    assert [round(point[1], 6) for point in curve] == [
        round(100 * cells[f"ijcnn1/0/cascade/{each}"]["accuracy"], 6) for each in variants[:3]
    ]
    assert "<svg" in (folder / "tables" / "linear_levels.svg").read_text()


def test_curves_tell_passes_and_accuracy(folder, linear_fits):
    pytest.importorskip("matplotlib")
    main(["solvers", "--only", "ijcnn1", "--results", str(folder)])
    cells = Store(folder / "solvers.json").cells
    assert set(solvers.SOLVERS) == {made.get("solver") for made in linear_fits}
    stops = [name for name in cells if name.startswith("ijcnn1/svrg/stop/")]
    assert len(stops) == 6  # 1, 2, 3, 5, 8, 13 of 20 iterations
    rows = {row["Solver"]: row for row in rendered(folder, "solvers")("linear_solvers")}
    # The lowest objective is 100 (1 + 2⁻²⁰): the error 2⁻ᵏ is at most 1e-4 after 14 iterations.
    assert rows["SVRG"]["Passes to 1e-4"] == "14"
    assert rows["SVRG"]["Seconds to 1e-4"] == "1.4"
    assert rows["SVRG"]["SGD's passes ÷ its own"] == "4.0"
    assert rows["SGD"]["Passes to 1e-4"] == "56"
    (claim,) = (
        row for row in rendered(folder, "solvers")("linear_claims") if "–" not in row.values()
    )
    assert (claim["Data set"], claim["DSVRG ÷ SVRG, seconds"]) == ("ijcnn1", "1.0")
    busy = {name: {**cell, "busy": True} for name, cell in cells.items()}
    times = {row[1]: row[3] for row in solvers._solvers(busy)}
    assert set(times.values()) == {"–"}
    assert next(row for row in solvers._solvers(busy) if row[1] == "SVRG")[2] == "14"
    accuracy = solvers._accuracies(cells, "ijcnn1", "svrg", "gradient_evaluations")
    assert [point[0] for point in accuracy] == pytest.approx([1, 2, 3, 5, 8, 13, 20])
    for what in ("objective_passes", "objective_seconds", "accuracy_passes", "accuracy_seconds"):
        assert "<svg" in (folder / "tables" / f"linear_solvers_{what}.svg").read_text()


def test_costs_of_a_stage_come_back_from_its_seconds():
    model = speed_up.StageModel(rows=1_000, features=10, full=2e-6, inner=5e-6)
    seconds = {share: model.seconds(1, share) for share in speed_up.SHARES}
    assert speed_up.costs_of(1_000, seconds) == pytest.approx((2e-6, 5e-6))


def test_the_model_is_amdahls_law_less_the_messages():
    free = speed_up.Network(latency=0.0, bytes_per_second=np.inf)
    model = speed_up.StageModel(1_000_000, 100, full=1e-7, inner=2e-7, network=free)
    assert model.speed_up(1, 1.0) == 1.0
    assert model.speed_up(2, 1.0) == pytest.approx(1.2)
    assert model.speed_up(2, 0.1) == pytest.approx(1.2 / 0.7)
    assert model.speed_up(10**9, 0.1) == pytest.approx(6.0, rel=1e-6)
    costly = speed_up.StageModel(1_000_000, 100, full=1e-7, inner=2e-7)
    extra = costly.seconds(32, 0.1) - model.seconds(32, 0.1)
    assert extra == pytest.approx((3 * 5 + 4) * (1e-4 + 800 / 1.25e9))


def test_threads_are_measured_and_nodes_modelled(folder):
    pytest.importorskip("matplotlib")
    main(["speed_up", "--only", "ijcnn1", "--quick", "--results", str(folder)])
    store = Store(folder / "speed_up.json")
    assert len(store.cells) == 8
    assert all(cell["fit_seconds"] > 0 for cell in store.cells.values())
    for name, cell in store.cells.items():
        _, solver, share, threads, _ = name.split("/")
        full = 1.0 if solver == "svrg" else 1.0 / int(threads)
        cell["fit_seconds"] = speed_up.STAGES * (full + 2.0 * float(share))
    (two_steps, few_steps) = speed_up._measured(store.cells)
    assert two_steps[2:] == ["30", "30", "25", "1.20", "1.20"]
    assert few_steps[-2:] == ["1.71", "1.71"]
    model = speed_up.model_of(store.cells, "ijcnn1")
    assert model.rows * model.full == pytest.approx(1.0)
    assert model.rows * model.inner == pytest.approx(2.0)
    busy = {name: {**cell, "busy": True} for name, cell in store.cells.items()}
    assert list(speed_up._measured(busy)) == list(speed_up._model(busy)) == []
    modelled = list(speed_up._model(store.cells))
    assert modelled[1][2] == "1.7"
    speed_up.draw(store.cells, folder)
    assert "<svg" in (folder / "linear_speed_up.svg").read_text()
