"""The harness of the linear speed benchmark: problem, ladders, rounds and tables."""

import csv
import json
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

from benchmarks.papers.results import Results
from benchmarks.speed import measuring
from benchmarks.speed.linear import cases, contestants, generated, rounds, tables, worker
from benchmarks.speed.linear.__main__ import main
from benchmarks.speed.linear.adapters import ADAPTERS
from benchmarks.speed.linear.measured import chosen, measured, ratio
from benchmarks.speed.linear.objective import objective

LIMITS = rounds.Limits(repeats=2, max_time=60.0)


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
    X, y = generated.generate(500, 400)
    again, labels = generated.generate(500, 400)
    assert (again != X).nnz == 0
    assert np.array_equal(y, labels)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert np.asarray(X.multiply(X).sum(axis=1)).ravel() == pytest.approx(1.0, abs=1e-5)
    assert abs(y.mean()) < 0.1
    columns = np.bincount(X.indices, minlength=400)
    assert columns[:40].sum() > 3 * columns[-40:].sum()


def test_rows_are_scaled_and_classes_chosen(folder):
    X, y = cases.rows_of(cases.CASES["covtype"])
    assert X.min(axis=0) == pytest.approx(0.0)
    assert X.max(axis=0) == pytest.approx(1.0)
    assert X.dtype == np.float32
    assert set(y) == {-1, 1}
    X, y = cases.rows_of(cases.CASES["news20"])
    assert (y == 1).sum() == 5 * 8 - 2 + 2  # comp.*: five labels of twenty
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    assert norms[norms > 0] == pytest.approx(1.0, abs=1e-5)
    cases.save(X, y, folder)
    dense, _ = cases.saved(folder, cases.DENSE)
    sparse, labels = cases.saved(folder, cases.CSR)
    assert np.array_equal(dense, sparse.toarray())
    assert np.array_equal(dense, X.toarray())
    assert np.array_equal(labels, y)
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
PEERS = {
    name: each
    for name, each in contestants.CONTESTANTS.items()
    if each.is_peer and each.settings.get("threads") != 2
}
ENTRIES = [(name, loss) for name, each in PEERS.items() for loss in each.losses]


@pytest.mark.parametrize("form", [cases.DENSE, cases.CSR])
@pytest.mark.parametrize(("name", "loss"), ENTRIES)
def test_every_peer_solves_the_same_problem(noisy, name, loss, form):
    """Its last rung comes close to the optimum, whichever label is first."""
    contestant = PEERS[name]
    if contestant.adapter == "snapml":
        pytest.skip("loading it makes denormal numbers zero for every test of this process")
    pytest.importorskip(ADAPTERS[contestant.adapter].module)
    if form not in contestant.forms(cases.CASES["ijcnn1"]):
        pytest.skip("it is not measured with this form of the rows")
    X, y = noisy
    extended = np.hstack([X.astype(np.float64), np.ones((len(y), 1))])
    best = solve_with_clarabel(extended @ extended.T, y.astype(float), loss, 1.0).objective
    margin = 1e-2 if name == "multicore_hinge_1" else 1e-3  # it stops after 300 passes at most
    adapter = ADAPTERS[contestant.adapter]
    settings = {**contestant.settings, contestant.rung: contestant.ladder[-1]}
    for first in (1, -1):
        order = np.argsort(-first * y, kind="stable")
        rows = X[order] if form == cases.DENSE else sp.csr_matrix(X[order])
        data = adapter.prepare(rows, y[order])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = adapter.weights(adapter.fit(data, loss, 1.0, settings))
        found = objective(w, rows, y[order], loss, 1.0)
        assert (1.0 - 1e-6) * best <= found <= (1.0 + margin) * best


# ----------------------------------------------------------------------------------- worker


def job_of(folder, **changes):
    job = {"folder": str(folder), "adapter": "linear_svc", "loss": "hinge", "C": 1.0}
    job |= {"form": "csr", "settings": {"dual": True}, "rung": "max_iter"}
    return job | {"ladder": [1, 10, 100, 1000], "target": None, "budget": 60.0, **changes}


def test_a_worker_climbs_until_the_target(folder, noisy):
    X, y = noisy
    cases.save(X, y, folder)
    everything = list(worker.climb(job_of(folder)))[-1]
    values = [rung["objective"] for rung in everything["rungs"]]
    assert len(values) == 4
    assert values[0] > values[-1]
    assert everything["finished"]
    reached = list(worker.climb(job_of(folder, target=values[1])))[-1]
    assert [rung["value"] for rung in reached["rungs"]] == [1, 10]
    assert reached["finished"]
    assert reached["rungs"][1]["objective"] == values[1]
    assert reached["rows"] == 150
    assert all(rung["seconds"] > 0 for rung in reached["rungs"])
    given_up = list(worker.climb(job_of(folder, budget=0.0)))[-1]
    assert len(given_up["rungs"]) == 1
    assert not given_up["finished"]


def test_a_worker_that_is_ended_leaves_what_it_had(monkeypatch):
    def too_late(command, **settings):
        raise subprocess.TimeoutExpired(command, 1.0, output=b'{"rungs": [1]}\n{"rungs": [1, 2')

    monkeypatch.setattr(subprocess, "run", too_late)
    cell = measuring.measure(rounds.WORKER, {}, 1.0)
    assert cell == {"rungs": [1], "out_of_time": True, "max_time": 1.0}


# ----------------------------------------------------------------------------------- rounds


class FakeWorker:
    """Answers as fits would: the objective is 1 + 1 / rung², the seconds are the rung."""

    def __init__(self):
        self.jobs, self.failing = [], ()

    def __call__(self, worker, job, max_time):
        self.jobs.append(job)
        if job["adapter"] in self.failing:
            raise measuring.FitFailed("no luck")
        rungs = []
        for value in job["ladder"]:
            effort = value if job["rung"] == "max_iter" else 1.0 / value
            slower = 1.5 if job["form"] == "dense" else 1.0
            found = 1.0 + 0.1 / effort**2
            rungs.append({"value": value, "objective": found, "fit_memory_mb": 1.0})
            rungs[-1] |= {"seconds": slower * effort, "cpu_seconds": 2.0 * effort}
            if job["target"] is not None and found <= job["target"]:
                break
        return {"rows": 9, "features": 3, "version": "fake 1", "rungs": rungs, "finished": True}


@pytest.fixture
def fits(monkeypatch, folder):
    fake = FakeWorker()
    monkeypatch.setattr(measuring, "measure", fake)
    return fake


def test_everybody_is_measured_with_the_first_rung_that_is_close_enough(folder, fits):
    results = Results(folder / "linear.json")
    assert rounds.run(results, ["ijcnn1"], ["hinge"], LIMITS) == []
    cells = results.cells
    choice = chosen(cells, "ijcnn1", "hinge", "snapml")
    assert (choice.form, choice.value, choice.reached) == ("csr", 10, True)
    both = measured(cells, "ijcnn1", "hinge", "snapml")
    assert (both.median("seconds"), len(both.fits)) == (10, 2)
    assert chosen(cells, "ijcnn1", "hinge", "svc_dual").form == "csr"
    assert "ijcnn1/hinge/svc_dual/ladder/dense" not in cells
    assert cells["ijcnn1/hinge/ours/ladder/csr"]["rungs"][0]["value"] == 1e-3
    value, peer = ratio(cells, "ijcnn1", "hinge", "ours", "seconds")
    assert value == pytest.approx(1e3 / 10)
    assert peer == "svc_dual"
    # The rounds come last, everybody once before anybody a second time.
    entries = len(contestants.entered(contestants.CONTESTANTS, "hinge"))
    assert all(len(job["ladder"]) == 1 for job in fits.jobs[-2 * entries :])
    halves = fits.jobs[-2 * entries : -entries], fits.jobs[-entries:]
    assert halves[0] == halves[1]


def test_a_run_goes_on_where_it_was(folder, fits):
    path = folder / "linear.json"
    rounds.run(Results(path), ["ijcnn1"], ["hinge"], LIMITS)
    done = len(fits.jobs)
    rounds.run(Results(path), ["ijcnn1"], ["hinge"], LIMITS)
    assert len(fits.jobs) == done
    results = Results(path)
    results.cells["ijcnn1/hinge/sgd/ladder/csr"]["finished"] = False
    rounds.run(results, ["ijcnn1"], ["hinge"], LIMITS)
    assert len(fits.jobs) == done  # no more time than before
    rounds.run(results, ["ijcnn1"], ["hinge"], rounds.Limits(repeats=2, max_time=90.0))
    assert len(fits.jobs) == done + 1


def test_failures_and_libraries_left_out_stop_nobody_else(folder, fits):
    fits.failing = ("snapml",)
    results = Results(folder / "linear.json")
    limits = rounds.Limits(repeats=1, without=("widemargin", "sgd"))
    failures = rounds.run(results, ["ijcnn1"], ["hinge", "odm"], limits)
    assert failures == [f"ijcnn1/hinge/{name}: no luck" for name in ("snapml", "snapml_1")]
    assert not any("ours" in name or "sgd" in name for name in results.cells)
    assert "ijcnn1/hinge/svc_dual/fit/csr/10/0" in results.cells
    assert not any("/odm/" in name for name in results.cells)  # ours alone has that loss


def test_an_absent_library_is_named(monkeypatch, folder):
    monkeypatch.setattr(contestants, "find_spec", lambda module: None)
    with pytest.raises(SystemExit, match=r"snapml .* --without snapml"):
        main(["--without", "linear_svc", "liblinear", "sgd", "--results", str(folder / "no.json")])


# ----------------------------------------------------------------------------------- tables


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_tables_show_medians_ratios_and_misses(folder, fits):
    results = Results(folder / "linear.json")
    rounds.run(results, ["ijcnn1"], ["hinge", "odm"], LIMITS)
    start = "ijcnn1/hinge/snapml/fit/csr/10"
    results.cells[f"{start}/0"]["rungs"][0]["seconds"] = 30.0
    for number in range(2):  # by chance the repeats do not come as close
        results.cells[f"{start}/{number}"]["rungs"][0]["objective"] = 1.002
    del results.cells["ijcnn1/hinge/svc_dual/fit/csr/10/0"]["rungs"]  # it was given up
    path = folder / "linear.json"
    path.write_text(json.dumps({"machine": {"cores": 2}, "cells": results.cells}), encoding="utf-8")
    main(["render", "--results", str(path), "--to", str(folder / "tables")])
    rows = {row["Contestant"]: row for row in table(folder / "tables" / "linear_speed_hinge.csv")}
    assert rows["snapml‡"]["Seconds"] == "20"
    assert rows["LinearSVC, dual"]["Seconds"] == "10"
    assert rows["LinearSVC, dual"]["Setting"] == "max_iter=10"
    assert rows["LinearSVC, dual"]["Above the optimum"] == "1.0e-03"
    ratios = table(folder / "tables" / "linear_speed_ratios.csv")
    row = next(each for each in ratios if each["Data set"] == "ijcnn1" and each["Loss"] == "hinge")
    assert row["Ours ÷ fastest, seconds"] == "**100.00**"
    assert row["Fastest peer"] == "LinearSVC, dual"
    assert {each["Loss"] for each in ratios} == {"hinge", "squared hinge"}
    assert len(table(folder / "tables" / "linear_speed_odm.csv")) == 2
    sizes = table(folder / "tables" / "linear_speed_cases.csv")[2]
    assert (sizes["Training rows"], sizes["Features"]) == ("9", "3")


def test_nothing_measured_leaves_the_tables_open(tmp_path):
    tables.write(tmp_path / "none.json", tmp_path)
    text = (tmp_path / "linear_speed_cases.csv").read_text(encoding="utf-8")
    assert text.count("\n") == 1 + len(cases.CASES)
