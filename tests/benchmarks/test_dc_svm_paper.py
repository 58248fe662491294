"""[DC]: its tables and figures on generated data."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import Clustered, SVMClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers.__main__ import main
from benchmarks.papers.dc_svm import (
    approximations,
    bound,
    comparison,
    convergence,
    grids,
    level_times,
    published,
    published_grids,
    record,
    support,
)
from benchmarks.papers.dc_svm.level_duals import Duals
from benchmarks.papers.dc_svm.sets import PaperSet
from benchmarks.race.store import Store


def moons(rows, seed=0):
    X, y = make_moons(rows, noise=0.25, random_state=seed)
    return X.astype(np.float32), 2 * y - 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with generated rows under the names of two of the paper's sets."""
    (X, y), (X_test, y_test) = moons(480), moons(200, seed=1)
    np.savez(tmp_path / "ijcnn1.npz", X=X, y=y, X_test=X_test, y_test=y_test)
    np.savez(tmp_path / "covtype_binary.npz", X=X, y=y)
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    for module in (comparison, convergence, grids, level_times):
        monkeypatch.setattr(module, "LEVELS", 2)
    monkeypatch.setattr(support, "LEVELS", 2)
    monkeypatch.setattr(approximations, "FEATURES", 60)
    monkeypatch.setattr(approximations, "SEARCH_FEATURES", 40)
    monkeypatch.setattr(approximations, "TIMES_C", (1 / 32, 1.0))
    monkeypatch.setattr(approximations, "TIMES_GAMMA", (1.0,))
    return tmp_path


@pytest.fixture
def paper(folder):
    return PaperSet("covtype_binary", Store(folder / "dc.json"), False, 60.0)


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_tables_2_and_6_end_to_end(folder, monkeypatch):
    monkeypatch.setattr(comparison, "STOPS", {"ijcnn1": (2, 0)})
    monkeypatch.setattr(comparison, "SVC_ROWS", {"ijcnn1": (100,)})
    monkeypatch.setitem(published.TABLE_6, "ijcnn1", {16: {"early": 0, "bagging": 0}})
    main(["dc", "--only", "ijcnn1", "--tables", "2", "6", "--results", str(folder)])
    cells = Store(folder / "dc.json").cells
    names = ("clusters/16", "clusters/1", "exact", "exact/intercept", "printed", "svc/100")
    names += ("printed/early", "cascade", "bagging/16")
    searches = {f"ijcnn1/approximate/{name}/search" for name in approximations.FEATURE_MAPS}
    pipelines = {f"ijcnn1/approximate/{name}" for name in approximations.FEATURE_MAPS}
    assert set(cells) == {f"ijcnn1/{name}" for name in names} | searches | pipelines
    least = {"ijcnn1/svc/100": 0.7}  # scikit-learn's SVC on a hundred rows as they come
    scored = {name: cell for name, cell in cells.items() if "accuracy" in cell}
    assert len(scored) == len(cells) - len(searches)
    assert all(cell["accuracy"] > least.get(name, 0.8) for name, cell in scored.items())
    whole = cells["ijcnn1/clusters/1"]
    assert whole["history"]["level"] == [2, 1, 0]
    assert whole["fit_seconds"] > cells["ijcnn1/clusters/16"]["fit_seconds"]
    assert whole["accuracy"] == pytest.approx(cells["ijcnn1/exact"]["accuracy"], abs=0.02)
    main(["render", "--only", "dc", "--results", str(folder), "--to", str(folder / "tables")])
    rows = table(folder / "tables" / "dc_table_2.csv")
    found = {row["Method"]: row for row in rows if row["Data set"] == "ijcnn1"}
    assert found["LLSVM"]["Ours"] == f"{100 * cells['ijcnn1/approximate/llsvm']['accuracy']:.2f}"
    assert (found["LaSVM"]["Published"], found["LaSVM"]["Ours"]) == ("98.57", "–")
    searched = {row["Method"]: row for row in table(folder / "tables" / "dc_searches.csv")}
    assert (searched["LTPU"]["C tried"], searched["LTPU"]["γ tried"]) == ("1, 32", "2")


def test_predictions_of_one_level(paper):
    paper.settings = {"C": 8.0, "gamma": 8.0, "max_time": 60.0}
    cell = comparison._combined(paper, 8)
    assert set(cell["rules"]) == {"naive_sum", "committee", "early"}
    assert all(score["accuracy"] > 0.8 for score in cell["rules"].values())


# --------------------------------------------------------------------------- approximations


def test_hadamard_is_the_matrix():
    rows = np.random.default_rng(0).standard_normal((3, 16))
    assert approximations.hadamard(rows) == pytest.approx(rows @ scipy.linalg.hadamard(16))


@pytest.mark.parametrize("gamma", [0.1, 2.0])
def test_fastfood_is_close_to_the_kernel(gamma):
    X = np.random.default_rng(0).standard_normal((40, 20)).astype(np.float32) / 4
    features = approximations.FastFood(gamma, 16_384).fit(X).transform(X)
    assert features.shape == (40, 16_384)
    assert features @ features.T == pytest.approx(rbf_kernel(X, gamma=gamma), abs=0.05)


def test_fastfood_has_the_features_asked_for():
    X = np.random.default_rng(0).standard_normal((40, 100)).astype(np.float32) / 10
    features = approximations.FastFood(1.0, 100).fit(X).transform(X)  # half a block of 128 columns
    assert features.shape == (40, 100)
    assert np.sum(features**2, axis=1) == pytest.approx(np.ones(40), rel=1e-5)


def test_nystroem_is_the_kernel_through_its_centres():
    X, _ = moons(300)
    model = approximations.Nystroem(2.0, 30).fit(X)
    features = model.transform(X)
    across, within = rbf_kernel(X, model.centres, gamma=2.0), rbf_kernel(model.centres, gamma=2.0)
    expected = across @ np.linalg.solve(within + approximations.JITTER * np.eye(30), across.T)
    assert features @ features.T == pytest.approx(expected, abs=2e-3)
    assert np.mean(np.abs(expected - rbf_kernel(X, gamma=2.0))) < 0.02


# -------------------------------------------------------------------------------- figures


def test_duals_have_the_objective_of_the_dense_problem():
    X, y = moons(200)
    strategy = Clustered(levels=1, stop_level=1)
    model = SVMClassifier(C=4.0, gamma=2.0, fit_intercept=False, strategy=strategy, random_state=0)
    found = Duals.of(model.fit(X, y))
    signed = np.zeros(200)
    signed[found.rows] = found.signed
    assert np.all(signed * y >= 0)
    expected = 0.5 * signed @ rbf_kernel(X, gamma=2.0) @ signed - np.abs(signed).sum()
    assert found.objective == pytest.approx(expected, rel=1e-5)
    assert found.recall(found.rows[:10]) == 1.0
    assert found.precision(found.rows[: len(found.rows) // 2]) == pytest.approx(0.5, abs=0.02)


def test_the_bound_holds_and_blocks_are_solved(paper, monkeypatch):
    monkeypatch.setattr(bound, "CLUSTERS", (4, 8))
    bound.measure(paper)
    cells = paper.store.cells
    assert len(cells) == 2 * len(bound.PARTITIONS)
    for cell in cells.values():
        assert cell["difference"] >= -1e-6 * abs(cell["optimum"])
        assert cell["difference"] <= cell["refined_bound"] <= cell["bound"]
        assert cell["bound"] == pytest.approx(0.5 * 32.0 * cell["threshold"])
    problem = bound._Problem(paper)
    group = problem.groups(4, "balanced")
    signed = problem.solved(np.where(group[:, None] == group, problem.gram, 0.0))
    for number in range(4):
        own = np.flatnonzero(group == number)
        local = rbf_kernel(problem.X[own], gamma=problem.gamma)
        found = 0.5 * signed[own] @ local @ signed[own] - np.abs(signed[own]).sum()
        alone = SVMClassifier(
            C=problem.C, gamma=problem.gamma, fit_intercept=False, strategy="exact", tol=1e-6
        ).fit(problem.X[own], problem.y[own])
        assert found == pytest.approx(Duals.of(alone).objective, rel=1e-4)


def test_the_root_finds_the_support_vectors(paper, folder):
    support.measure(paper)
    levels = paper.store.cells["covtype_binary/support/rbf/clustered"]["levels"]
    assert [each["level"] for each in levels] == [2, 1, 0]
    assert levels[-1]["recall"] > 0.97
    assert levels[-1]["precision"] > 0.97
    assert levels[0]["precision"] < levels[-1]["precision"]
    assert "covtype_binary/support/poly/cascade" in paper.store.cells
    main(["render", "--only", "dc", "--results", str(folder), "--to", str(folder / "tables")])
    assert len(table(folder / "tables" / "dc_figure_2.csv")) == 2 * 2 * 3


def test_errors_end_at_the_optimum(paper, folder, monkeypatch):
    monkeypatch.setattr(convergence, "SIZES", (20,))
    monkeypatch.setitem(convergence.LADDERS, "llsvm", (20,))
    convergence.measure_rbf(paper)
    cells = paper.store.cells
    start = "covtype_binary/convergence/rbf"
    levels = cells[f"{start}/levels"]["levels"]
    assert levels[0]["error"] > levels[-1]["error"]
    for last in (levels[-1], cells[f"{start}/exact/0.0001"], cells[f"{start}/libsvm/100000"]):
        assert -1e-5 < last["error"] < 2e-3
        assert last["recall"] > 0.95
    assert cells[f"{start}/llsvm/20"]["features"] == 20
    main(["render", "--only", "dc", "--results", str(folder), "--to", str(folder / "tables")])
    methods = {row["Method"] for row in table(folder / "tables" / "dc_figure_3.csv")}
    assert {"DC-SVM, by level", "LIBSVM (SVC)", "LLSVM"} <= methods


# --------------------------------------------------------------------------- other tables


def test_clustering_and_training_make_up_a_level(paper):
    level_times.measure(paper)
    cell = paper.store.cells["covtype_binary/level_times"]
    assert [each["level"] for each in cell["levels"]] == [2, 1, 0]
    assert all(each["clustering"] > 0 and each["training"] > 0 for each in cell["levels"])
    total = sum(each["clustering"] + each["training"] for each in cell["levels"])
    assert total <= cell["fit_seconds"]


def test_the_grid_has_all_pairs(paper, folder, monkeypatch):
    pairs = {power: set(each) for power, each in published_grids.GRIDS.items()}
    assert all(len(found) == 25 for found in pairs.values())
    monkeypatch.setattr(grids, "POWERS", (1, 6))
    grids.measure(paper)
    assert len(paper.store.cells) == 3 * 4
    main(["render", "--only", "dc", "--results", str(folder), "--to", str(folder / "tables")])
    rows = table(folder / "tables" / "dc_table_9.csv")
    (row,) = (row for row in rows if (row["C"], row["γ"]) == ("2^6", "2^1"))
    assert (row["Early, published"], row["LIBSVM, published"]) == ("90.2", "91.3")
    exact = paper.store.cells["covtype_binary/grid/exact/6/1"]["accuracy"]
    assert row["Exact"] == f"{100 * exact:.1f}"
    totals = table(folder / "tables" / "dc_table_4.csv")
    shares = {row["Method"]: row["Our time ÷ that of the exact fits"] for row in totals}
    assert shares["Exact; LIBSVM in the paper"] == "1.000"
    states = {row["Paper item"]: row for row in table(folder / "tables" / "record_dc_svm.csv")}
    assert states["DC-SVM, Table 4"]["Remark"].startswith("In part (1 of 3 data sets): sums")
    assert states["DC-SVM, Table 5"]["State"] == record.NOT_YET


def test_the_record_names_the_cells_that_are_measured(paper):
    named = {name for item in record.items() for unit in item.units for name in unit}
    bound.measure(paper)
    level_times.measure(paper)
    assert set(paper.store.cells) == {n for n in named if "/bound/" in n or "/level_times" in n}
