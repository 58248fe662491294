"""What Spark's workers have, asked before any work."""

import gc

import pytest

pytest.importorskip("pyspark")

from widemargin.engines import spark_workers
from widemargin.engines.spark import SparkEngine

pytestmark = pytest.mark.spark


def test_cores_are_those_of_the_session(spark):
    assert SparkEngine(spark).cores == spark.sparkContext.defaultParallelism


def test_workers_of_another_version_are_refused_at_once(spark, monkeypatch):
    other = spark.newSession()
    monkeypatch.setattr(spark_workers, "version", lambda _: "999.0")
    with pytest.raises(
        RuntimeError, match=r"need widemargin 999.0 .*as this process has; found \d"
    ):
        SparkEngine(other).share(1)


def test_workers_without_the_library_are_refused_at_once(spark, monkeypatch):
    def probe():
        return lambda _: "ModuleNotFoundError: No module named 'widemargin'"

    monkeypatch.setattr(spark_workers, "_probe", probe)
    with pytest.raises(
        RuntimeError, match=r"found ModuleNotFoundError.*PYSPARK_PYTHON.*spark\.archives"
    ):
        SparkEngine(spark.newSession()).share(1)


def test_a_session_is_asked_once_and_forgotten_with_its_end(spark, monkeypatch):
    other = spark.newSession()
    assert spark_workers.require_workers(other) == 2
    with monkeypatch.context() as patch:
        patch.setattr(spark_workers, "_probe", None)  # asking again would fail
        assert spark_workers.require_workers(other) == 2
        with pytest.raises(TypeError):
            spark_workers.require_workers(spark.newSession())
    remembered = len(spark_workers._known)
    del other
    gc.collect()
    assert len(spark_workers._known) < remembered
