"""Kernel classifiers on DataFrames: the models of the local engine."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

pytest.importorskip("pyspark")

from spark.frames import array_frame
from widemargin import Cascade, Clustered, ODMClassifier, Preserving, Stratified, SVMClassifier
from widemargin.spark import SparkODMClassifier, SparkODMModel, SparkSVMClassifier

pytestmark = pytest.mark.spark

LOCAL = {SparkODMClassifier: ODMClassifier, SparkSVMClassifier: SVMClassifier}
STRATEGIES = {"sodm": Stratified, "dc": Clustered, "cascade": Cascade, "dip": Preserving}
SETTINGS = {"C": 4.0, "gamma": 1.0}


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def frame(spark, moons):
    return array_frame(spark, *moons, partitions=3).persist()


@pytest.fixture(scope="module")
def order(frame):
    """Tell the numbers that rows have in a fit: by the partitions of their ids, then by these."""
    from pyspark.sql import functions as F

    placed = frame.select("id").repartition(2, "id").withColumn("at", F.spark_partition_id())
    return [row["id"] for row in placed.sort("at", "id").collect()]


def labels(frame, column="prediction"):
    rows = frame.select("id", column).collect()
    return [row[column] for row in sorted(rows, key=lambda row: row["id"])]


def same_model(model, local, X, frame):
    """Check that two models are one."""
    fitted = model.toLocal()
    for name in ("objective", "gap", "support_vectors"):
        np.testing.assert_allclose(fitted.history_[name], local.history_[name], rtol=1e-10)
    np.testing.assert_array_equal(fitted.support_, local.support_)
    np.testing.assert_allclose(
        fitted.decision_function(X), local.decision_function(X), rtol=0, atol=1e-10
    )
    np.testing.assert_array_equal(labels(model.transform(frame)), local.predict(X))


@pytest.mark.parametrize("classifier", LOCAL)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_model_of_the_local_engine(moons, frame, order, strategy, classifier):
    X, y = moons
    levels = STRATEGIES[strategy](levels=2, fan_in=2, stop_level=1)
    local = LOCAL[classifier](strategy=levels, random_state=3, **SETTINGS).fit(X[order], y[order])
    model = classifier(
        strategy=strategy,
        levels=2,
        fanIn=2,
        stopLevel=1,
        seed=3,
        idCol="id",
        nPartitions=2,
        **SETTINGS,
    ).fit(frame)
    same_model(model, local, X, frame)


def test_saved(frame, tmp_path):
    model = SparkODMClassifier(**SETTINGS).fit(frame)
    model.write().overwrite().save(str(tmp_path / "m"))
    assert labels(SparkODMModel.load(str(tmp_path / "m")).transform(frame)) == labels(
        model.transform(frame)
    )


@pytest.mark.parametrize("strategy", ["sodm", "dc"])
def test_a_model_that_stays_on_the_cluster(spark, moons, frame, strategy, tmp_path):
    X, _ = moons
    classifier = SparkODMClassifier(
        strategy=strategy, levels=2, fanIn=2, stopLevel=1, fitIntercept=True, idCol="id", **SETTINGS
    )
    small = classifier.fit(frame)
    large = classifier.copy().setMaxModelRows(50).fit(frame)
    assert large.distributed
    assert not small.distributed
    assert large.numSupportVectors == small.numSupportVectors
    expected = small.toLocal().decision_function(X)
    scored = large.transform(frame)
    assert scored.columns == [*frame.columns, "rawPrediction", "prediction"]
    raw = [row[1] for row in labels(scored, "rawPrediction")]
    np.testing.assert_allclose(raw, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(labels(scored), labels(small.transform(frame)))
    large.write().overwrite().save(str(tmp_path / "model"))
    large.unpersist()
    loaded = SparkODMModel.load(str(tmp_path / "model"))
    with pytest.raises(ValueError, match=r"more than `maxModelRows` \(50\)"):
        loaded.toLocal()
    local = loaded.setMaxModelRows(1000).toLocal()
    np.testing.assert_allclose(local.decision_function(X), expected, rtol=0, atol=1e-10)
    fewer = loaded.compress(60)
    assert fewer.numSupportVectors <= 60
    assert fewer.compression["n_support_before"] == small.numSupportVectors
    assert np.mean(fewer.toLocal().predict(X) == (expected > 0)) > 0.9
