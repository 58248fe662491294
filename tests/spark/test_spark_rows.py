"""Rows that come to the driver pass through its JVM as they are."""

import operator

import numpy as np
import pytest

pytest.importorskip("pyspark")

from widemargin.engines.spark import SparkEngine
from widemargin.engines.spark_rows import collected

pytestmark = pytest.mark.spark


def test_rows_are_those_of_collect(spark):
    frame = spark.range(0, 10, 1, 3).selectExpr(
        "id", "if(id % 2 = 0, cast(cast(id as string) as binary), null) as data"
    )
    rows = [row.asDict() for row in frame.collect()]
    assert collected(frame) == [
        {"id": row["id"], "data": None if row["data"] is None else bytes(row["data"])}
        for row in rows
    ]
    assert collected(frame.where("id > 10")) == []


def test_answers_are_not_decoded_in_the_drivers_jvm(spark, monkeypatch):
    engine = SparkEngine(spark)
    assert engine.cores  # the probe of the workers is a plain job

    def refused(frame):
        raise AssertionError("collect() takes several times the rows in the JVM's heap")

    monkeypatch.setattr(type(spark.range(1)), "collect", refused)
    parts = engine.scatter([np.arange(3.0), np.arange(4.0)])
    assert engine.reduce(parts, np.sum, operator.add) == 9.0
    engine.release()
