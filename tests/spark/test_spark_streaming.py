"""Streams: models that transform them, and linear models that learn from them."""

import logging
import shutil

import numpy as np
import pytest

pytest.importorskip("pyspark")
from spark.frames import array_frame, three_classes, two_classes
from spark.streams import FILE, SCHEMA, stream, write
from widemargin import (
    LinearODMClassifier,
    LinearSVMClassifier,
    MulticlassSVMClassifier,
    SVMClassifier,
)
from widemargin.persistence import ModelFileError
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkMulticlassSVMModel,
    SparkSVMModel,
)


@pytest.fixture(scope="module")
def batches():
    X, y = two_classes()
    order = np.random.default_rng(0).permutation(len(y))
    return [(X[rows], y[rows]) for rows in np.array_split(order, 3)]


@pytest.fixture
def folder(tmp_path, batches):
    for number, (X, y) in enumerate(batches):
        write(tmp_path / "rows", number, X, y)
    return tmp_path / "rows"


@pytest.mark.parametrize("kind", ["linear", "classes", "kernel"])
def test_a_stream_is_transformed_like_a_table(spark, kind, tmp_path):
    X, y = three_classes()
    model, local = {
        "linear": (SparkLinearODMModel, LinearODMClassifier()),
        "classes": (SparkMulticlassSVMModel, MulticlassSVMClassifier()),
        "kernel": (SparkSVMModel, SVMClassifier()),
    }[kind]
    made = model.fromLocal(local.fit(X, y)).setHandleInvalid("skip")
    X = X.copy()
    X[0, 0] = np.nan  # a row that is left out
    for number in range(2):
        write(tmp_path / "rows", number, X[number::2], y[number::2])
    scored = made.transform(stream(spark, tmp_path / "rows"))
    assert scored.isStreaming
    query = (
        scored.writeStream.format("parquet")
        .option("path", str(tmp_path / "scores"))
        .option("checkpointLocation", str(tmp_path / "offsets"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "scores")).collect()
    found = {row["id"]: row["prediction"] for row in rows}
    assert len(rows) == len(y) - 1
    expected = local.predict(np.nan_to_num(X))
    for number in range(2):
        for k, label in enumerate(expected[number::2]):
            if (number, k) != (0, 0):
                assert found[FILE * number + k] == label


def learn(spark, folder, updater, offsets):
    query = (
        stream(spark, folder)
        .writeStream.foreachBatch(updater)
        .option("checkpointLocation", str(offsets))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def test_a_stream_is_learnt_batch_by_batch(spark, folder, batches, tmp_path, caplog):
    """Also by a query that ends after two batches and another that goes on from there."""
    expected = LinearODMClassifier(C=0.5)
    after_two = None
    for X, y in batches:
        after_two = after_two if expected.__dict__.get("n_iter_") != 2 else expected.coef_
        expected.partial_fit(X, y, classes=[0, 1])
    classifier = SparkLinearODMClassifier(C=0.5)
    last = folder / "rows-2.parquet"
    shutil.move(last, tmp_path)
    path, offsets = tmp_path / "model", tmp_path / "offsets"
    first = classifier.fitStream(str(path))
    assert first.model is None
    learn(spark, folder, first, offsets)
    assert first.batchId == 1
    np.testing.assert_allclose(first.model.toLocal().coef_, after_two, rtol=0, atol=1e-9)
    shutil.move(tmp_path / last.name, folder)
    second = classifier.fitStream(str(path))
    learn(spark, folder, second, offsets)
    model = second.model
    assert second.batchId == 2
    assert model.numRows == sum(len(y) for _, y in batches)
    np.testing.assert_allclose(model.toLocal().coef_, expected.coef_, rtol=0, atol=1e-9)
    assert (model.solverUsed, model.converged) == ("online", False)
    # A batch that comes again, to an object that has just found the model.
    third = classifier.fitStream(str(path))
    with caplog.at_level(logging.WARNING, logger="widemargin.spark"):
        third(array_frame(spark, *batches[2]), 2)
    assert "batch 2 has been learnt already" in caplog.text
    assert third.model.numRows == model.numRows
    # A model that was cut off while it was written: the one before it is taken.
    for file in (path / "even" / "data").glob("*.parquet"):
        file.unlink()
    fourth = classifier.fitStream(str(path))
    fourth(array_frame(spark, *batches[2]), 2)
    np.testing.assert_allclose(fourth.model.toLocal().coef_, expected.coef_, rtol=0, atol=1e-9)
    for turn in ("even", "odd"):
        for file in (path / turn / "data").glob("*.parquet"):
            file.unlink()
    with pytest.raises(ModelFileError, match="neither of the two models"):
        _ = classifier.fitStream(str(path)).model


def test_frames_are_learnt_one_after_another(spark):
    X, y = three_classes()
    order = np.argsort(np.arange(len(y)) % 2, kind="stable")
    X, y = X[order], y[order]
    local = LinearSVMClassifier(loss="hinge", class_weight={0: 2.0})
    classifier = SparkLinearSVMClassifier(loss="hinge", classWeight={0: 2.0})
    model = None
    for rows in (slice(0, 75), slice(75, 150)):
        local.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        model = classifier.partialFit(array_frame(spark, X[rows], y[rows]), model, numClasses=3)
    np.testing.assert_allclose(model.toLocal().coef_, local.coef_, rtol=0, atol=1e-9)
    assert model.numClasses == 3
    frame = array_frame(spark, X, y)
    with pytest.raises(ValueError, match="holds label 2; `numClasses` is 2"):
        classifier.partialFit(frame)
    with pytest.raises(ValueError, match="the model has 3 classes; `numClasses` is 4"):
        classifier.partialFit(frame, model, numClasses=4)
    with pytest.raises(ValueError, match="takes vectors of 4 features; got 2"):
        classifier.partialFit(array_frame(spark, X[:, :2], y), model, numClasses=3)
    with pytest.raises(ValueError, match=r"`interceptScaling` has changed since .* `partialFit`"):
        classifier.copy().setInterceptScaling(2.0).partialFit(frame, model, numClasses=3)


@pytest.mark.parametrize(
    ("settings", "model", "classes", "message"),
    [
        ({"lam": 3.0}, None, 2, "`lam` needs to know all rows"),
        ({"validationIndicatorCol": "label"}, None, 2, "`validationIndicatorCol` needs to know"),
        ({"classWeight": "balanced"}, None, 2, "classWeight='balanced' needs to know"),
        ({"calibrate": "sigmoid"}, None, 2, "`calibrate` needs to know all rows"),
        ({"localCopies": "many"}, None, 2, "`localCopies` must"),
        ({}, None, 1, "`numClasses` must be a whole number, at least 2; got 1"),
    ],
)
def test_refused(spark, settings, model, classes, message):
    frame = spark.createDataFrame([], SCHEMA)
    with pytest.raises(ValueError, match=message):
        SparkLinearODMClassifier(**settings).partialFit(frame, model, numClasses=classes)
    with pytest.raises(ValueError, match=message):  # before the query begins
        SparkLinearODMClassifier(**settings).fitStream(numClasses=classes)


@pytest.mark.parametrize("fit", ["fit", "partialFit"])
def test_streams_are_not_fitted_like_tables(spark, fit, tmp_path):
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with pytest.raises(ValueError, match=r"got a stream. Linear classifiers learn .* `fitStream`"):
        getattr(SparkLinearODMClassifier(), fit)(stream)


def test_models_that_remember_nothing(spark):
    X, y = two_classes()
    fitted = SparkLinearODMModel.fromLocal(LinearODMClassifier().fit(X, y))
    with pytest.raises(ValueError, match="`numRows` is for models of"):
        _ = fitted.numRows
    with pytest.raises(ValueError, match="a model of `fit` remembers nothing"):
        SparkLinearODMClassifier().partialFit(array_frame(spark, X, y), fitted)
    with pytest.raises(TypeError, match="`model` must be a SparkLinearSVMModel"):
        SparkLinearSVMClassifier().partialFit(array_frame(spark, X, y), fitted)
