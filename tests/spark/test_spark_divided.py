"""Arrays fitted by divide and conquer on Spark: the models of the local engine."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

pytest.importorskip("pyspark")

from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.kernel.divide import placing

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
