"""The harness of the exact speed benchmark: score, ladder, rounds; on generated data."""

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

from benchmarks.papers.results import Results
from benchmarks.speed import measuring
from benchmarks.speed.exact import cases, contestants, ladder, rounds, worker
from benchmarks.speed.exact.__main__ import main
from benchmarks.speed.exact.binary_problems import BinaryProblem, problems_of
from benchmarks.speed.exact.scoring import loss_of, score

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
    extra = {} if make is SVC else {"multi_class": "ovo"}
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
    model = SVMClassifier(C=C, gamma=0.1, tol=1e-6, fit_intercept=True).fit(X, y)
    decision = model.decision_function(X)
    for label, problem in enumerate(problems_of(model, y)):
        ours = (rbf_kernel(X, gamma=0.1) + problem.constant) @ problem.coef
        assert ours == pytest.approx(decision[:, label], abs=1e-5)
        assert score(problem, loss_of("hinge", C), X, 0.1).relative_gap < 1e-5


# ---------------------------------------------------------------------------------- ladder


def walk(gaps, first):
    """Walk a ladder with given gaps by tol; return what was found and the tols asked for."""
    asked = []

    def gap_at(tol):
        asked.append(tol)
        return gaps[ladder.TOLS.index(tol)]

    return ladder.loosest(gap_at, first), asked


FALLING = (5e-2, 2e-2, 4e-3, 9e-4, 3e-4, 1e-4, 3e-5)


@pytest.mark.parametrize("first", ladder.TOLS)
def test_the_loosest_tol_is_found_from_anywhere(first):
    rung, asked = walk(FALLING, first)
    assert (rung.tol, rung.gap, rung.reached) == (3e-3, 9e-4, True)
    assert 1e-2 in asked  # the next looser one is known to miss
    assert len(asked) == len(set(asked))


def test_a_good_first_guess_costs_two_fits():
    assert walk(FALLING, 3e-3)[1] == [3e-3, 1e-2]


def test_all_tols_may_be_good():
    rung, asked = walk((1e-4,) * 7, 1e-2)
    assert rung.tol == 1e-1
    assert asked == [1e-2, 3e-2, 1e-1]


@pytest.mark.parametrize("first", [1e-2, 1e-4])
def test_a_peer_that_stalls_gets_the_loosest_tol_of_its_best_gap(first):
    rung, _ = walk((1e-1, 5e-2, 1e-2, 5e-3, 2.0e-3, 1.95e-3, 1.95e-3), first)
    assert (rung.tol, rung.gap, rung.reached) == (1e-3, 2.0e-3, False)


def test_a_peer_that_runs_out_of_time_is_not_asked_for_more():
    rung, asked = walk((5e-2, 2e-2, 4e-3, None, None, None, None), 1e-2)
    assert (rung.tol, rung.reached) == (1e-2, False)
    assert asked == [1e-2, 3e-3, 3e-2]
    rung, asked = walk((5e-2, 2e-2, None, None, None, None, None), 1e-3)
    assert rung.tol == 3e-2
    assert asked == [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
    assert walk((None,) * 7, 1e-4)[0] is None


def test_the_first_tol_must_be_of_the_ladder():
    with pytest.raises(ValueError, match=r"`first` must be one of .*; got 0.5"):
        ladder.loosest(lambda tol: 0.0, 0.5)


# ------------------------------------------------------------------------- cases and worker


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
    published = cases.rows_of(cases.CASES["ijcnn1"])
    assert published.X.shape == (500, 2)
    assert published.X.max() > 2  # as published
    assert published.X.dtype == np.float32
    case = cases.Case("covtype_binary", 1.0, 1.0, "", test_rows=300, rows=200)
    drawn = cases.rows_of(case)
    assert (drawn.X.shape, drawn.X_test.shape) == ((200, 2), (300, 2))
    assert drawn.X.min(axis=0) == pytest.approx(0.0)
    assert drawn.X.max(axis=0) == pytest.approx(1.0)
    larger = cases.rows_of(cases.Case("covtype_binary", 1.0, 1.0, "", test_rows=300, rows=400))
    assert np.array_equal(larger.y_test, drawn.y_test)
    assert np.array_equal(larger.y[:200], drawn.y)
    pair = cases.rows_of(cases.CASES["mnist_3_8"])
    assert set(pair.y) == {3}
    assert set(pair.y_test) == {3, 8}


def test_quick_rows_are_few(folder, monkeypatch):
    monkeypatch.setattr(cases, "QUICK_ROWS", 40)
    assert cases.rows_of(cases.CASES["ijcnn1"], quick=True).X.shape == (40, 2)


def job_of(folder, family, **changes):
    settings = {"C": C, "gamma": 0.05, "tol": 1e-3}
    job = {"folder": str(folder), "family": family, "loss": "hinge", "settings": settings}
    return {**job, "format": "dense", "scored": True, **changes}


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("family", ["svc", "svm", "intelex"])
def test_a_worker_measures_a_fit(folder, family, form):
    if family == "intelex":
        pytest.importorskip("sklearnex")
    cases.save(cases.rows_of(cases.CASES["ijcnn1"]), folder)
    cell = worker.measure(job_of(folder, family, format=form))
    assert cell["accuracy"] > 0.85
    assert 0 <= cell["relative_gap"] < 5e-3
    assert 0 < cell["support_vectors"] < cell["rows"] == 500
    assert 0 < cell["fit_seconds"] < 10
    assert cell["fit_cpu_seconds"] > 0
    assert cell["peak_memory_mb"] > cell["fit_memory_mb"] >= 0
    assert ("history" in cell) == (family == "svm")


def test_lightgbm_has_no_gap(folder):
    pytest.importorskip("lightgbm")
    cases.save(cases.rows_of(cases.CASES["ijcnn1"]), folder)
    cell = worker.measure(job_of(folder, "lightgbm", settings={}, loss=None))
    assert cell["accuracy"] > 0.85
    assert "relative_gap" not in cell


def test_a_fit_runs_in_a_process_of_its_own(folder):
    cases.save(cases.rows_of(cases.CASES["ijcnn1"]), folder)
    cell = measuring.measure(rounds.WORKER, job_of(folder, "svm", scored=False), 60.0)
    assert cell["accuracy"] > 0.85
    assert cell["version"].startswith("widemargin ")
    assert "relative_gap" not in cell
    assert measuring.measure(rounds.WORKER, job_of(folder, "svm"), 0.01)["out_of_time"]
    wrong = job_of(folder, "svm", settings={"C": -1.0})
    with pytest.raises(measuring.FitFailed, match="The 'C' parameter"):
        measuring.measure(rounds.WORKER, wrong, 60.0)


# ---------------------------------------------------------------------------------- rounds


class FakeWorker:
    """Answers as fits would: the gap is a tenth of tol for peers, half of it for ours."""

    def __init__(self):
        self.jobs, self.seconds, self.failing = [], 1.0, ()

    def __call__(self, worker, job, max_time):
        self.jobs.append(job)
        if job["family"] in self.failing:
            raise measuring.FitFailed("no luck")
        if self.seconds > max_time:
            return {"out_of_time": True, "max_time": max_time}
        # Dense rows are the slower ones; a later fit is faster.
        spent = self.seconds / len(self.jobs) + (job["format"] == "dense")
        cell = {"accuracy": 0.9, "fit_seconds": spent, "fit_cpu_seconds": spent}
        cell |= {"predict_seconds": 0.1, "peak_memory_mb": 200.0, "fit_memory_mb": 20.0}
        cell |= {"rows": 500, "test_rows": 400, "features": 2, "version": "fake 1"}
        if job["loss"] is not None:
            peer = job["family"] in ("svc", "intelex")
            gap = job["settings"]["tol"] * (0.1 if peer else 0.5)
            cell |= {"support_vectors": 7, "relative_gap": gap}
            if not peer:
                cell["history"] = {"seconds": [0.5, 1.0], "relative_gap": [1.0, gap]}
        return cell


@pytest.fixture
def fits(monkeypatch, folder):
    fake = FakeWorker()
    monkeypatch.setattr(measuring, "measure", fake)
    return fake


def test_ours_are_asked_for_the_gap_of_their_peer(folder, fits):
    results = Results(folder / "exact.json")
    assert rounds.run(results, ("ijcnn1",), rounds.Limits(repeats=2)) == []
    cells = results.cells
    assert cells["ijcnn1/svc/choice"]["tol"] == cells["ijcnn1/intelex/choice"]["tol"] == 1e-2
    for name in ("svm", "svm_intercept", "svm_at_svc"):
        assert cells[f"ijcnn1/{name}/fit/dense/1"]["settings"]["settings"]["tol"] == 1e-3
    assert cells["ijcnn1/odm_C1/fit/dense/1"]["settings"]["settings"]["C"] == 1.0
    assert "ijcnn1/svc/fit/dense/0.01/1" not in cells  # once
    assert "ijcnn1/intelex/fit/dense/0.01/1" in cells
    scored_fits = [job for job in fits.jobs if job["scored"]]
    assert len(scored_fits) == sum(name.endswith("/0") for name in cells)
    for peer in ("svc", "intelex", "intelex_C1"):
        assert f"ijcnn1/{peer}/fit/dense/0.03/0" in cells  # the next looser tol was tried
    # Everybody once before anybody a second time.
    assert all(job["scored"] for job in fits.jobs[: len(scored_fits)])


def test_a_run_goes_on_where_it_was(folder, fits):
    path = folder / "exact.json"
    rounds.run(Results(path), ("ijcnn1",), rounds.Limits(repeats=1))
    done = len(fits.jobs)
    rounds.run(Results(path), ("ijcnn1",), rounds.Limits(repeats=1))
    assert len(fits.jobs) == done
    rounds.run(Results(path), ("ijcnn1",), rounds.Limits(repeats=2))
    assert len(fits.jobs) == done + len(contestants.entered(cases.CASES["ijcnn1"])) - 1
    rounds.run(Results(path, again=True), ("ijcnn1",), rounds.Limits(repeats=1))
    assert len(fits.jobs) == 2 * done + len(contestants.entered(cases.CASES["ijcnn1"])) - 1


def test_the_faster_form_of_the_rows_is_kept(folder, fits):
    results = Results(folder / "exact.json")
    rounds.run(results, ("a9a",), rounds.Limits(repeats=2))
    assert results.cells["a9a/intelex/choice"]["format"] == "csr"
    assert "a9a/svm/fit/dense/0" in results.cells
    assert "a9a/svm/fit/dense/1" not in results.cells
    assert "a9a/svm/fit/csr/1" in results.cells
    assert not any("_C1" in name for name in results.cells)  # C is 1 there


def test_slow_fits_are_not_repeated_and_endless_ones_given_up(folder, fits):
    fits.seconds = 1000.0
    results = Results(folder / "exact.json")
    limits = {"repeats": 2, "without": ("lightgbm",)}
    rounds.run(results, ("ijcnn1",), rounds.Limits(max_time=1e4, once_above=1.0, **limits))
    assert not any(name.endswith("/1") for name in results.cells)
    late = Results(folder / "late.json")
    rounds.run(late, ("ijcnn1",), rounds.Limits(max_time=10.0, **limits))
    assert late.cells["ijcnn1/intelex/choice"]["tol"] is None
    assert late.cells["ijcnn1/svm/fit/dense/0"]["out_of_time"]
    tried = len(fits.jobs)
    rounds.run(late, ("ijcnn1",), rounds.Limits(max_time=1e4, once_above=1.0, **limits))
    assert len(fits.jobs) > tried  # there is more time now
    assert late.cells["ijcnn1/odm/fit/dense/0"]["accuracy"] == 0.9
    assert late.cells["ijcnn1/intelex/choice"]["tol"] == 1e-2


def test_a_failure_stops_nobody_else(folder, fits):
    fits.failing = ("odm",)
    results = Results(folder / "exact.json")
    failures = rounds.run(results, ("ijcnn1",), rounds.Limits(repeats=1))
    assert failures == ["ijcnn1/odm: no luck", "ijcnn1/odm_C1: no luck"]
    assert "ijcnn1/lightgbm/fit/dense/0" in results.cells
    assert not any("/odm/fit" in name for name in results.cells)


def test_a_peer_left_out_takes_along_who_follows_it():
    case = cases.CASES["ijcnn1"]
    assert "svm" not in contestants.entered(case, ("intelex",))
    assert "svm_at_svc" in contestants.entered(case, ("intelex",))
    assert "svc" not in contestants.entered(cases.CASES["covtype_50k"])
    assert "svm_ovr" in contestants.entered(cases.CASES["letter"])
    assert "svm_ovr" not in contestants.entered(case)


def test_an_absent_peer_is_named(monkeypatch, folder):
    monkeypatch.setattr(contestants, "find_spec", lambda module: None)
    with pytest.raises(SystemExit, match=r"scikit-learn-intelex .* --without intelex"):
        main(["--results", str(folder / "exact.json")])
