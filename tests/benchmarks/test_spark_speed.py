"""The harness of the Spark benchmarks: tables in Parquet, verbs, memory, ratios; without Spark."""

import csv
import json
import operator
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

pytest.importorskip("pyspark")
import pyarrow.parquet as pq

from widemargin import LinearSVMClassifier
from widemargin.engines.spark import SparkEngine

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.race import processes
from benchmarks.race.data import DataSet
from benchmarks.race.store import Store
from benchmarks.speed.spark import page as spark_page
from benchmarks.speed.spark import parquet, ten_million, watching
from benchmarks.speed.spark.classes import __main__ as classes
from benchmarks.speed.spark.classes import passes
from benchmarks.speed.spark.kernel import __main__ as kernel
from benchmarks.speed.spark.kernel import billion, bundles, fits
from benchmarks.speed.spark.kernel import page as kernel_page
from benchmarks.speed.spark.linear import __main__ as linear
from benchmarks.speed.spark.linear import beside_mllib


def table(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# ------------------------------------------------------------------------------------- rows


def test_vectors_are_written_as_spark_reads_them(tmp_path):
    X = sp.random(11, 5, density=0.4, format="csr", random_state=0, dtype=np.float32)
    y = np.where(np.arange(11) % 3 == 0, 1, -1)
    parquet.write_vectors(X, y, tmp_path)
    assert len(list(tmp_path.glob("*.parquet"))) == 2
    rows = pq.read_table(tmp_path).to_pylist()
    assert [row["label"] for row in rows] == [float(label > 0) for label in y]
    dense = np.zeros(X.shape)
    for number, row in enumerate(rows):
        assert (row["features"]["type"], row["features"]["size"]) == (0, 5)
        assert row["features"]["indices"] == sorted(row["features"]["indices"])
        dense[number, row["features"]["indices"]] = row["features"]["values"]
    assert np.array_equal(dense, X.toarray())
    schema = json.loads(pq.read_schema(tmp_path / "0.parquet").metadata[parquet.SPARK_SCHEMA])
    assert schema["fields"][0]["type"]["type"] == "udt"


def test_generated_tables_are_the_same_each_time_and_go_on_where_they_were(tmp_path):
    parquet.write_generated(70, tmp_path / "a", chunk=30)
    (tmp_path / "b").mkdir()
    parquet.write_generated(30, tmp_path / "b", chunk=30)
    first = (tmp_path / "b" / "0000.parquet").stat().st_mtime_ns
    parquet.write_generated(70, tmp_path / "b", chunk=30)
    assert (tmp_path / "b" / "0000.parquet").stat().st_mtime_ns == first
    one, other = pq.read_table(tmp_path / "a"), pq.read_table(tmp_path / "b")
    assert one.equals(other)
    assert one["id"].to_pylist() == list(range(70))
    assert len(one["features"][0]) == 18
    X, _, linear = parquet.held_out(4000)
    model = LinearSVMClassifier().fit(X[:2000], linear[:2000])
    assert 0.8 < model.score(X[2000:], linear[2000:]) < 0.95


# ------------------------------------------------------------------------- time and memory


def test_verbs_are_timed_once_and_put_back(monkeypatch):
    def numbers(self, parts):
        time.sleep(0.01)
        return []

    def together(self, parts, fn):
        self.numbers(parts)
        return fn(parts)

    monkeypatch.setattr(SparkEngine, "numbers", numbers)
    monkeypatch.setattr(SparkEngine, "together", together)
    engine = SparkEngine()
    with watching.verbs_timed() as seconds:
        assert engine.together([1], len) == 1
        engine.numbers([])
    engine.numbers([])
    assert {name: len(calls) for name, calls in seconds.items()} == {"together": 1, "numbers": 1}
    found = watching.totals(seconds)["together"]
    assert found["calls"] == 1
    assert found["seconds"] >= 0.01
    assert SparkEngine.together is together


def test_memory_of_this_process_is_its_own(monkeypatch):
    monkeypatch.setattr(watching, "_children", lambda pid: [])  # other tests may have a JVM
    peaks = watching.driver_peaks()
    assert peaks["driver_python_mb"] > 20
    assert peaks["driver_java_mb"] == 0.0


def test_executors_are_added_up_by_worker(monkeypatch):
    class Cluster:
        workers = (type("Worker", (), {"pid": 1})(), type("Worker", (), {"pid": 2})())

        def processes(self, mark):
            return [10, 20] if mark == watching.EXECUTOR else [11, 21, 22]

    taken = {10: 300.0, 20: 500.0, 11: 70.0, 21: 30.0, 22: 10.0}
    monkeypatch.setattr(watching, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(watching.os, "getsid", lambda pid: pid // 10)
    monkeypatch.setattr(watching, "field_mb", lambda path, name: taken[int(path.parts[2])])
    with watching.executors_watched(Cluster()) as peaks:
        time.sleep(0.1)
    assert peaks == {
        "executor_java_mb": 500.0,
        "executor_python_mb": 70.0,
        "executor_mb": 540.0,
    }


# ------------------------------------------------------------------------------ comparisons


def test_the_first_rung_that_is_close_enough():
    assert beside_mllib.first_within([9.0, 5.0, 4.0, 3.9], 4.0) == 2
    assert beside_mllib.first_within([9.0, 5.0], 4.0) is None


class FakeWorker:
    """Answers as a session would."""

    def __init__(self):
        self.jobs = []

    def __call__(self, worker, job, max_time):
        self.jobs.append(job)
        if job["case"] == "generated":
            raise processes.FitFailed("no luck")
        times = {"mllib": 9.0, "mllib_default": 30.0, "ours": 3.6, "ours_matching": 4.0}
        times["ours_loosest"] = 2.7
        fits = {
            name: [{"seconds": value * k, "objective": 1.001, "accuracy": 0.8} for k in (1, 2, 1)]
            for name, value in {**times, "local": 1.0}.items()
        }
        verb = {"calls": 3, "seconds": 0.5}
        cell = {"rows": 9, "features": 3, "version": "pyspark 9", "fits": fits, "optimum": 1.0}
        cell |= {"iterations": 21, "loosest_tol": 2e-3, "matching_tol": 5e-4, "read_seconds": 2.0}
        return cell | {"verbs": {"reduce": verb}}


def large(rows):
    fit = {"seconds": 70.0, "accuracy": 0.85, "relative_gap": 5e-4, "objective": 123.4}
    verb = {"keep_noted": {"calls": 1, "seconds": 30.0}}
    memory = {"driver_python_mb": 200.0, "driver_java_mb": 1400.0, "executor_java_mb": 900.0}
    return {"rows": rows, "fits": {"newton": {**fit, "verbs": verb}, "local": fit}, **memory}


def test_a_run_goes_on_where_it_was_and_its_tables_show_it(monkeypatch, tmp_path):
    fake, path = FakeWorker(), tmp_path / "spark_linear.json"
    monkeypatch.setattr(processes, "measure", fake)
    monkeypatch.setattr(linear, "large", large)
    for _ in range(2):
        with pytest.raises(SystemExit, match="generated: no luck"):
            linear.main(["--results", str(path)])
    assert [job["case"] for job in fake.jobs] == ["a9a", "generated", "generated"]
    late = Store(path)
    late.put("a9a", late.settings["a9a"], late.cells["a9a"] | {"out_of_time": True}, {})
    linear.main(["--results", str(path), "--only", "a9a"])
    assert [job["case"] for job in fake.jobs][3:] == ["a9a"]
    linear.main(["render", "--results", str(path), "--to", str(tmp_path)])
    ratios = table(tmp_path / "spark_linear_ratios.csv")
    shown = [row["Ours ÷ MLlib, seconds"] for row in ratios]
    assert shown == ["0.30", "**0.40**", "0.13", "–", "–", "–"]
    assert ratios[1]["Spark ÷ local engine, seconds"] == "3.60"
    fits = table(tmp_path / "spark_linear_fits.csv")
    assert fits[0]["Contestant"] == "MLlib, 21 iterations"
    assert fits[0]["Above the optimum"] == "1.0e-03"
    memory = {
        row["Process"]: row["Peak (MB)"] for row in table(tmp_path / "spark_linear_memory.csv")
    }
    assert memory["driver in all"] == "**1,600**"
    rows = {row[""]: row for row in table(tmp_path / "spark_linear_time.csv")}
    assert rows["the fit: passes over the blocks"]["a9a"] == "0.5 (3 calls)"
    assert rows["the fit: placing rows in blocks"]["5,000,000 × 18"] == "30"
    assert [row["Fit"] for row in table(tmp_path / "spark_linear_large.csv")] == [
        "cluster, newton",
        "local engine",
    ]


def test_nothing_measured_leaves_the_tables_open(tmp_path):
    linear.main(["render", "--results", str(tmp_path / "none.json"), "--to", str(tmp_path)])
    assert table(tmp_path / "spark_linear_fits.csv")[0]["Contestant"] == "–"


# ------------------------------------------------------------------------------------ kernel


def test_metrics_are_read_as_spark_shows_them():
    several = "total (min, med, max (stageId: taskId))\n1.5 m (1.1 s, 1.3 s (stage 2.0: task 3))"
    assert watching.number(several) == 90.0
    assert watching.number("334 ms") == 0.334
    assert watching.number("total (min, med, max)\n1,562.5 KiB (781.3 KiB)") == pytest.approx(1.6)
    assert watching.number("2.0 GiB") == pytest.approx(2147.483648)
    with pytest.raises(ValueError, match="unit"):
        watching.number("many")


def test_the_cost_model_gives_back_what_was_measured():
    model = kernel_page.CostModel(seconds=60.0, work=100.0, parts=40, shuffled=2.5e9)
    assert model.fixed == 10.0
    assert model.on(2) == 60.0
    assert model.on(1) == 110.0
    assert model.speed_up(16) == pytest.approx(110.0 / (10.0 + 100.0 * 3 / 40))
    # 80 cores have 40 parts to work on, and four fifths of the rows cross the network.
    assert model.on(80) == pytest.approx(10.0 + 2.5 + 2.0 / 5 * 0.8)
    idle = kernel_page.CostModel(seconds=10.0, work=30.0, parts=4, shuffled=0.0)
    assert idle.fixed == 0.0  # clocks of tasks may add up to more than two cores have


def test_the_machines_have_the_same_settings():
    case = fits.CASES["ijcnn1"]
    for method in (fits.SODM, fits.DC):
        local = fits.local_machine(method, case)
        there = fits.spark_machine(method, case)._local_estimator()
        assert type(there) is type(local)
        for name in ("C", "gamma", "tol", "random_state"):
            assert getattr(there, name) == getattr(local, name)
        assert there.strategy.get_params() == local.strategy.get_params()


def kernel_cell(engine, seconds, predicted):
    counted = dict.fromkeys(kernel_page.COUNTED, 1.0) | {"python_worker_seconds": 2 * seconds}
    fit = {"seconds": seconds, "accuracy": 0.9, "predicted": predicted, "counted": counted}
    return {"rows": 900, "start_seconds": 8.0, "fits": {"SODM": [fit, fit, fit]}}


def test_kernel_tables_show_ratios_agreement_and_the_model(monkeypatch, tmp_path):
    def trained(engine, job):
        if engine == kernel_page.CLUSTER:
            raise processes.FitFailed("no luck")
        local = engine == kernel_page.LOCAL_ENGINE
        return kernel_cell(engine, 10.0 if local else 16.0, "ff" if local else "fe")

    def on_large(rows):
        counted = dict.fromkeys(kernel_page.COUNTED, 1.0)
        fit = {"seconds": 100.0, "accuracy": 0.85, "support": 7, "counted": counted}
        fit |= {"parts": 4, "predict_seconds": 3.0}
        return {"fits": {str(rows[-1]): fit}, "driver_python_mb": 1.0, "driver_java_mb": 2.0}

    def weighed(worker, job, max_time):
        assert worker == kernel.WEIGHED
        sizes = ("rows_mb", "weights_mb", "once_mb", "passes", "sent_mb", "returned_mb")
        return {"rows": 5000, "features": 16, "classes": 26, **dict.fromkeys(sizes, 1.5)}

    monkeypatch.setattr(processes, "measure", weighed)
    monkeypatch.setattr(kernel, "fits", trained)
    monkeypatch.setattr(kernel, "large", on_large)
    path = tmp_path / "spark_kernel.json"
    with pytest.raises(SystemExit, match="cod-rna/cluster: no luck"):
        kernel.main(["--results", str(path), "--only", "cod-rna", "large", "bundles"])
    kernel.main(["render", "--results", str(path), "--to", str(tmp_path)])
    rows = table(tmp_path / "spark_kernel_fits.csv")
    assert [row["÷ local engine"] for row in rows] == ["–", "**1.60**"]
    assert rows[1]["Predictions as the local engine's (%)"] == "87.50"
    assert table(tmp_path / "spark_kernel_large.csv")[0]["Rows"] == "5,000,000"
    model = {row["Data set"]: row for row in table(tmp_path / "spark_kernel_model.csv")}
    assert model["cod-rna"]["Published, 80 cores"] == "55.4"
    assert model["cod-rna"]["2"] == "16"
    assert model["cod-rna"]["4"] == "8"
    assert model["5,000,000 × 18 (SUSY)"]["Published, 80 cores"] == "1004"
    assert table(tmp_path / "spark_kernel_bundles.csv")[0]["Sent (MB)"] == "1.5"


def test_what_travels_is_weighed():
    engine = bundles.WeighingEngine()
    parts = engine.scatter([np.zeros(1000), np.zeros(2000)])
    assert engine.reduce(parts, len, operator.add) == 3000
    assert (engine.passes, engine.shuffled) == (1, 0)
    assert engine.sent == len(pickle.dumps(len, protocol=5))
    assert 0 < engine.returned < 100
    (one,) = engine.regroup(parts, lambda k, part: [(0, part)], np.concatenate, 1)
    assert len(one) == 3000
    assert 8 * 3000 < engine.shuffled < 8 * 3000 + 1000


def test_an_epoch_moves_weights_and_multipliers():
    X, y = make_classification(200, 20, n_informative=8, n_classes=4, random_state=0)
    found = bundles.moved(DataSet(X.astype(np.float32), y, None, None))
    assert (found["rows"], found["features"], found["classes"]) == (200, 20, 4)
    assert found["passes"] >= 1
    assert found["sent_mb"] > 0
    assert found["once_mb"] > 0


# ------------------------------------------------------------------------------------ growth


def growth_cell(job):
    millions, parts = job["rows"] / 1e6, job["rows"] // 2000
    counted = {"shuffled_mb": 150.0 * millions, "python_worker_seconds": 200.0 * millions}
    cell = {"rows": job["rows"], "parts": parts, "seconds": 30.0, "jobs": 15, "tasks": 40}
    memory = {"driver_python_mb": 250.0 + 0.01 * parts, "driver_java_mb": 600.0}
    return {**cell, **memory, "counted": counted}


def test_growth_and_the_model_of_a_billion_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "growth", growth_cell)
    monkeypatch.setattr(ten_million, "RESULTS", tmp_path / "defaults.json")
    path = tmp_path / "spark_kernel.json"
    kernel.main(["--results", str(path), "--only", "growth"])
    kernel.main(["render", "--results", str(path), "--to", str(tmp_path)])
    rows = table(tmp_path / "spark_kernel_growth.csv")
    assert [row["Rows"] for row in rows] == 2 * ["100,000", "1,000,000", "4,000,000"]
    assert {row["Shuffled (MB a million)"] for row in rows} == {"150"}
    assert [row["Python, growth (MB a million)"] for row in rows[:3]] == ["–", "5.0", "5.0"]
    model = {row["Resource"]: row for row in table(tmp_path / "spark_kernel_billion.csv")}
    driver = model["driver, memory"]
    assert driver["Takes"] == "1.62 GB"  # 870 MB, and 5 trees of 262,144 × 4 rows of 18 numbers
    assert driver["Share"] == "**0.81**"
    # 200,000 s on 1,600 cores, for parts of 3,815 instead of 2,000 rows.
    assert model["Python workers"]["Takes"] == "238 seconds"
    assert "17 jobs of 1,250 tasks and more, begun" in model
    assert sum(row["Share"].startswith("**") for row in model.values()) == 1
    # The defaults compress the model, for which the driver takes more.
    peaks = {"driver_python_mb": 400.0, "driver_java_mb": 700.0}
    Store(ten_million.RESULTS).cell("a", {}, lambda: peaks)
    kernel.main(["render", "--results", str(path), "--to", str(tmp_path)])
    assert table(tmp_path / "spark_kernel_billion.csv")[0]["Takes"] == "1.85 GB"


def test_growth_is_continued_along_a_line():
    assert billion.auto_parts(1_000_000_000) == 262_144
    line = billion.Line.through([1.0, 2.0, 4.0], [9.0, 3.0, 7.0])
    assert line.each == 2.0
    assert line.at(8.0) == 15.0
    falling = billion.Line.through([1.0, 2.0], [5.0, 4.0])
    assert falling.at(100.0) == 4.0
    assert billion.Line.through([2.0], [6.0]).at(10.0) == 30.0


def test_ten_million_rows_are_shown(tmp_path):
    store = Store(tmp_path / "cells.json")
    cell = {"fit_seconds": 60.0, "jobs": 17, "points": 900_000, "accuracy": 0.93}
    cell |= {"driver_python_mb": 400.0, "driver_java_mb": 700.0, "executor_mb": 2000.0}
    store.cell("a", {"rows": 10**7}, lambda: cell)
    store.cell("b", {"rows": 10**6}, lambda: cell | {"stream_accuracy": 0.9, "jobs": 12})
    ten_million.render(store, tmp_path)
    one, other = table(tmp_path / "spark_ten_million.csv")
    assert (one["Rows"], one["Driver (MB)"]) == ("10,000,000", "**1,100**")
    assert one["As a stream (%)"] == "—"
    assert other["As a stream (%)"] == "90.00"


# ----------------------------------------------------------------------------------- classes


def test_passes_are_counted_beside_one_task(monkeypatch):
    X, y = make_classification(150, 20, n_informative=8, n_classes=4, random_state=0)
    monkeypatch.setattr(passes, "rows_of", lambda name, quick: (sp.csr_matrix(X / 4), y))
    job = {"set": "any", "quick": True, "formulation": "cs", "C": 1.0, "tol": 0.05}
    *_, found = passes.count(job)
    ours, one = found["passes"], found["one_task"]
    assert (ours["solver"], one["solver"]) == ("blocks", "dual")
    assert ours["moved_mb"] > 0
    assert ours["bound"] <= one["objective"]
    assert one["bound"] <= ours["objective"]


def test_classes_are_measured_and_shown(tmp_path, monkeypatch):
    fit = {"seconds": 2.0, "jobs": 30.0, "shuffled_mb": 5.0, "iterations": 24, "moved_mb": 48.0}
    fit |= {"relative_gap": 9e-3, "driver_python_mb": 100.0, "driver_java_mb": 400.0}

    def counted(worker, job, max_time):
        assert worker == classes.COUNTED
        one = {"cpu_seconds": 1.0, "objective": 10.0, "relative_gap": 9e-3, "solver": "dual"}
        return {"passes": {**one, "iterations": 24, "moved_mb": 48.0}, "one_task": one}

    def on_cluster(worker, job, max_time, workers):
        assert (worker, workers) == (classes.ON_CLUSTER, 3)
        if job["solver"] == "tournament":
            raise processes.FitFailed("no luck")
        return fit | ({"moved_mb": 0.0} if job["solver"] == "auto" else {})

    monkeypatch.setattr(processes, "measure", counted)
    monkeypatch.setattr(spark_page, "on_cluster", on_cluster)
    path = tmp_path / "spark_classes.json"
    with pytest.raises(SystemExit, match="sector/ww/1/tournament: no luck"):
        classes.main(["--results", str(path), "--only", "sector"])
    classes.main(["render", "--results", str(path), "--to", str(tmp_path)])
    rows = table(tmp_path / "spark_classes_passes.csv")
    assert [row["Formulation"] for row in rows] == ["CS", "WW", "LLW", "LLW"]
    assert rows[0]["MB a pass"] == "2.0"
    assert rows[0]["Objective ÷ its"] == "1.0000"
    rows = table(tmp_path / "spark_classes_cluster.csv")
    assert [row["Solver"] for row in rows[:2]] == ["``blocks``", "one task"]
    assert rows[0]["Jobs"] == "30"
    assert rows[1]["MB of weights and multipliers"] == "–"
