"""Errors of workers become errors of one line on the driver."""

import json
import os
import signal

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import functions as F

from spark.frames import array_frame, two_classes
from widemargin.engines.spark import SparkEngine
from widemargin.engines.spark_errors import KINDS, PREFIX, errors_of_tasks, note_on
from widemargin.spark import SparkLinearODMClassifier


class OwnError(ValueError):
    """An error of a kind that the driver may not know."""


def raised(text):
    """Return what an error of Spark with this text becomes."""
    with pytest.raises(Exception) as told, errors_of_tasks():  # noqa: PT011
        raise PySparkException(text)
    return told.value


def trace(note, spark="org.apache.spark.SparkException: Job aborted\n\tat org.apache.Some.java"):
    return f"{spark}\nTraceback (most recent call last):\n  File …\nX: y\n{note}\n\tat scala.Other"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("a\n b"), ValueError, "a b"),
        (OwnError("`C` must be …, “so”"), ValueError, "`C` must be …, “so”"),
        (np.linalg.LinAlgError("singular"), ValueError, "singular"),
        (TypeError("t"), TypeError, "t"),
        (FileNotFoundError(2, "none", "x"), OSError, "[Errno 2] none: 'x'"),
        (NotImplementedError("n"), RuntimeError, "n"),
        (KeyError("k"), RuntimeError, "a task failed with KeyError: 'k'"),
        (ValueError("x" * 10_000), ValueError, "x" * 2000),
    ],
)
def test_a_note_tells_kind_and_message(error, kind, message):
    told = raised(trace(note_on(error)))
    assert type(told) is kind
    assert str(told) == message
    assert isinstance(told.__cause__, PySparkException)


def test_lack_of_memory_says_what_to_do():
    told = raised(trace(note_on(MemoryError())))
    assert type(told) is MemoryError
    assert "too little memory (no details). Give Python more memory (spark.exec" in str(told)


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: without a note",
        PREFIX + '{"kind": "ValueError", "message": "cut o',
        PREFIX + '{"kind": "SystemExit", "message": "no such kind"}',
        PREFIX + '{"kind": ["ValueError"], "message": "no text"}',
        PREFIX + '{"kind": "ValueError", "message": 3}',
        PREFIX + '{"kind": "ValueError"}',
        PREFIX + '{"a": ' * 100_000 + "}",
        "said: " + PREFIX + '{"kind": "ValueError", "message": "within a line"}',
    ],
)
def test_other_texts_are_left_alone(line):
    assert type(raised(trace(line))) is PySparkException


def test_a_note_is_never_executed():
    code = "__import__('os')._exit(3)"
    told = raised(trace(PREFIX + json.dumps({"kind": "RuntimeError", "message": code})))
    assert str(told) == code
    assert set(KINDS) == {"ValueError", "TypeError", "MemoryError", "OSError", "RuntimeError"}


def test_errors_of_others_are_left_alone():
    note = note_on(ValueError("x"))
    with pytest.raises(KeyError), errors_of_tasks():
        raise KeyError(note)


def test_lost_executors_say_what_to_do():
    told = raised("Job aborted: Task 0.3 in stage 1 (ExecutorLostFailure (executor 1 exited)")
    assert type(told) is RuntimeError
    assert str(told).startswith("Spark lost an executor, which lack of memory often causes. Give")


def failing():
    # Nested functions go to workers by value; they cannot import this module.
    def fails(part, *_):
        class OwnError(ValueError):
            pass

        raise OwnError(f"`tol` must suit part {part}; got none. Do that.")

    return fails


@pytest.fixture
def engine(spark):
    engine = SparkEngine(spark)
    yield engine
    engine.release()


VERBS = {
    "map": lambda engine, parts, fails: engine.reduce(engine.map(parts, fails), abs, max),
    "regroup": lambda engine, parts, fails: engine.reduce(
        engine.regroup(parts, lambda _, part: fails(part), max, 1), abs, max
    ),
    "reduce": lambda engine, parts, fails: engine.reduce(parts, fails, max),
    "visit": lambda engine, parts, fails: engine.visit(parts, 0, fails, 0),
    "together": lambda engine, parts, fails: engine.together(parts, fails),
}


@pytest.mark.spark
def test_every_verb_raises_the_error_of_its_task(engine):
    parts, message = engine.scatter([7, 7]), r"^`tol` must suit part .*7.*; got none\. Do that\.$"
    for run in VERBS.values():
        with pytest.raises(ValueError, match=message) as told:
            run(engine, parts, failing())
        assert type(told.value) is ValueError
        assert isinstance(told.value.__cause__, PythonException)


@pytest.mark.spark
def test_defects_and_deaths_of_workers(engine):
    parts = engine.scatter([7])
    with pytest.raises(RuntimeError, match=r"^a task failed with KeyError: 7$"):
        engine.reduce(parts, lambda part: {}[part], max)
    with pytest.raises(RuntimeError, match=r"^a Python worker of Spark died, which lack of memory"):
        engine.reduce(parts, lambda part: os.kill(os.getpid(), signal.SIGKILL), max)


@pytest.mark.spark
def test_errors_of_a_fit(spark, monkeypatch):
    X, y = two_classes()
    message = "`max_iter` of a part is too small. Raise it."

    def broken(*_):
        raise ValueError(message)

    monkeypatch.setattr(SparkLinearODMClassifier, "_placement", {"facts_of": broken})
    with pytest.raises(ValueError, match=r"^`maxIter` of a part is too small\. Raise it\.$"):
        SparkLinearODMClassifier().fit(array_frame(spark, X, y))


@pytest.mark.spark
def test_errors_of_the_users_own_functions_stay(spark):
    X, y = two_classes()
    frame = array_frame(spark, X, y)
    broken = F.udf(lambda label: 1 / 0, "double")
    with pytest.raises(PythonException, match="ZeroDivisionError"):
        SparkLinearODMClassifier().fit(frame.withColumn("label", broken("label")))
