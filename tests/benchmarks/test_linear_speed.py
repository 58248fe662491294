"""Linear training, and the harness of all races: problem, ladders, rounds and page."""

import csv
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from oracle import solve_with_clarabel

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race import generated, plugin, processes, rounds, worker
from benchmarks.race.command import race_main
from benchmarks.race.data import CSR, DENSE, DataSet, saved
from benchmarks.race.objective import objective
from benchmarks.race.rounds import measured
from benchmarks.race.store import Store
from benchmarks.speed.linear import contestants
from benchmarks.speed.linear.contestants import CASES, entries
from benchmarks.speed.linear.libraries import LIBRARIES
from benchmarks.speed.linear.race import RACE, ratio


@pytest.fixture(scope="module")
def noisy():
    X, y = make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=0)
    return X.astype(np.float32), np.where(y == 1, 1, -1)


@pytest.fixture
def folder(tmp_path, monkeypatch, noisy):
    """A data folder with two small sets named as those of the benchmark, dense and sparse."""
    X, y = noisy
    np.savez(tmp_path / "ijcnn1.npz", X=X, y=y)
    np.savez(tmp_path / "covtype_binary.npz", X=X, y=np.where(y > 0, 2, 1))
    counts = sp.csr_matrix(np.abs(np.round(X)))
    parts = {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr}
    np.savez(tmp_path / "news20_bydate.npz", **parts, shape=counts.shape, y=np.arange(150) % 20)
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    return tmp_path


# ---------------------------------------------------------------------------------- problem


def test_the_generated_set_is_the_same_at_every_call():
    X, y = generated.words(500, 400)
    again, labels = generated.words(500, 400)
    assert (again != X).nnz == 0
    assert np.array_equal(y, labels)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert np.asarray(X.multiply(X).sum(axis=1)).ravel() == pytest.approx(1.0, abs=1e-5)
    assert abs(y.mean()) < 0.1
    columns = np.bincount(X.indices, minlength=400)
    assert columns[:40].sum() > 3 * columns[-40:].sum()


def test_rows_are_scaled_and_classes_chosen(folder):
    data = RACE.rows(CASES["covtype"], quick=False)
    X, y = data.X, data.y
    assert X.min(axis=0) == pytest.approx(0.0)
    assert X.max(axis=0) == pytest.approx(1.0)
    assert X.dtype == np.float32
    assert set(y) == {-1, 1}
    data = RACE.rows(CASES["news20"], quick=False)
    X, y = data.X, data.y
    assert (y == 1).sum() == 5 * 8 - 2 + 2  # comp.*: five labels of twenty
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    assert norms[norms > 0] == pytest.approx(1.0, abs=1e-5)
    data.save(folder)
    dense, sparse = saved(folder, DENSE).X, saved(folder, CSR).X
    assert np.array_equal(dense, sparse.toarray())
    assert np.array_equal(dense, X.toarray())
    assert np.array_equal(saved(folder, CSR).y, y)
    assert saved(folder, CSR).y_test is None
    assert sparse.indptr.dtype == np.int32


@pytest.mark.parametrize("loss", contestants.LOSSES)
def test_the_objective_is_that_of_an_independent_solver(noisy, loss):
    X, y = noisy
    extended = np.hstack([X.astype(np.float64), np.ones((len(y), 1))])
    solved = solve_with_clarabel(extended @ extended.T, y.astype(float), loss, 1.0)
    w = extended.T @ (y * solved.net_dual)
    assert objective(w, X, y, loss, 1.0) == pytest.approx(solved.objective, rel=1e-5)
    assert objective(w, sp.csr_matrix(X), y, loss, 1.0) == pytest.approx(solved.objective, rel=1e-5)
    assert objective(0.9 * w, X, y, loss, 1.0) > solved.objective
    with pytest.raises(ValueError, match="7 entries"):
        objective(w[:-1], X, y, loss, 1.0)


# With two threads LIBLINEAR does the same, and waits long for a core that is busy.
# Loading snapml makes denormal numbers zero for every test of this process.
PEERS = [
    (entry, form)
    for loss in contestants.LOSSES
    for entry in entries("ijcnn1", loss, ("widemargin", "snapml", "vw"))
    for form in entry.forms
    if entry.settings.get("threads") != 2
]


@pytest.mark.parametrize(("entry", "form"), PEERS, ids=lambda each: getattr(each, "name", each))
def test_every_peer_solves_the_same_problem(noisy, entry, form):
    """Its last rung comes close to the optimum, whichever label is first."""
    library, loss = LIBRARIES[entry.library], entry.problem["loss"]
    pytest.importorskip(library.module)
    X, y = noisy
    extended = np.hstack([X.astype(np.float64), np.ones((len(y), 1))])
    best = solve_with_clarabel(extended @ extended.T, y.astype(float), loss, 1.0).objective
    margin = (
        1e-2 if entry.name == "multicore_hinge_1" else 1e-3
    )  # it stops after 300 passes at most
    settings = {**entry.settings, entry.rung: entry.ladder[-1]}
    for first in (1, -1):
        order = np.argsort(-first * y, kind="stable")
        rows = X[order] if form == DENSE else sp.csr_matrix(X[order])
        data = library.prepare(rows, y[order])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = library.weights(library.fit(data, entry.problem, settings))
        found = objective(w, rows, y[order], loss, 1.0)
        assert (1.0 - 1e-6) * best <= found <= (1.0 + margin) * best


def test_vowpal_wabbit_comes_near_the_same_optimum(noisy):
    """Its plain steps do, slowly; the weights are those with the penalty's factor."""
    pytest.importorskip("vowpalwabbit")
    X, y = noisy
    extended = np.hstack([X.astype(np.float64), np.ones((len(y), 1))])
    best = solve_with_clarabel(extended @ extended.T, y.astype(float), "hinge", 1.0).objective
    entry = next(each for each in entries("ijcnn1", "hinge") if each.name == "vw_plain_1")
    library, rows = LIBRARIES["vw"], sp.csr_matrix(X)
    found = []
    for passes in (1, 1_000):
        data = library.prepare(rows, y)
        model = library.fit(data, entry.problem, {**entry.settings, "passes": passes})
        found.append(objective(library.weights(model), rows, y, "hinge", 1.0))
    assert found[0] > found[1]
    assert best <= found[1] <= 1.02 * best


def test_an_optional_library_is_skipped_and_others_are_asked_for(monkeypatch, capsys):
    monkeypatch.setattr(
        "benchmarks.race.plugin.find_spec", lambda name: None if name == "cyanure" else name
    )
    assert RACE.check_libraries(("snapml",)) == ("snapml", "cyanure")
    assert capsys.readouterr().out == "cyanure is skipped: cyanure is not installed.\n"
    monkeypatch.setattr("benchmarks.race.plugin.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install scikit-learn, or leave it out"):
        RACE.check_libraries(())


# ----------------------------------------------------------------------------------- worker


def job_of(folder, **changes):
    job = {"race": RACE.module, "folder": str(folder), "library": "linear_svc", "form": "csr"}
    job |= {"problem": {"loss": "hinge", "C": 1.0}, "settings": {"dual": True}}
    job |= {"rung": "max_iter", "ladder": [1, 10, 100, 1000], "target": None, "budget": 60.0}
    return {**job, "detail": True, **changes}


def test_a_worker_climbs_until_the_target(folder, noisy):
    DataSet(*noisy).save(folder)
    everything = list(worker.climb(job_of(folder)))[-1]
    values = [rung["objective"] for rung in everything["rungs"]]
    assert len(values) == 4
    assert values[0] > values[-1]
    assert everything["finished"]
    reached = list(worker.climb(job_of(folder, target=["objective", values[1]])))[-1]
    assert [rung["value"] for rung in reached["rungs"]] == [1, 10]
    assert reached["finished"]
    assert reached["rungs"][1]["objective"] == values[1]
    assert (reached["rows"], reached["classes"]) == (150, 2)
    assert all(rung["seconds"] > 0 for rung in reached["rungs"])
    given_up = list(worker.climb(job_of(folder, budget=0.0)))[-1]
    assert len(given_up["rungs"]) == 1
    assert not given_up["finished"]


def test_a_worker_that_is_ended_leaves_what_it_had(monkeypatch):
    def too_late(command, **settings):
        raise subprocess.TimeoutExpired(command, 1.0, output=b'{"rungs": [1]}\n{"rungs": [1, 2')

    monkeypatch.setattr(subprocess, "run", too_late)
    cell = processes.measure(rounds.WORKER, {}, 1.0)
    assert cell == {"rungs": [1], "out_of_time": True, "max_time": 1.0}


# ----------------------------------------------------------------------------------- rounds


class FakeWorker:
    """Answers as fits would: the objective is 1 + 0.1 / rung², the seconds are the rung."""

    def __init__(self):
        self.jobs, self.failing = [], ()

    def __call__(self, module, job, max_time):
        self.jobs.append(job)
        if job["library"] in self.failing:
            raise processes.FitFailed("no luck")
        rungs = []
        for value in job["ladder"]:
            effort = value if job["rung"] in ("max_iter", "passes") else 1.0 / value
            slower = 1.5 if job["form"] == "dense" else 1.0
            found = 1.0 + 0.1 / effort**2
            rungs.append({"value": value, "objective": found, "fit_memory_mb": 1.0})
            rungs[-1] |= {"seconds": slower * effort, "cpu_seconds": 2.0 * effort}
            if job["target"] is not None and found <= job["target"][1]:
                break
        return {"rows": 9, "features": 3, "version": "fake 1", "rungs": rungs, "finished": True}


@pytest.fixture
def fits(monkeypatch, folder):
    fake = FakeWorker()
    monkeypatch.setattr(processes, "measure", fake)
    monkeypatch.setattr(plugin, "find_spec", lambda module: True)
    return fake


def run(folder, *options, losses=("hinge",)):
    arguments = ["--results", str(folder / "linear.json"), "--only", "ijcnn1", "--repeats", "2"]
    race_main(RACE, "", [*arguments, *options, "--losses", *losses])
    return Store(folder / "linear.json").cells


def entry_of(name, loss="hinge"):
    return next(entry for entry in entries("ijcnn1", loss) if entry.name == name)


def test_everybody_is_measured_with_the_first_rung_that_is_close_enough(folder, fits):
    cells = run(folder)
    both = measured(RACE, cells, entry_of("snapml"))
    assert (both.form, both.value, both.reached) == ("csr", 10, True)
    assert (both.median("seconds"), len(both.fits)) == (10, 2)
    assert measured(RACE, cells, entry_of("svc_dual")).form == "csr"
    assert "ijcnn1/hinge/svc_dual/ladder/dense" not in cells
    assert cells["ijcnn1/hinge/ours/ladder/csr"]["rungs"][0]["value"] == 1e-3
    value, peer = ratio(cells, "ijcnn1", "hinge", "seconds")
    assert value == pytest.approx(1e3 / 10)
    assert peer == "svc_dual"
    # The rounds come last, everybody once before anybody a second time.
    entered = len(entries("ijcnn1", "hinge"))
    assert all(len(job["ladder"]) == 1 for job in fits.jobs[-2 * entered :])
    halves = fits.jobs[-2 * entered : -entered], fits.jobs[-entered:]
    assert halves[0] == halves[1]


def test_a_run_continues_where_it_stopped(folder, fits):
    run(folder, "--max-time", "60")
    done = len(fits.jobs)
    run(folder, "--max-time", "60")
    assert len(fits.jobs) == done
    store, name = Store(folder / "linear.json"), "ijcnn1/hinge/sgd/ladder/csr"
    unfinished = store.cells[name] | {"finished": False}
    store.put(name, store.settings[name], unfinished, store.stamps[name])
    run(folder, "--max-time", "60")
    assert len(fits.jobs) == done  # no more time than before
    run(folder, "--max-time", "90")
    assert len(fits.jobs) == done + 1
    run(folder, "--max-time", "90", "--again")
    assert len(fits.jobs) == 2 * done + 1


def test_failures_and_libraries_left_out_stop_nobody_else(folder, fits):
    fits.failing = ("snapml",)
    without = ["--without", "widemargin", "sgd"]
    with pytest.raises(SystemExit, match=r"hinge/snapml: no luck\n.*hinge/snapml_1: no luck"):
        run(folder, *without, losses=("hinge", "odm"))
    cells = Store(folder / "linear.json").cells
    assert not any("ours" in name or "sgd" in name for name in cells)
    assert "ijcnn1/hinge/svc_dual/fit/csr/10/0" in cells
    assert not any("/odm/" in name for name in cells)  # ours alone has that loss


def test_an_absent_library_is_named(monkeypatch, folder):
    monkeypatch.setattr(plugin, "find_spec", lambda module: None)
    with pytest.raises(SystemExit, match=r"snapml .* --without snapml"):
        run(folder, "--without", "linear_svc", "liblinear", "sgd")


# ------------------------------------------------------------------------------------- page


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_tables_show_medians_ratios_and_misses(folder, fits):
    run(folder, losses=("hinge", "odm"))
    store, start = Store(folder / "linear.json"), "ijcnn1/hinge/snapml/fit/csr/10"
    store.cells[f"{start}/0"]["rungs"][0]["seconds"] = 30.0
    for number in range(2):  # by chance the repeats do not come as close
        store.cells[f"{start}/{number}"]["rungs"][0]["objective"] = 1.002
    del store.cells["ijcnn1/hinge/svc_dual/fit/csr/10/0"]["rungs"]  # it was given up
    store.write()
    race_main(RACE, "", ["render", "--results", str(store.path), "--to", str(folder)])
    rows = {row["Contestant"]: row for row in table(folder / "linear_speed_hinge.csv")}
    assert rows["snapml‡"]["Seconds"] == "20"
    assert rows["LinearSVC, dual"]["Seconds"] == "10"
    assert rows["LinearSVC, dual"]["Setting"] == "max_iter=10"
    assert rows["LinearSVC, dual"]["Above the optimum"] == "1.0e-03"
    ratios = table(folder / "linear_speed_ratios.csv")
    row = next(each for each in ratios if each["Data set"] == "ijcnn1" and each["Loss"] == "hinge")
    assert row["Ours ÷ fastest, seconds"] == "**100.00**"
    assert row["Fastest peer"] == "LinearSVC, dual"
    assert {each["Loss"] for each in ratios} == {"hinge", "squared hinge"}
    assert len(table(folder / "linear_speed_odm.csv")) == 2
    sizes = table(folder / "linear_speed_cases.csv")[2]
    assert (sizes["Training rows"], sizes["Features"]) == ("9", "3")


def test_nothing_measured_leaves_the_tables_open(tmp_path):
    race_main(RACE, "", ["render", "--results", str(tmp_path / "no.json"), "--to", str(tmp_path)])
    assert len(table(tmp_path / "linear_speed_cases.csv")) == len(CASES)
    assert table(tmp_path / "linear_speed_machine.csv")[0]["Measured with"] == "–"
