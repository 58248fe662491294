"""The harness of the multi-class speed benchmark: problem, ladders, rounds and tables."""

import csv
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.papers.results import Results
from benchmarks.speed import measuring
from benchmarks.speed.linear.rounds import Limits
from benchmarks.speed.multiclass import best_c, cases, contestants, rounds, tables, worker
from benchmarks.speed.multiclass.__main__ import main
from benchmarks.speed.multiclass.adapters import ADAPTERS
from benchmarks.speed.multiclass.measured import best_peer, measured
from benchmarks.speed.multiclass.objective import dual, primal

from benchmarks import multiclass_machines

LIMITS = Limits(repeats=2, max_time=60.0)


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
@pytest.mark.parametrize("formulation", multiclass_machines.TITLES)
def test_the_objective_and_the_bound_are_those_of_a_certificate(blobs, formulation, constant):
    X, y = blobs
    for rows in (X, sp.csr_matrix(X)):
        solution = multiclass_machines.fit(
            rows, y, 5, formulation, 0.5, constant=constant, tol=1e-4
        )
        problem = (rows, y, formulation, 0.5, constant)
        certificate = solution.certificate
        assert primal(solution.weights, *problem) == pytest.approx(certificate.primal, rel=1e-6)
        assert dual(solution.duals, *problem) == pytest.approx(certificate.dual, rel=1e-6)
        assert dual(2.0 * solution.duals, *problem) <= certificate.primal
    if constant:
        with pytest.raises(ValueError, match="7 columns"):
            primal(np.zeros((5, 6)), *problem)


PEERS = [
    name
    for name, each in contestants.CONTESTANTS.items()
    # Two threads do the same, and wait long for a core that is busy.
    if each.is_peer and each.threads == 1
]


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_solves_the_problem_of_its_formulation(blobs, name):
    contestant = contestants.CONTESTANTS[name]
    if contestant.adapter == "snapml":
        pytest.skip("loading it makes denormal numbers zero for every test of this process")
    adapter = ADAPTERS[contestant.adapter]
    pytest.importorskip(adapter.module)
    X, y = blobs
    order = np.argsort(-y, kind="stable")  # labels do not come in the order of their numbers
    rows, codes = sp.csr_matrix(X[order]), y[order]
    settings = {**contestant.settings, contestant.rung: contestant.ladder[-1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = adapter.fit(adapter.prepare(rows, codes), contestant.formulation, 0.5, settings)
    found = primal(adapter.weights(model), rows, codes, contestant.formulation, 0.5)
    best = multiclass_machines.fit(
        rows, codes, 5, contestant.formulation, 0.5, constant=1.0, tol=1e-6
    )
    assert best.certificate.dual * (1 - 1e-6) <= found <= 1.002 * best.certificate.primal


def test_a_worker_climbs_until_the_target(folder):
    cases.save_both(cases.CASES["letter"], False, folder)
    job = {"folder": str(folder), "adapter": "linear_svc", "formulation": "cs", "C": 1.0}
    job |= {"form": "csr", "settings": {}, "rung": "tol", "ladder": [1.0, 0.1, 1e-3]}
    everything = list(worker.climb({**job, "target": None, "budget": 60.0}))[-1]
    assert (everything["rows"], everything["classes"], everything["finished"]) == (120, 5, True)
    values = [rung["objective"] for rung in everything["rungs"]]
    assert values[0] > values[-1]
    target = {"target": values[1], "budget": 60.0}
    assert len(list(worker.climb({**job, **target}))[-1]["rungs"]) == 2
    ours = {"adapter": "widemargin", "formulation": "ww", "settings": {"threads": 1}}
    job |= {**ours, "form": "dense", "ladder": [1e-2], "target": None, "budget": 60.0}
    (rung,) = list(worker.climb(job))[-1]["rungs"]
    gap = 1.0 - rung["bound"] / rung["objective"]
    assert gap == pytest.approx(rung["own_relative_gap"], rel=1e-3)
    assert gap <= 1e-2
    assert 0.0 < rung["error"] < 0.8


def test_the_best_C_is_that_of_the_folds(blobs):
    found = best_c.search(*blobs, "ww", 60.0)
    lowest = min(found["errors"].values())
    assert found["errors"][f"{found['C']:g}"] == lowest
    smaller = [error for C, error in found["errors"].items() if float(C) < found["C"]]
    assert all(error > lowest for error in smaller)
    assert len(found["errors"]) == len(best_c.GRID)


class FakeWorker:
    """Answers as fits would: the gap to 100 is the rung's tenth, the seconds its inverse."""

    def __init__(self):
        self.jobs = []

    def __call__(self, worker, job, max_time):
        self.jobs.append(job)
        rungs = []
        for value in job["ladder"]:
            effort = value if job["rung"] == "max_iter" else 1.0 / value
            threads = job["settings"].get("threads", 1)
            found = 100.0 / (1.0 - 0.1 / effort)
            rungs.append({"value": value, "objective": found, "error": 0.25})
            rungs[-1] |= {"seconds": effort / threads, "cpu_seconds": effort}
            rungs[-1] |= {"peak_memory_mb": 1.0}
            if job["adapter"] == "widemargin":
                rungs[-1] |= {"bound": 100.0}
            if job["target"] is not None and found <= job["target"]:
                break
        sizes = {"rows": 9, "features": 3, "classes": 5, "version": "fake 1"}
        return {**sizes, "rungs": rungs, "finished": True}


@pytest.fixture
def fits(monkeypatch, folder):
    fake = FakeWorker()
    monkeypatch.setattr(measuring, "measure", fake)
    monkeypatch.setattr(best_c, "search", lambda *rest: {"C": 3.0, "errors": {"3": 0.2}})
    return fake


def test_everybody_is_measured_with_the_first_rung_that_is_good_enough(folder, fits):
    path = folder / "multiclass.json"
    results = Results(path)
    choices = (cases.ONE, cases.BEST)
    assert rounds.run(results, ["letter"], choices, LIMITS) == []
    cells = results.cells
    found = measured(cells, "letter", cases.ONE, "svc_cs")
    assert (found.C, found.value, found.reached, len(found.fits)) == (1.0, 0.1, True, 2)
    assert measured(cells, "letter", cases.BEST, "snapml_ovr_2").C == 3.0
    assert best_peer(cells, "letter", cases.ONE, "cs", "seconds")[1].median("seconds") == 10
    done = len(fits.jobs)
    rounds.run(Results(path), ["letter"], choices, LIMITS)
    assert len(fits.jobs) == done
    main(["render", "--results", str(path), "--to", str(folder / "tables")])

    def table(name):
        with (folder / "tables" / f"multiclass_speed_{name}.csv").open(encoding="utf-8") as stream:
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
    results = Results(folder / "multiclass.json")
    limits = Limits(repeats=1, quick=True, without=("liblinear",))
    rounds.run(results, ["generated_1000"], (cases.ONE, cases.BEST), limits)
    assert {job["adapter"] for job in fits.jobs} == {"widemargin", "linear_svc"}
    assert not any("/search/" in name for name in results.cells)
    assert all(job["quick_rows"] for job in fits.jobs)
    path = folder / "multiclass.json"
    path.write_text(json.dumps({"machine": {}, "cells": results.cells}), encoding="utf-8")
    tables.write(path, folder)
    text = (folder / "multiclass_speed_many.csv").read_text(encoding="utf-8")
    assert text.count("generated, 1,000 classes") == 6
