"""Exact training: gaps, cases, contestants and the page, on generated data."""

import csv
import sys
from pathlib import Path

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from oracle import solve_with_clarabel
from widemargin import ODMClassifier, SVMClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race import plugin, processes, rounds, worker
from benchmarks.race.command import race_main
from benchmarks.race.objective import loss_of
from benchmarks.race.store import Store
from benchmarks.speed.exact import contestants, race
from benchmarks.speed.exact.contestants import CASES, Case
from benchmarks.speed.exact.gap import BinaryProblem, problems_of, score
from benchmarks.speed.exact.race import RACE

C, GAMMA = 4.0, 2.0


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.3, random_state=0)
    return X, np.where(y == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, 3, centers=4, cluster_std=4.0, random_state=0)


def optimum_with_free_intercept(K, y):
    """Maximise Σα − ½αᵀQα over 0 ≤ α ≤ C, yᵀα = 0."""
    count = len(y)
    Q = sp.csc_matrix(np.triu(np.outer(y, y) * K + 1e-12 * np.eye(count)))
    A = sp.csc_matrix(np.vstack([y, np.eye(count), -np.eye(count)]))
    b = np.concatenate([[0.0], np.full(count, C), np.zeros(count)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * count)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    solution = clarabel.DefaultSolver(Q, -np.ones(count), A, b, cones, options).solve()
    return -solution.obj_val


def scored(model, X, y, loss="hinge"):
    (problem,) = problems_of(model, y)
    return score(problem, loss_of(loss, C), X, GAMMA)


# ----------------------------------------------------------------------------------- score


def test_the_score_of_svc_brackets_the_optimum_of_its_problem(moons):
    X, y = moons
    optimum = optimum_with_free_intercept(rbf_kernel(X, gamma=GAMMA), y)
    exact = scored(SVC(C=C, gamma=GAMMA, tol=1e-9).fit(X, y), X, y)
    assert exact.primal == pytest.approx(optimum, rel=1e-6)
    assert exact.dual == pytest.approx(optimum, rel=1e-6)
    for tol in (0.5, 0.1):
        loose = scored(SVC(C=C, gamma=GAMMA, tol=tol).fit(X, y), X, y)
        assert loose.dual < optimum < loose.primal
        assert loose.relative_gap > 1e-4


def test_duals_that_are_not_balanced_still_bound_the_optimum(moons):
    X, y = moons
    optimum = optimum_with_free_intercept(rbf_kernel(X, gamma=GAMMA), y)
    (found,) = problems_of(SVC(C=C, gamma=GAMMA, tol=1e-9).fit(X, y), y)
    for side in (1.0, -1.0):
        coef = np.where(y == side, 0.9 * found.coef, found.coef)
        off = BinaryProblem(found.rows, y, coef, found.free_intercept, True)
        assert score(off, loss_of("hinge", C), X, GAMMA).dual < optimum
        feasible = BinaryProblem(found.rows, y, 0.9 * found.coef, found.free_intercept, True)
        assert score(off, loss_of("hinge", C), X, GAMMA).dual == pytest.approx(
            score(feasible, loss_of("hinge", C), X, GAMMA).dual
        )


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm"])
def test_the_score_of_ours_brackets_the_optimum_of_its_problem(moons, loss, constant):
    X, y = moons
    optimum = solve_with_clarabel(rbf_kernel(X, gamma=GAMMA) + constant, y, loss, C).objective
    settings = {"C": C, "gamma": GAMMA, "fit_intercept": constant > 0}
    if loss != "odm":
        settings["loss"] = loss
    kind = ODMClassifier if loss == "odm" else SVMClassifier
    exact = scored(kind(tol=1e-8, **settings).fit(X, y), X, y, loss)
    assert exact.primal == pytest.approx(optimum, rel=1e-6)
    assert exact.dual == pytest.approx(optimum, rel=1e-6)
    (found,) = problems_of(kind(tol=1e-8, **settings).fit(X, y), y)
    off = BinaryProblem(found.rows, y, 0.8 * found.coef, constant=constant)
    far = score(off, loss_of(loss, C), X, GAMMA)
    assert far.dual < optimum < far.primal


def test_duals_outside_their_box_are_refused(moons):
    X, y = moons
    model = SVC(C=2 * C, gamma=GAMMA).fit(X, y)
    with pytest.raises(ValueError, match=r"Duals must lie in \[0, 4\]"):
        scored(model, X, y)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("make", [SVC, SVMClassifier])
def test_pairs_are_the_models_own(blobs, make, sparse):
    X, y = blobs
    extra = {} if make is SVC else {"multi_class": "ovo", "fit_intercept": False}
    model = make(C=C, gamma=0.1, tol=1e-6, decision_function_shape="ovo", **extra)
    decision = model.fit(sp.csr_matrix(X) if sparse else X, y).decision_function(X)
    problems = list(problems_of(model, y))
    assert len(problems) == decision.shape[1] == 6
    for pair, problem in enumerate(problems):
        ours = rbf_kernel(X, X[problem.rows], gamma=0.1) @ problem.coef + problem.free_intercept
        assert ours == pytest.approx(decision[:, pair], abs=1e-5)
        assert score(problem, loss_of("hinge", C), X[problem.rows], 0.1).relative_gap < 1e-5


def test_one_vs_rest_problems_are_the_models_own(blobs):
    X, y = blobs
    settings = {"multi_class": "ovr", "fit_intercept": True}
    model = SVMClassifier(C=C, gamma=0.1, tol=1e-6, **settings).fit(X, y)
    decision = model.decision_function(X)
    for label, problem in enumerate(problems_of(model, y)):
        ours = (rbf_kernel(X, gamma=0.1) + problem.constant) @ problem.coef
        assert ours == pytest.approx(decision[:, label], abs=1e-5)
        assert score(problem, loss_of("hinge", C), X, 0.1).relative_gap < 1e-5


# -------------------------------------------------------------------------- cases and worker


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with sets of the names and shapes that the cases expect."""
    X, y = make_moons(900, noise=0.25, random_state=0)
    X = (10 * X).astype(np.float32)
    np.savez(tmp_path / "ijcnn1.npz", X=X[:500], y=y[:500], X_test=X[500:], y_test=y[500:])
    np.savez(tmp_path / "a9a.npz", X=X[:500], y=y[:500], X_test=X[500:], y_test=y[500:])
    np.savez(tmp_path / "covtype_binary.npz", X=X, y=y)
    np.savez(tmp_path / "mnist.npz", X=X, y=y + 3, X_test=X, y_test=5 * y + 3)
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    return tmp_path


def test_rows_are_split_scaled_and_chosen(folder):
    published = RACE.rows(CASES["ijcnn1"], quick=False)
    assert published.X.shape == (500, 2)
    assert published.X.max() > 2  # as published
    assert published.X.dtype == np.float32
    shared = {"title": "", "source": "covtype_binary", "C": 1.0, "gamma": 1.0, "test_rows": 300}
    drawn = RACE.rows(Case(rows=200, **shared), quick=False)
    assert (drawn.X.shape, drawn.X_test.shape) == ((200, 2), (300, 2))
    assert drawn.X.min(axis=0) == pytest.approx(0.0)
    assert drawn.X.max(axis=0) == pytest.approx(1.0)
    larger = RACE.rows(Case(rows=400, **shared), quick=False)
    assert np.array_equal(larger.y_test, drawn.y_test)
    assert np.array_equal(larger.y[:200], drawn.y)
    pair = RACE.rows(CASES["mnist_3_8"], quick=False)
    assert set(pair.y) == {3}
    assert set(pair.y_test) == {3, 8}


def test_quick_rows_are_few(folder, monkeypatch):
    monkeypatch.setattr(race, "QUICK_ROWS", 40)
    assert RACE.rows(CASES["ijcnn1"], quick=True).X.shape == (40, 2)


def job_of(folder, library, **changes):
    problem = {"loss": "hinge", "C": C, "gamma": 0.05}
    job = {"race": RACE.module, "folder": str(folder), "library": library, "problem": problem}
    job |= {"settings": {}, "rung": "tol", "ladder": [1e-3], "target": None, "form": "dense"}
    return {**job, "budget": 60.0, "detail": True, **changes}


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("library", ["svc", "widemargin", "intelex"])
def test_a_worker_measures_a_fit(folder, library, form):
    pytest.importorskip(contestants.LIBRARIES[library].module)
    RACE.rows(CASES["ijcnn1"], quick=False).save(folder)
    (cell,) = worker.climb(job_of(folder, library, form=form))
    (rung,) = cell["rungs"]
    assert rung["accuracy"] > 0.85
    assert 0 <= rung["gap"] < 5e-3
    assert 0 < rung["support_vectors"] < cell["rows"] == 500
    assert 0 < rung["seconds"] < 10
    assert rung["cpu_seconds"] > 0
    assert rung["peak_memory_mb"] > rung["fit_memory_mb"] >= 0
    assert ("history" in rung) == (library == "widemargin")
    assert cell["finished"]


def test_a_fit_runs_in_a_process_of_its_own(folder):
    RACE.rows(CASES["ijcnn1"], quick=False).save(folder)
    cell = processes.measure(rounds.WORKER, job_of(folder, "widemargin", detail=False), 60.0)
    assert cell["rungs"][0]["accuracy"] > 0.85
    assert cell["version"].startswith("widemargin ")
    assert "gap" not in cell["rungs"][0]
    assert processes.measure(rounds.WORKER, job_of(folder, "widemargin"), 0.01)["out_of_time"]


def test_a_failing_fit_is_reported():
    with pytest.raises(processes.FitFailed, match="No module named nothing"):
        processes.measure("nothing", {}, 60.0)


# ----------------------------------------------------------------------------------- rounds


class FakeWorker:
    """Answers as fits would: the gap is a tenth of tol for peers, half of it for ours."""

    def __init__(self):
        self.jobs, self.seconds, self.failing = [], 1.0, ()

    def __call__(self, module, job, max_time):
        self.jobs.append(job)
        if job["problem"]["loss"] in self.failing:
            raise processes.FitFailed("no luck")
        rungs, peer = [], job["library"] in ("svc", "intelex")
        for value in job["ladder"]:
            # Dense rows are the slower ones; a later fit is faster.
            spent = self.seconds / len(self.jobs) + (job["form"] == "dense")
            rung = {"value": value, "seconds": spent, "cpu_seconds": spent, "accuracy": 0.9}
            rung |= {"predict_seconds": 0.1, "peak_memory_mb": 200.0, "fit_memory_mb": 20.0}
            rungs.append(rung)
            if job["problem"]["loss"] is not None:
                rung |= {"support_vectors": 7, "gap": value * (0.1 if peer else 0.5)}
                if job["target"] and rung["gap"] <= job["target"][1]:
                    break
        sizes = {"rows": 500, "test_rows": 400, "features": 2, "version": "fake 1"}
        return {**sizes, "rungs": rungs, "finished": True}


@pytest.fixture
def fits(monkeypatch, folder):
    fake = FakeWorker()
    monkeypatch.setattr(processes, "measure", fake)
    return fake


def run(folder, *options):
    left_out = ["--without", "lightgbm"]
    arguments = ["--results", str(folder / "exact.json"), "--repeats", "2", *left_out, *options]
    race_main(RACE, "", arguments)
    return Store(folder / "exact.json").cells


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(plugin, "find_spec", lambda module: True)


@pytest.mark.usefixtures("installed")
def test_ours_are_asked_for_the_gap_of_their_peer(folder, fits):
    cells = run(folder, "--only", "ijcnn1", "--curves")
    for peer in ("svc", "intelex", "intelex_C1"):
        rungs = cells[f"ijcnn1/{peer}/ladder/dense"]["rungs"]
        assert [rung["value"] for rung in rungs] == [1e-1, 3e-2, 1e-2]
    for name in ("svm", "svm_intercept", "svm_at_svc", "odm", "odm_C1"):
        assert f"ijcnn1/{name}/fit/dense/0.001/1" in cells
    assert "ijcnn1/svc/fit/dense/0.01/1" not in cells  # once
    assert "ijcnn1/intelex/fit/dense/0.01/1" in cells
    assert len(cells["ijcnn1/intelex/curve/dense"]["rungs"]) == len(contestants.TOLS)
    assert {job["problem"]["C"] for job in fits.jobs} == {1.0, 32.0}


@pytest.mark.usefixtures("installed")
def test_the_faster_form_of_the_rows_is_kept(folder, fits):
    cells = run(folder, "--only", "a9a")
    assert "a9a/svm/fit/csr/0.001/1" in cells
    assert not any("/fit/dense/" in name for name in cells)
    assert not any("_C1" in name for name in cells)  # C is 1 there


@pytest.mark.usefixtures("installed")
def test_slow_fits_are_not_repeated_and_failures_stop_nobody_else(folder, fits):
    fits.seconds, fits.failing = 1e5, ("odm",)
    with pytest.raises(SystemExit, match="ijcnn1/odm_C1: no luck"):
        run(folder, "--only", "ijcnn1", "--once-above", "1")
    cells = Store(folder / "exact.json").cells
    assert any(name.endswith("/0") for name in cells)
    assert not any(name.endswith("/1") for name in cells)
    assert not any("/odm/" in name for name in cells)


def test_a_peer_left_out_takes_along_who_follows_it():
    assert "svm" not in contestants.entered("ijcnn1", ("intelex",))
    assert "svm_at_svc" in contestants.entered("ijcnn1", ("intelex",))
    assert "svc" not in contestants.entered("covtype_50k")
    assert "svm_at_svc" not in contestants.entered("covtype_50k")
    assert "svm_ovr" in contestants.entered("letter")
    assert "svm_ovr" not in contestants.entered("ijcnn1")


# ------------------------------------------------------------------------------------- page


def rung(value, seconds, gap=None, accuracy=0.9, **more):
    found = {"value": value, "seconds": seconds, "cpu_seconds": 2 * seconds}
    found |= {"predict_seconds": seconds / 10, "accuracy": accuracy}
    found |= {"peak_memory_mb": 300.0, "fit_memory_mb": 100.4}
    if gap is not None:
        found |= {"gap": gap, "support_vectors": 2_500}
    return found | more


def cell(*rungs):
    sizes = {"rows": 49_990, "test_rows": 91_701, "features": 22, "version": "fake 1"}
    return {**sizes, "rungs": list(rungs)}


CURVE = {"seconds": [0.1, 1.9], "relative_gap": [1.0, 7e-4]}
CELLS = {
    "ijcnn1/svc/ladder/dense": cell(rung(0.01, 10.0, 9e-4, accuracy=0.987)),
    "ijcnn1/svc/fit/dense/0.01/0": cell(rung(0.01, 10.0)),
    # Looser, yet by chance not faster.
    "ijcnn1/intelex/ladder/dense": cell(rung(0.01, 4.3, 4e-3), rung(0.003, 4.2, 8e-4)),
    "ijcnn1/intelex/fit/dense/0.003/0": cell(rung(0.003, 4.2)),
    "ijcnn1/intelex/fit/dense/0.003/1": cell(rung(0.003, 4.0)),
    "ijcnn1/svm/ladder/dense": cell(rung(8e-4, 2.1, 7e-4, history=CURVE)),
    "ijcnn1/svm/fit/dense/0.0008/0": cell(rung(8e-4, 2.0)),
    "ijcnn1/svm/fit/dense/0.0008/1": cell(rung(8e-4, 3.0)),
    "ijcnn1/odm/ladder/dense": cell(rung(1e-3, 24.0, 7e-4, accuracy=0.985)),
    "ijcnn1/odm/fit/dense/0.001/0": cell(rung(1e-3, 24.0)),
    "ijcnn1/odm/fit/dense/0.001/1": cell(rung(1e-3, 25.0)),
    "ijcnn1/lightgbm/ladder/dense": {"out_of_time": True, "max_time": 3.0},
    # It stalls: nearly the same gap with a tighter tol.
    "a9a/intelex/ladder/csr": cell(rung(3e-4, 5.0, 2e-3), rung(1e-4, 6.0, 1.95e-3)),
    "a9a/intelex/fit/csr/0.0003/0": cell(rung(3e-4, 5.0)),
    "a9a/odm/ladder/csr": cell(rung(1e-3, 10.0, 9e-4)),
    "a9a/odm/fit/csr/0.001/0": cell(rung(1e-3, 10.0)),
}
STAMP = {"commit": "abc", "date": "2026-01-01", "cores": 2, "quiet": True}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("exact_speed")
    store = Store(tmp_path / "exact.json")
    for name, each in CELLS.items():
        store.put(name, {}, each, STAMP)
    race_main(RACE, "", ["render", "--results", str(store.path), "--to", str(tmp_path)])

    def rows_of(name):
        path = tmp_path / f"exact_speed{name}.csv"
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    rows_of.folder = tmp_path
    return rows_of


def test_contestants_show_their_best_round(written):
    rows = {(row["Data set"], row["Contestant"]): row for row in written("")}
    intelex = rows["ijcnn1", "intelex SVC"]
    assert (intelex["Train s"], intelex["CPU s"], intelex["Predict s"]) == ("4", "8", "0.4")
    assert (intelex["Relative gap"], intelex["tol"]) == ("8.0e-04", "0.003")
    assert (intelex["Support vectors"], intelex["Fit MB"]) == ("2,500", "100")
    assert rows["ijcnn1", "scikit-learn SVC"]["Train s"] == "10 (1)"
    assert rows["ijcnn1", "scikit-learn SVC"]["Accuracy"] == "98.70"
    assert rows["ijcnn1", "LightGBM, 300 trees†"]["Train s"] == "–"
    stalled = rows["a9a", "intelex SVC‡"]
    assert (stalled["Rows"], stalled["tol"], stalled["Train s"]) == ("csr", "0.0003", "5")
    assert rows["covtype, 50,000 rows", "scikit-learn SVC"]["Train s"] == "–"
    assert ("cod-rna", "intelex SVC") not in rows


def test_ratios_stand_beside_the_aims(written):
    rows = {row[""]: row for row in written("_targets")}
    assert rows["training, SVM ÷ intelex"]["ijcnn1"] == "0.50 (≤ 0.7)"
    assert rows["training, ODM ÷ intelex"]["ijcnn1"] == "**6.00** (≤ 5)"
    assert rows["prediction, SVM ÷ intelex"]["ijcnn1"] == "**0.50** (≤ 0.4)"
    assert rows["training, SVM ÷ intelex"]["cod-rna"] == "– (≤ 0.7)"
    # C is 1 on a9a anyway.
    assert rows["training, ODM ÷ intelex, C=1"]["a9a"] == "2.00 (≤ 3)"
    accuracy = rows["accuracy, ODM − scikit-learn SVC, points"]
    assert (accuracy["ijcnn1"], accuracy["a9a"]) == ("-0.20", "–")
    assert rows["accuracy, ODM − intelex SVC, points"]["ijcnn1"] == "+8.50"


def test_cases_and_machine(written):
    (ijcnn1,) = (row for row in written("_cases") if row["Data set"] == "ijcnn1")
    assert list(ijcnn1.values())[1:6] == ["49,990", "91,701", "22", "32", "2"]
    machine = {row[""]: row["Measured with"] for row in written("_machine")}
    assert (machine["cores"], machine["packages"]) == ("2", "fake 1")
    assert (machine["oldest cell measured"], machine["quiet"]) == ("2026-01-01", "yes")


def test_curves_are_those_of_the_rows_that_were_chosen():
    found = race.curves_of(CELLS, "ijcnn1")
    assert found["intelex SVC"] == [(4.3, 4e-3), (4.2, 8e-4)]
    assert found["SVM (widemargin)"] == [(0.1, 1.0), (1.9, 7e-4)]
    assert race.curves_of(CELLS, "a9a") == {"intelex SVC": [(5.0, 2e-3), (6.0, 1.95e-3)]}
    assert race.curves_of(CELLS, "cod-rna") == {}


def test_the_picture_is_the_same_for_the_same_cells(written, tmp_path):
    pytest.importorskip("matplotlib")
    RACE.draw(CELLS, tmp_path)
    name = "exact_speed_curves.svg"
    picture = (tmp_path / name).read_text("utf-8")
    assert picture == (written.folder / name).read_text("utf-8")
    assert "<svg" in picture
    RACE.draw({}, tmp_path)
    assert "<svg" in (tmp_path / name).read_text("utf-8")
