"""Multi-class training: problem, libraries, the best C and the page."""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race import plugin, processes, worker
from benchmarks.race.command import race_main
from benchmarks.race.data import DataSet
from benchmarks.race.rounds import measured
from benchmarks.race.store import Store
from benchmarks.speed.multiclass import contestants, machines, race
from benchmarks.speed.multiclass.contestants import BEST, CASES, LIBRARIES, ONE
from benchmarks.speed.multiclass.objective import dual, primal
from benchmarks.speed.multiclass.race import RACE, best_peer, entries


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(160, 6, centers=5, cluster_std=5.0, random_state=0)
    return (X / 5.0).astype(np.float32), y


@pytest.fixture
def folder(tmp_path, monkeypatch, blobs):
    X, y = blobs
    np.savez(tmp_path / "letter.npz", X=X[:120], y=7 * y[:120], X_test=X[120:], y_test=7 * y[120:])
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.parametrize("formulation", machines.TITLES)
def test_the_objective_and_the_bound_are_those_of_a_certificate(blobs, formulation, constant):
    X, y = blobs
    for rows in (X, sp.csr_matrix(X)):
        solution = machines.fit(rows, y, 5, formulation, 0.5, constant=constant, tol=1e-4)
        problem = (rows, y, formulation, 0.5, constant)
        certificate = solution.certificate
        assert primal(solution.weights, *problem) == pytest.approx(certificate.primal, rel=1e-6)
        assert dual(solution.duals, *problem) == pytest.approx(certificate.dual, rel=1e-6)
        assert dual(2.0 * solution.duals, *problem) <= certificate.primal
    if constant:
        with pytest.raises(ValueError, match="7 columns"):
            primal(np.zeros((5, 6)), *problem)


# Two threads do the same, and wait long for a core that is busy; loading snapml makes denormal
# numbers zero for every test of this process.
PEERS = [
    name
    for name, each in contestants.CONTESTANTS.items()
    if each.is_peer and each.threads == 1 and each.library != "snapml"
]


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_solves_the_problem_of_its_formulation(blobs, name):
    entry = contestants.CONTESTANTS[name].entry(name, "letter", 0.5)
    library, formulation = LIBRARIES[entry.library], entry.problem["formulation"]
    pytest.importorskip(library.module)
    X, y = blobs
    order = np.argsort(-y, kind="stable")  # labels do not come in the order of their numbers
    rows, codes = sp.csr_matrix(X[order]), y[order]
    settings = {**entry.settings, entry.rung: entry.ladder[-1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.fit(library.prepare(rows, codes), entry.problem, settings)
    found = primal(library.weights(model), rows, codes, formulation, 0.5)
    best = machines.fit(rows, codes, 5, formulation, 0.5, constant=1.0, tol=1e-6)
    assert best.certificate.dual * (1 - 1e-6) <= found <= 1.002 * best.certificate.primal


def test_ours_give_a_bound_of_their_own(folder):
    RACE.rows(CASES["letter"], quick=False).save(folder)
    job = {"race": RACE.module, "folder": str(folder), "library": "widemargin", "form": "dense"}
    job |= {"problem": {"formulation": "ww", "C": 1.0}, "settings": {"threads": 1}, "rung": "tol"}
    job |= {"ladder": [1e-2], "target": None, "budget": 60.0, "detail": True}
    (cell,) = worker.climb(job)
    assert (cell["rows"], cell["test_rows"], cell["classes"]) == (120, 40, 5)
    (rung,) = cell["rungs"]
    gap = 1.0 - rung["bound"] / rung["objective"]
    assert gap == pytest.approx(rung["own_relative_gap"], rel=1e-3)
    assert gap <= 1e-2
    assert 0.0 < rung["error"] < 0.8


def test_the_best_C_is_that_of_the_folds(blobs):
    found = race.best_C(type("Rows", (), {"data": DataSet(*blobs)}), "ww")
    lowest = min(found["errors"].values())
    assert found["errors"][f"{found['C']:g}"] == lowest
    smaller = [error for C, error in found["errors"].items() if float(C) < found["C"]]
    assert all(error > lowest for error in smaller)
    assert len(found["errors"]) == len(race.GRID)


class FakeWorker:
    """Answers as fits would: the gap to 100 is the rung's tenth, the seconds its inverse."""

    def __init__(self):
        self.jobs = []

    def __call__(self, module, job, max_time):
        self.jobs.append(job)
        rungs = []
        for value in job["ladder"]:
            effort = value if job["rung"] == "max_iter" else 1.0 / value
            threads = job["settings"].get("threads", 1)
            found = 100.0 / (1.0 - 0.1 / effort)
            rungs.append({"value": value, "objective": found, "error": 0.25})
            rungs[-1] |= {"seconds": effort / threads, "cpu_seconds": effort}
            rungs[-1] |= {"peak_memory_mb": 1.0}
            if job["library"] == "widemargin":
                rungs[-1] |= {"bound": 100.0}
            if job["target"] is not None and found <= job["target"][1]:
                break
        sizes = {"rows": 9, "features": 3, "classes": 5, "version": "fake 1"}
        return {**sizes, "rungs": rungs, "finished": True}


@pytest.fixture
def fits(monkeypatch, folder):
    fake = FakeWorker()
    monkeypatch.setattr(processes, "measure", fake)
    monkeypatch.setattr(race, "best_C", lambda *rest: {"C": 3.0, "errors": {"3": 0.2}})
    monkeypatch.setattr(plugin, "find_spec", lambda module: True)
    return fake


def run(folder, *options):
    race_main(RACE, "", ["--results", str(folder / "results.json"), "--repeats", "2", *options])
    return Store(folder / "results.json").cells


def entry_of(cells, choice, name):
    return next(entry for entry in entries(cells, "letter", choice) if entry.name == name)


def test_everybody_is_measured_with_the_first_rung_that_is_good_enough(folder, fits):
    cells = run(folder, "--only", "letter")
    found = measured(RACE, cells, entry_of(cells, ONE, "svc_cs"))
    assert (found.value, found.reached, len(found.fits)) == (0.1, True, 2)
    assert entry_of(cells, BEST, "snapml_ovr_2").problem["C"] == 3.0
    assert best_peer(cells, "letter", ONE, "cs", "seconds")[1].median("seconds") == 10
    done = len(fits.jobs)
    run(folder, "--only", "letter")
    assert len(fits.jobs) == done
    run(folder, "render", "--to", str(folder))

    def table(name):
        with (folder / f"multiclass_speed_{name}.csv").open(encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    ratio = next(row for row in table("ratios") if (row["C"], row["Threads"]) == ("1", "2"))
    assert ratio["WW ÷ CS, seconds"] == "**5.00**"  # 100 / 2 beside 10
    assert ratio["WW ÷ CS, CPU seconds"] == "**10.00**"
    assert ratio["Error of WW, %"] == "25.00"
    assert any(row["C"] == "best: 3, 3" for row in table("ratios"))
    assert len(table("one")) == len(contestants.CONTESTANTS)
    assert table("cases")[3]["Best C, WW"] == "3"
    assert {tuple(row.values()) for row in table("many")} == {("–",) * 10}


def test_a_generated_case_has_its_own_contestants(folder, fits):
    cells = run(folder, "--only", "generated_1000", "--quick", "--without", "liblinear")
    assert {job["library"] for job in fits.jobs} == {"widemargin", "linear_svc"}
    assert not any("/search/" in name for name in cells)
    assert all(job["quick"] for job in fits.jobs)
    run(folder, "render", "--to", str(folder))
    text = (folder / "multiclass_speed_many.csv").read_text(encoding="utf-8")
    assert text.count("generated, 1,000 classes") == 6
