"""Fits on a real cluster, while parts of it are killed."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession

from spark import driver_to_be_killed
from spark.frames import array_frame
from spark.standalone import standalone
from spark.streams import stream, write
from widemargin import LinearODMClassifier, LinearSVMClassifier, SVMClassifier
from widemargin.core import blocks
from widemargin.engines import LocalEngine
from widemargin.engines.spark import SparkEngine
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearSVMClassifier,
    SparkMulticlassSVMClassifier,
    SparkODMClassifier,
    SparkSVMClassifier,
    SparkSVMModel,
)

# A fit takes seconds; one that hangs is ended, but not one on a busy machine.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

VICTIMS = {
    "Python worker": "pyspark.daemon",
    "executor": "CoarseGrainedExecutorBackend",
    "worker daemon": "deploy.worker.Worker",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def session(cluster):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    spark = (
        SparkSession.builder.master(cluster.url)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def rows():
    return make_classification(20_000, 30, n_informative=10, flip_y=0.1, random_state=0)


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2500)


@pytest.mark.parametrize("solver", ["auto", "newton", "dsvrg"])
def test_the_same_model_as_in_this_process(session, rows, solver):
    settings = {"solver": solver, "n_parts": 4, "tol": 1e-6, "random_state": 0}
    here = LinearODMClassifier(**settings, engine=LocalEngine(1)).fit(*rows)
    there = LinearODMClassifier(**settings, engine=SparkEngine(session)).fit(*rows)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(there.predict(rows[0]), here.predict(rows[0]))


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_fit_survives_the_death_of(victim, session, cluster, rows):
    settings = {"loss": "hinge", "solver": "newton", "tol": 1e-7}
    here = LinearSVMClassifier(**settings, engine=LocalEngine(1)).fit(*rows)
    killed = []

    def kill_soon():
        time.sleep(3)
        for process in cluster.processes(VICTIMS[victim])[-1:]:
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    started = time.monotonic()
    there = LinearSVMClassifier(**settings, engine=SparkEngine(session)).fit(*rows)
    seconds = time.monotonic() - started
    killer.join()
    assert killed, f"no {victim} was found"
    assert seconds > 3, "the fit was over before anything was killed"
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=1e-8)
    if victim == "worker daemon":
        cluster.add_worker()


# What is fitted, and the line of the driver's log after which something is killed.
STAGES = {
    "newton": (
        SparkLinearSVMClassifier(loss="hinge", solver="newton", tol=1e-7, idCol="id", nParts=4),
        "iteration 2",
    ),
    "dsvrg": (
        SparkLinearODMClassifier(solver="dsvrg", tol=1e-3, idCol="id", nParts=4),
        "iteration 2",
    ),
    "one task": (SparkLinearODMClassifier(tol=1e-9), "20,000 rows of 30 features"),
    "sodm": (
        SparkODMClassifier(strategy="sodm", levels=3, stopLevel=2, idCol="id", nParts=4),
        "level 2",
    ),
    "dc": (
        SparkSVMClassifier(strategy="dc", levels=2, stopLevel=1, gamma=0.02, idCol="id", nParts=4),
        "level 1",
    ),
    "compression": (
        SparkODMClassifier(
            strategy="sodm",
            levels=4,
            stopLevel=4,
            gamma=0.02,
            idCol="id",
            nParts=4,
            maxModelRows=2000,
            compressTo=200,
        ),
        "compression, problem 0, step 0",
    ),
    "classes by newton": (
        SparkMulticlassSVMClassifier(formulation="llw", solver="newton", idCol="id"),
        "iteration 1",
    ),
    "classes in parts": (
        SparkMulticlassSVMClassifier(
            formulation="cs", solver="blocks", C=1e-3, maxIter=6, tol=1e-9, idCol="id"
        ),
        "iteration 2",
    ),
    "tournament": (
        SparkMulticlassSVMClassifier(solver="tournament", C=1e-5, maxIter=5, tol=1e-9, idCol="id"),
        "iteration 1",
    ),
}


@pytest.fixture(scope="module")
def table(session, rows, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("table"))
    array_frame(session, *rows, partitions=4).write.mode("overwrite").parquet(path)
    return session.read.parquet(path)


@pytest.fixture(scope="module")
def undisturbed(table):
    return cache(lambda stage: STAGES[stage][0].fit(table))


class Killer(logging.Handler):
    """Kills a process soon after a line of the log, so that it is at work for the fit."""

    def __init__(self, line, find):
        super().__init__()
        self.line, self.find, self.killed, self.lines_after = line, find, [], 0

    def emit(self, record):
        if self.killed:
            self.lines_after += 1
        elif self.line in record.getMessage():
            self.thread = threading.Timer(0.05, self.kill)
            self.thread.start()
            self.line = "nothing twice"

    def kill(self):
        for process in self.find()[-1:]:
            os.kill(process, signal.SIGKILL)
            self.killed.append(process)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_fit_of_a_table_survives_the_death_of(
    victim, stage, session, cluster, table, undisturbed
):
    classifier, line = STAGES[stage]
    killer = Killer(line, lambda: cluster.processes(VICTIMS[victim]))
    log = logging.getLogger("widemargin.spark")
    log.addHandler(killer)
    level = log.level
    log.setLevel(logging.INFO)
    try:
        model = classifier.fit(table)
    finally:
        log.setLevel(level)
        log.removeHandler(killer)
        if victim == "worker daemon":
            cluster.add_worker()
    assert killer.killed, f"no {victim} was found"
    assert killer.lines_after, "the fit was over before anything was killed"
    here, there = undisturbed(stage).toLocal(), model.toLocal()
    coefficients = "dual_coef_" if stage in ("sodm", "dc", "compression") else "coef_"
    np.testing.assert_allclose(
        getattr(there, coefficients), getattr(here, coefficients), rtol=0, atol=1e-10
    )
    if stage not in ("sodm", "dc"):  # with many thousands of support vectors it takes a while
        assert model.transform(table).count() == 20_000


@pytest.fixture(scope="module")
def files(rows, tmp_path_factory):
    """Rows in a folder of six files, as a stream reads them."""
    folder = tmp_path_factory.mktemp("files")
    X, y = rows
    for number in range(6):
        write(folder, number, X[number::6], y[number::6])
    return folder


def while_streaming(victim, cluster, query):
    """Kill a process when a query has done a batch; wait for its end."""
    while query.lastProgress is None and query.isActive:
        time.sleep(0.05)
    done = query.lastProgress["batchId"]
    killed = cluster.processes(VICTIMS[victim])[-1:]
    for process in killed:
        os.kill(process, signal.SIGKILL)
    query.awaitTermination()
    if victim == "worker daemon":
        cluster.add_worker()
    assert killed, f"no {victim} was found"
    assert done < query.lastProgress["batchId"], "the stream was over before anything was killed"


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_stream_is_scored_despite_the_death_of(victim, session, cluster, rows, files, tmp_path):
    X, y = rows
    model = SparkSVMModel.fromLocal(SVMClassifier(random_state=0).fit(X[:3000], y[:3000]))
    writer = model.transform(stream(session, files)).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(tmp_path / "offsets"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "scores"))
    while_streaming(victim, cluster, query)
    found = session.read.parquet(str(tmp_path / "scores")).collect()
    labels = {row["id"]: row["prediction"] for row in found}
    assert len(found) == len(labels) == len(y)
    expected = model.toLocal().predict(X)
    ids = np.concatenate([10**6 * k + np.arange(len(y[k::6])) for k in range(6)])
    by_file = np.concatenate([expected[k::6] for k in range(6)])
    np.testing.assert_array_equal([labels[i] for i in ids], by_file)


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_stream_is_learnt_despite_the_death_of(victim, session, cluster, rows, files, tmp_path):
    X, y = rows
    local = LinearSVMClassifier()
    for number in range(6):
        local.partial_fit(X[number::6], y[number::6], classes=[0, 1])
    learner = SparkLinearSVMClassifier(idCol="id").fitStream(str(tmp_path / "model"))
    writer = stream(session, files).writeStream.foreachBatch(learner)
    writer = writer.option("checkpointLocation", str(tmp_path / "offsets"))
    while_streaming(victim, cluster, writer.trigger(availableNow=True).start())
    assert learner.model.numRows == len(y)
    np.testing.assert_allclose(learner.model.toLocal().coef_, local.coef_, rtol=0, atol=1e-9)
    again = SparkLinearSVMClassifier().fitStream(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.model.toLocal().coef_, learner.model.toLocal().coef_)
    assert again.batchId == 5


def test_a_fit_whose_driver_died_goes_on(table, tmp_path, caplog):
    """The driver is a process of its own, killed while it works on its last level."""
    (source,) = {str(Path(path).parent) for path in table.inputFiles()}
    script = Path(__file__).parent / "driver_to_be_killed.py"
    kept = tmp_path / "levels"
    ended = subprocess.run(
        [sys.executable, str(script), source, str(kept)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path)},
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    classifier = driver_to_be_killed.classifier(str(kept))
    with caplog.at_level(logging.INFO, logger="widemargin.spark"):
        resumed = classifier.fit(table).toLocal()
    told = [record.getMessage() for record in caplog.records]
    assert any("found problem-0-level-2" in line for line in told)
    assert not any("level 3," in line or "level 2," in line for line in told)
    assert any("level 1," in line for line in told)
    expected = classifier.copy().setCheckpointDir("").fit(table).toLocal()
    np.testing.assert_allclose(
        resumed.history_["objective"], expected.history_["objective"], rtol=1e-10
    )
    np.testing.assert_allclose(resumed.dual_coef_, expected.dual_coef_, rtol=0, atol=1e-10)
