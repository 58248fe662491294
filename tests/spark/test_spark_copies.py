"""Copies of parts that Spark's workers keep between passes: the same models, sooner."""

import operator
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

pytest.importorskip("pyspark")

from spark.frames import array_frame
from widemargin.engines import spark as spark_engine
from widemargin.engines import spark_copies
from widemargin.engines.part_files import FOLDER
from widemargin.engines.spark import SparkEngine
from widemargin.spark import SparkLinearODMClassifier, SparkODMClassifier, SparkSVMClassifier
from widemargin.spark.kernel.fit import KernelFit

pytestmark = pytest.mark.spark

# Parts of 320 kB: smaller ones are never copied.
BLOCKS = [np.random.default_rng(k).normal(size=(4_000, 10)) for k in range(4)]
CLASSIFIERS = {
    "dc": SparkSVMClassifier(
        strategy="dc", levels=1, stopLevel=1, gamma=0.05, idCol="id", nParts=2
    ),
    "sodm": SparkODMClassifier(strategy="sodm", levels=1, idCol="id", nParts=2, gamma=0.002),
    "newton": SparkLinearODMClassifier(solver="newton", idCol="id", nParts=2),
    "dsvrg": SparkLinearODMClassifier(solver="dsvrg", tol=1e-2, idCol="id", nParts=2),
}


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    """Keep copies of the few rows here, too."""
    monkeypatch.setattr(spark_copies, "SMALLEST_SET", 2**17)


@pytest.fixture(scope="module")
def table(spark):
    X, y = make_classification(2_000, 40, n_informative=10, random_state=0)
    return array_frame(spark, X, y, partitions=3).persist()


@pytest.fixture
def engine(spark):
    running = SparkEngine(spark)
    yield running
    running.release()


def folder(engine):
    """Return the folder of copies of the one executor there is."""
    parts = engine.scatter([0])
    try:
        local = engine.reduce(parts, lambda _: os.environ["SPARK_LOCAL_DIRS"], max)
    finally:
        engine.release(parts)
    return Path(local.split(",")[0]) / FOLDER


def files_in(path):
    return [each for each in path.glob("*/*/*") if each.is_file()]


def jobs(spark):
    """Return the number of jobs so far; Spark forgets old ones."""
    return max(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) + 1


def sums(engine, parts):
    return engine.reduce(parts, lambda part: [part.sum()], operator.add)


EXPECTED = [block.sum() for block in BLOCKS]


def test_texts_of_plans_do_not_double_from_pass_to_pass(engine, spark):
    parts, lengths = engine.scatter([0, 1]), []
    for _ in range(8):
        before, parts = parts, engine.map(parts, lambda part: part + 1)
        assert engine.reduce(parts, lambda part: part, operator.add) == 1 + 2 * (len(lengths) + 1)
        engine.release(before)
        text = spark._jvm.PythonSQLUtils.explainString(
            parts.frame._jdf.queryExecution(), "formatted"
        )
        lengths.append(len(text))
    assert lengths[7] < 3 * lengths[3]
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"


def test_fits_in_several_threads_leave_the_setting_as_it_was(engine, spark):
    def store(number):
        engine.persisted(spark.range(number + 1)).unpersist()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store, range(80)))
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"


def test_passes_read_copies(engine):
    """Numbers that are changed in a file are those of the next pass."""
    where, parts = folder(engine), engine.scatter(BLOCKS)
    assert sums(engine, parts) == EXPECTED
    assert len(files_in(where)) == 4
    for path in files_in(where):
        path.write_bytes(bytes(path.stat().st_size))
    assert sums(engine, parts) == [0.0] * 4
    assert engine.visit(parts, 2, lambda part, value: value + part.sum(), 1.0) == 1.0


def test_what_is_stored_is_made_of_rows_and_not_of_copies(engine):
    """So Spark can always make it again."""
    where, parts = folder(engine), engine.scatter(BLOCKS)
    assert sums(engine, parts) == EXPECTED
    for path in files_in(where):
        path.write_bytes(bytes(path.stat().st_size))
    doubled = engine.map(parts, lambda part: 2 * part)
    assert sums(engine, doubled) == [2 * each for each in EXPECTED]
    merged = engine.regroup(parts, lambda k, part: [(k // 2, part)], np.concatenate, 2)
    assert sums(engine, merged) == pytest.approx([sum(EXPECTED[:2]), sum(EXPECTED[2:])])
    assert engine.together(parts, lambda every: [part.sum() for part in every]) == EXPECTED


@pytest.mark.parametrize("most", [0, 200])
@pytest.mark.parametrize("lost", ["all", "one"])
def test_rows_are_sent_again_where_files_are_lost(lost, most, engine, spark, monkeypatch):
    monkeypatch.setattr(spark_engine, "MOST_SPANS", most)
    where, parts = folder(engine), engine.scatter(BLOCKS)
    sums(engine, parts)
    before = jobs(spark)
    assert sums(engine, parts) == EXPECTED
    usual = jobs(spark) - before
    for path in files_in(where)[: 1 if lost == "one" else None]:
        path.unlink()
    assert sums(engine, parts) == EXPECTED
    assert len(files_in(where)) == 4
    before = jobs(spark)
    assert sums(engine, parts) == EXPECTED
    assert jobs(spark) - before == usual


def test_visits_before_a_whole_pass_are_one_job_each(engine, spark):
    parts = engine.scatter(BLOCKS)
    engine.visit(parts, 0, lambda part, _: part.sum(), None)  # stores all parts, in several jobs
    before = jobs(spark)
    for k in (1, 2, 3):
        assert engine.visit(parts, k, lambda part, _: part.sum(), None) == EXPECTED[k]
    assert jobs(spark) - before == 3


def test_a_killed_worker_is_not_missed(engine):
    parts = engine.scatter(BLOCKS)
    for _ in range(3):
        assert sums(engine, parts) == EXPECTED
        for worker in engine.reduce(parts, lambda _: {os.getpid()}, operator.or_):
            os.kill(worker, signal.SIGKILL)
    assert engine.visit(parts, 1, lambda part, _: part.sum(), None) == EXPECTED[1]


@pytest.mark.parametrize("room", [0, 1, 3])
def test_copies_keep_to_their_limit(room, spark):
    """Rows without a copy are sent with the heads of the others, in one job."""
    size = -(-BLOCKS[0].nbytes // 64) * 64
    engine = SparkEngine(spark, local_copies=room * size + size // 2 if room else 0)
    try:
        where, parts = folder(engine), engine.scatter(BLOCKS)
        for _ in range(3):
            assert sums(engine, parts) == EXPECTED
            assert len(files_in(where)) == room
        before = jobs(spark)
        assert sums(engine, parts) == EXPECTED
        assert jobs(spark) - before == 1
    finally:
        engine.release()
    assert files_in(where) == []


def test_partitions_that_lose_copies_again_and_again_get_their_rows(engine, spark):
    where, parts = folder(engine), engine.scatter(BLOCKS)
    for _ in range(spark_copies.MOST_LOSSES + 1):
        assert sums(engine, parts) == EXPECTED
        for path in files_in(where):
            path.unlink()
    before = jobs(spark)
    assert sums(engine, parts) == EXPECTED
    assert jobs(spark) - before == 1


def test_small_sets_are_sent_every_time(engine, monkeypatch):
    monkeypatch.setattr(spark_copies, "SMALLEST_SET", sum(block.nbytes for block in BLOCKS) + 10**4)
    where, parts = folder(engine), engine.scatter(BLOCKS)
    for _ in range(2):
        assert sums(engine, parts) == EXPECTED
    assert files_in(where) == []


def test_parts_that_are_released_take_no_room(engine):
    where, parts = folder(engine), engine.scatter(BLOCKS)
    doubled = engine.map(parts, lambda part: 2 * part)
    sums(engine, doubled)
    sums(engine, parts)
    assert len(files_in(where)) == 8
    engine.release(doubled)
    sums(engine, parts)
    assert len(files_in(where)) == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_same_model_with_and_without(name, table, engine):
    where = folder(engine)
    fitted = [CLASSIFIERS[name].copy().setLocalCopies(n).fit(table).toLocal() for n in ("1GB", 0)]
    attribute = "coef_" if name in ("newton", "dsvrg") else "dual_coef_"
    np.testing.assert_array_equal(*(getattr(each, attribute) for each in fitted))
    for column in set(fitted[0].history_) - {"seconds"}:
        np.testing.assert_array_equal(*(each.history_[column] for each in fitted))
    assert files_in(where) == []


def test_fits_at_the_same_time(table, engine):
    """Each has its own files, and removes no other's."""
    where = folder(engine)
    grid = [CLASSIFIERS["newton"].copy().setC(C) for C in (0.1, 1.0, 10.0)]
    alone = [classifier.fit(table).toLocal().coef_ for classifier in grid]
    with ThreadPoolExecutor(3) as pool:
        beside = list(pool.map(lambda each: each.fit(table).toLocal().coef_, grid))
    np.testing.assert_array_equal(alone, beside)
    assert files_in(where) == []


def test_a_fit_that_fails_leaves_nothing(table, engine, monkeypatch):
    where, seen = folder(engine), []

    def fail(_):
        seen.extend(files_in(where))
        raise RuntimeError("enough")

    monkeypatch.setattr(KernelFit, "set_fitted", fail)
    with pytest.raises(RuntimeError, match="enough"):
        CLASSIFIERS["dc"].fit(table)
    assert seen
    assert files_in(where) == []


@pytest.mark.parametrize("value", ["much", -1, True])
def test_limits_that_are_none(value, table):
    with pytest.raises((TypeError, ValueError), match="localCopies"):
        CLASSIFIERS["newton"].copy({CLASSIFIERS["newton"].localCopies: value}).fit(table)


def test_engines_are_copied_with_their_limit():
    assert pickle.loads(pickle.dumps(SparkEngine(local_copies="1MB"))).local_copies == "1MB"
    with pytest.raises(ValueError, match="`local_copies` must be"):
        SparkEngine(local_copies="some")
