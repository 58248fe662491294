"""Arrays fitted by divide and conquer on Spark: the models of the local engine."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

pytest.importorskip("pyspark")

from spark.frames import array_frame
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.kernel.divide import driver, placing
from widemargin.kernel.partition import tree_growth
from widemargin.spark import SparkSVMClassifier

pytestmark = pytest.mark.spark

# Half of the eight methods are left to `make test-slow`.
METHODS = [
    (Stratified, ODMClassifier),
    (Clustered, SVMClassifier),
    (Cascade, ODMClassifier),
    (Preserving, SVMClassifier),
    *(
        pytest.param(*method, marks=pytest.mark.slow)
        for method in (
            (Stratified, SVMClassifier),
            (Clustered, ODMClassifier),
            (Cascade, SVMClassifier),
            (Preserving, ODMClassifier),
        )
    ),
]


@pytest.mark.parametrize(("strategy", "classifier"), METHODS)
def test_the_model_of_the_local_engine(spark, monkeypatch, strategy, classifier):
    monkeypatch.setattr(placing, "BLOCK_BYTES", 2**12)  # several blocks, as of a large set
    X, y = make_moons(400, noise=0.3, random_state=0)
    settings = {"C": 4.0, "gamma": 1.0, "random_state": 3, "n_jobs": 1}
    stopped = strategy(levels=2, fan_in=2, stop_level=1)
    here = classifier(strategy=stopped, **settings).fit(X, y)
    there = classifier(strategy=stopped, engine="spark", **settings).fit(X, y)
    for name in ("objective", "gap"):
        np.testing.assert_allclose(there.history_[name], here.history_[name], rtol=1e-10)
    np.testing.assert_allclose(
        there.decision_function(X), here.decision_function(X), rtol=0, atol=1e-10
    )
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


@pytest.fixture
def few_at_once(monkeypatch):
    """Clusters of 20 rows beyond 100 rows, and few found on one sample."""
    monkeypatch.setattr(driver, "EXACT_ROWS", 100)
    monkeypatch.setattr(driver, "PART_ROWS", 20)
    monkeypatch.setattr(tree_growth, "MOST_CLUSTERS", 8)


@pytest.mark.filterwarnings("ignore:.*divides .* training rows")
def test_a_tree_of_clusters_is_that_of_the_local_engine(spark, monkeypatch, few_at_once):
    monkeypatch.setattr(placing, "BLOCK_BYTES", 2**12)
    X, y = make_moons(1200, noise=0.3, random_state=0)
    here = SVMClassifier(random_state=3).fit(X, y)
    there = SVMClassifier(random_state=3, engine="spark").fit(X, y)
    assert here.routing_[0]["node_start"].size > 8
    assert set(here.routing_[0]) == set(there.routing_[0])
    for name, value in here.routing_[0].items():
        np.testing.assert_allclose(there.routing_[0][name], value, rtol=1e-12)
    np.testing.assert_allclose(
        there.decision_function(X), here.decision_function(X), rtol=0, atol=1e-10
    )


@pytest.mark.filterwarnings("ignore:.*divides .* training rows")
@pytest.mark.parametrize("max_model_rows", [200_000, 50])
def test_the_default_takes_any_number_of_rows(spark, few_at_once, max_model_rows):
    """Far more clusters than a sample shows, also in a model that stays on the cluster."""
    X, y = make_moons(1200, noise=0.1, random_state=0)
    frame = array_frame(spark, X, y)
    model = SparkSVMClassifier(maxModelRows=max_model_rows, C=100.0).fit(frame)
    predicted = model.transform(frame).select("label", "prediction").collect()
    assert np.mean([row.label == row.prediction for row in predicted]) > 0.93
    model.unpersist()
