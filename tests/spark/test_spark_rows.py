"""Rows that come to the driver pass through its JVM as they are."""

import operator
import os
import signal
import threading
import time

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
    assert collected(frame, print) == [
        {"id": row["id"], "data": None if row["data"] is None else bytes(row["data"])}
        for row in rows
    ]
    assert collected(frame.where("id > 10"), print) == []


def test_answers_are_not_decoded_in_the_drivers_jvm(spark, monkeypatch):
    engine = SparkEngine(spark)
    assert engine.cores  # the probe of the workers is a plain job

    def refused(frame):
        raise AssertionError("collect() takes several times the rows in the JVM's heap")

    monkeypatch.setattr(type(spark.range(1)), "collect", refused)
    parts = engine.scatter([np.arange(3.0), np.arange(4.0)])
    assert engine.reduce(parts, np.sum, operator.add) == 9.0
    engine.release()


@pytest.mark.parametrize("handler", ["Spark's", "Python's"])
def test_an_interrupt_cancels_the_job_that_is_waited_for(spark, handler):
    """Shells have the handler that pyspark sets, notebooks that of Python."""

    def sleeping(part):
        time.sleep(30.0)
        return part

    engine = SparkEngine(spark)
    parts = engine.scatter([1.0, 2.0])
    engine.reduce(parts, float, operator.add)  # workers have started
    before = signal.getsignal(signal.SIGINT)
    if handler == "Python's":
        signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt = threading.Timer(1.5, os.kill, [os.getpid(), signal.SIGINT])
    began = time.monotonic()
    try:
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            engine.reduce(parts, sleeping, operator.add)
    finally:
        interrupt.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 20.0
    assert engine.reduce(parts, float, operator.add) == 3.0
    engine.release()
