"""[SODM] and [DC]: data, search and tables, on generated data."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import Clustered, SVMClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers import search
from benchmarks.papers.__main__ import PAGES, PAPERS, RESULTS, main
from benchmarks.papers.dc_svm import combinations
from benchmarks.papers.sodm import page as sodm_page
from benchmarks.papers.sodm import tables as sodm_tables
from benchmarks.papers.sodm import theorems
from benchmarks.papers.sodm.settings import SETTINGS
from benchmarks.race import data as sets
from benchmarks.race import objective
from benchmarks.race.store import Store
from benchmarks.race.tables import FOLDER


def moons(rows, seed=0):
    X, y = make_moons(rows, noise=0.25, random_state=seed)
    return (10 * X).astype(np.float32), 2 * y - 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with a dense set of published test part, named as one of the papers'."""
    (X, y), (X_test, y_test) = moons(480), moons(200, seed=1)
    np.savez(tmp_path / "ijcnn1.npz", X=X, y=y, X_test=X_test, y_test=y_test)
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def small_grid(monkeypatch):
    monkeypatch.setattr(search.choose, "__defaults__", ((1.0,), (1.0, 4.0)))


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# ------------------------------------------------------------------------------------- data


def test_mixed_sets_are_read_as_indicators(folder):
    numeric, codes = np.array([[0.5], [0.0]]), np.array([[1, 0], [0, 2]], dtype=np.int8)
    np.savez(folder / "mixed.npz", num=numeric, cat=codes, card=np.array([2, 3]), y=[0, 1])
    data = sets.load("mixed")
    expected = [[0.5, 0, 1, 1, 0, 0], [0.0, 1, 0, 0, 0, 1]]
    assert np.array_equal(data.X.toarray(), np.array(expected, dtype=np.float32))
    assert data.X_test is None


def test_pooled_sets_hold_all_rows(folder):
    X, y = sets.whole_set("ijcnn1")
    assert X.shape == (680, 2)
    assert y.shape == (680,)
    assert sets.whole_set("ijcnn1", quick_rows=50)[0].shape == (50, 2)


def test_features_are_scaled_on_training_rows():
    X, y = moons(200)
    split = sets.random_split(X, y, 3)
    assert len(split.y_test) == 40
    assert split.X.min(axis=0) == pytest.approx(0.0, abs=1e-6)
    assert split.X.max(axis=0) == pytest.approx(1.0, abs=1e-6)
    assert not np.array_equal(split.y, sets.random_split(X, y, 4).y)


def test_sparse_rows_keep_the_distances_of_dense_ones():
    X, y = moons(100)
    dense = sets.random_split(X, y, 0)
    sparse = sets.random_split(sp.csr_matrix(X), y, 0)
    assert pairwise_distances(sparse.X_test) == pytest.approx(
        pairwise_distances(dense.X_test), abs=1e-5
    )


# ------------------------------------------------------------------------ search and results


class Threshold:
    """A classifier that is right on a share of the rows, given by C."""

    def __init__(self, C, gamma):
        self.share = {1.0: 0.80, 8.0: 0.897, 64.0: 0.90}[C] - 0.001 * gamma

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(np.arange(len(X)) < self.share * len(X), 1, 0)


def test_search_takes_the_smallest_C_within_one_standard_error():
    X, y = np.zeros((8_000, 1)), np.ones(8_000, dtype=int)
    found = search.choose(Threshold, X, y, [64.0, 1.0, 8.0], [2.0, 1.0])
    assert (found["C"], found["gamma"]) == (8.0, 1.0)
    assert (found["fit_rows"], found["hold_out_rows"], len(found["tried"])) == (4_000, 4_000, 6)


def test_a_fit_out_of_time_is_marked():
    X, y = moons(4_000)
    model = SVMClassifier(C=1e4, gamma=50.0, strategy=Clustered(levels=1), max_time=1e-3)
    assert objective.measure(model, sets.random_split(X, y, 0))["out_of_time"]


# ------------------------------------------------------------------------------ combinations


@pytest.fixture
def clustered():
    X, y = moons(400)
    strategy = Clustered(levels=1, fan_in=8, stop_level=1)
    model = SVMClassifier(C=4.0, gamma=0.02, fit_intercept=False, strategy=strategy, random_state=0)
    return model.fit(X, y), X, y


def test_local_decisions_are_those_of_the_parts(clustered):
    classifier, X, _ = clustered
    level = combinations.level_model(classifier)
    members = combinations.local_decisions(level, X)
    assert members == pytest.approx(level.local_decisions(X), abs=1e-4)
    nearest = level.router.assign(X)
    own = members[nearest, np.arange(len(X))]
    assert own == pytest.approx(classifier.decision_function(X), abs=1e-4)
    whole = classifier.dual_coef_[0] @ rbf_kernel(classifier.support_vectors_, X, gamma=0.02)
    assert combinations.naive_sum(members) == pytest.approx(whole, abs=1e-4)


def test_vote_counts_parts():
    members = np.array([[5.0, -1.0], [-1.0, -1.0], [-1.0, 2.0]])
    assert np.array_equal(combinations.vote(members), [-1.0, -1.0])
    assert np.array_equal(combinations.naive_sum(members), [3.0, 0.0])


def test_committee_says_the_prior_where_nobody_knows(clustered):
    classifier, X, y = clustered
    level = combinations.level_model(classifier)
    slopes = combinations.committee_slopes(level, X, y == 1, 0.3)
    assert (slopes > 0).all()
    far = combinations.committee(np.zeros((len(slopes), 1)), slopes, 0.3)
    assert far == pytest.approx(np.log(0.3 / 0.7))
    odds = combinations.committee(combinations.local_decisions(level, X), slopes, 0.5)
    assert np.mean((odds > 0) == (y == 1)) > 0.85


def test_slope_is_that_of_the_likelihood():
    random = np.random.default_rng(0)
    decision = random.normal(size=20_000)
    positive = random.random(20_000) < 1 / (1 + np.exp(-3 * decision))
    assert combinations._slope(decision, positive, 0.5) == pytest.approx(3.0, rel=0.05)


# ---------------------------------------------------------------------------------- tables


@pytest.mark.usefixtures("small_grid")
def test_sodm_tables_end_to_end(folder):
    results = Store(folder / "sodm.json")
    sodm_tables.run(results, ["ijcnn1"], quick=False, splits=1)
    cells = len(results.cells)
    assert cells == 2 * (1 + 1 + 4 * 3)
    sodm_tables.run(results, ["ijcnn1"], quick=False, splits=1)
    assert len(results.cells) == cells
    main(["render", "--only", "sodm", "--results", str(folder), "--to", str(folder / "tables")])
    rows = table(folder / "tables" / "sodm_accuracy_odm.csv")
    (row,) = (r for r in rows if (r["Data set"], r["Method"]) == ("ijcnn1", "SODM"))
    measured = results.cells["ijcnn1/0/odm/stratified/root"]["accuracy"]
    assert measured > 0.8
    assert (row["Published"], row["Root"]) == ("92.70", f"{100 * measured:.2f} (1)")
    (absent,) = (r for r in rows if (r["Data set"], r["Method"]) == ("phishing", "SODM"))
    assert absent["Root"] == "–"


def test_seconds_measured_while_others_worked_are_not_shown(folder):
    results = Store(folder / "sodm.json")
    for name, quiet in (("ijcnn1/0/odm/exact", True), ("phishing/0/odm/exact", False)):
        cell = {"accuracy": 0.9, "fit_seconds": 2.0, "predict_seconds": 1.0}
        results.put(name, {}, cell, {"date": "2026-01-01", "quiet": quiet})
    main(["render", "--only", "sodm", "--results", str(folder), "--to", str(folder)])
    rows = table(folder / "sodm_seconds_odm.csv")
    shown = {(row["Data set"], row["Method"]): row["Root"] for row in rows}
    assert (shown["ijcnn1", "ODM"], shown["phishing", "ODM"]) == ("2 (1)", "–")
    accuracies = table(folder / "sodm_accuracy_odm.csv")
    assert [row["Root"] for row in accuracies if row["Method"] == "ODM"].count("90.00 (1)") == 2


def test_conclusions_are_drawn_from_splits_that_have_both(folder):
    results = Store(folder / "sodm.json")
    accuracies = {"0/odm/stratified/early": 0.9, "1/odm/stratified/early": 0.5}
    accuracies |= {"0/odm/clustered/early": 0.92, "0/odm/exact": 0.95}
    accuracies |= {"0/odm/stratified/root": 0.95}
    for name, accuracy in accuracies.items():
        cell = {"accuracy": accuracy, "fit_seconds": 3.0, "out_of_time": "exact" in name}
        cell["predict_seconds"] = cell["levels"] = 1
        cell["fit_seconds"] *= 2 if name.endswith("root") else 1
        results.put(f"phishing/{name}", {}, cell, {"date": "2026-01-01", "quiet": True})
    (row,) = (row for row in sodm_page._claims(results.cells) if row[0] == "phishing")
    assert row[1:] == ["+0.20", "-2.00 (1)", "–", "-0.30", "-5.00† (1)", "–", "2.0", "–"]


def test_every_measurement_has_a_page_that_shows_its_machine():
    assert sorted(name for names in PAGES.values() for name in names) == sorted(PAPERS)
    for page in PAGES:
        text = (FOLDER.parent / f"{page}.rst").read_text(encoding="utf-8")
        assert f":file: tables/{page}_machine.csv" in text


def test_settings_are_those_that_the_search_found():
    cells = Store(RESULTS / "sodm.json").cells
    for name, by_loss in SETTINGS.items():
        for loss, found in by_loss.items():
            search_of = cells[f"{name}/search/{loss}"]["search"]
            assert (search_of["C"], search_of["gamma"]) == found


def test_bounds_of_the_theorems_stand_beside_the_gaps(folder, monkeypatch):
    monkeypatch.setattr(theorems, "DATA_SETS", ("ijcnn1",))
    monkeypatch.setattr(theorems, "LEVELS", (1,))
    main(["theorems", "--quick", "--results", str(folder)])
    cell = Store(folder / "theorems.json").cells["ijcnn1/1"]
    assert len(cell["part_gaps"]) == cell["parts"] == 4
    assert 0 <= cell["gap"] <= cell["gap_bound"]
    main(["render", "--only", "theorems", "--results", str(folder), "--to", str(folder)])
    (row,) = table(folder / "sodm_theorem_2.csv")
    zero = -cell["optimum"]
    assert row["largest"] == f"{max(cell['part_gaps']) / zero:.2f}"
    assert float(row["largest"]) <= float(row["Bound"]) <= float(row["Without τ"])


def test_the_seconds_of_a_continued_fit_are_those_of_all_its_levels(tmp_path, monkeypatch):
    class Continued:
        """A fit of a level a second, after half a second of checks; solved levels are kept."""

        clock, solved = 0.0, 0

        def __init__(self, levels):
            self.levels = levels

        def fit(self, X, y):
            new = self.levels - Continued.solved
            Continued.clock += 0.5 + new
            Continued.solved = self.levels
            ends = np.arange(1.0, self.levels + 1)
            self.history_ = {"level": ends, "parts": ends, "seconds": ends}

        def predict(self, X):
            return np.zeros(len(X))

    monkeypatch.setattr(objective.time, "perf_counter", lambda: Continued.clock)
    data = sets.DataSet(np.zeros((3, 1)), np.zeros(3), np.zeros((2, 1)), np.zeros(2))
    fits = objective.LevelFits()
    found = [fits.measure(Continued(levels), data)["fit_seconds"] for levels in (1, 2, 4)]
    assert found == [1.5, 2.5, 4.5]
