"""Fits of blocks of rows, as on Spark but in this process: the models of the rows as arrays."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

pytest.importorskip("pyspark")

from spark.frames import three_classes
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.engines import LocalEngine
from widemargin.spark.classifier_stage import FitLog
from widemargin.spark.kernel.fit import KernelFit
from widemargin.spark.kernel.params import KernelParams
from widemargin.spark.kernel.rows import facts_of
from widemargin.spark.param_messages import in_spark_names
from widemargin.spark.rows.block_summary import Summary, summary_of
from widemargin.spark.rows.block_tasks import SourceBlock
from widemargin.spark.rows.blocks import PlacedRows

STRATEGIES = [Stratified, Clustered, Cascade, Preserving]


def placed(X, y, weight=None, blocks=3, validation=None):
    """Return rows in blocks, with numbers that are not those of their places."""
    parts = []
    for k, rows in enumerate(np.array_split(np.arange(len(y)), blocks)):
        own = None if weight is None else weight[rows]
        codes = y[rows].astype(np.int32)
        parts.append(SourceBlock(f"b{k}", X[rows], codes, own, number=10 * k + 1))
    summary = reduce(Summary.plus, map(summary_of, parts))
    facts = tuple(map(facts_of, parts))
    return PlacedRows(LocalEngine(1), parts, summary, facts, validation)


def fitted(local, rows):
    fit = KernelFit(
        "Test", local, rows, FitLog(None, "Test"), max_model_rows=10**6, checkpoint=None
    )
    fit.run()
    fit.set_fitted()
    assert fit.large is None
    fit.warn()
    return local


def same(there, here, X):
    np.testing.assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-10)
    np.testing.assert_array_equal(there.support_, here.support_)
    for name in ("dual_coef_", "intercept_"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(there.n_support_, here.n_support_)
    np.testing.assert_allclose(
        there.decision_function(X), here.decision_function(X), rtol=0, atol=1e-10
    )
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


@pytest.mark.parametrize("classifier", [ODMClassifier, SVMClassifier])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_kinds_of_rows(strategy, classifier, kind):
    X, y = make_moons(300, noise=0.3, random_state=0)
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    X = {"dense": X, "sparse": sp.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    settings = {
        "strategy": strategy(levels=2, fan_in=2, stop_level=1),
        "C": 4.0,
        "gamma": 1.0,
        "random_state": 0,
        "n_jobs": 1,
    }
    here = classifier(**settings).fit(X, y)
    same(fitted(classifier(**settings), placed(X, y)), here, X)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_three_classes_with_weights(strategy):
    X, y = three_classes()
    weight = 1.0 + np.arange(len(y)) % 3
    settings = {
        "strategy": strategy(levels=1, fan_in=2, stop_level=1),
        "fit_intercept": True,
        "multi_class": "ovr",
        "class_weight": "balanced",
        "random_state": 0,
        "tol": 1e-9,
        "n_jobs": 1,
    }
    here = SVMClassifier(**settings).fit(X, y, weight)
    there = fitted(SVMClassifier(**settings), placed(X, y, weight))
    assert there.gamma_ == pytest.approx(here.gamma_, rel=1e-13)  # "scale", from all blocks
    # Sums over blocks round otherwise, so the solvers stop elsewhere within `tol`.
    np.testing.assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-8)
    for name in ("classes_", "support_class_", "n_support_"):
        assert getattr(there, name).dtype == getattr(here, name).dtype
    np.testing.assert_array_equal(there.support_class_, y[there.support_])
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        there.decision_function(X), here.decision_function(X), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_validation_rows_choose_the_level(strategy):
    X, y = make_moons(400, noise=0.3, random_state=0)
    out = np.arange(400) % 4 == 0
    settings = {"strategy": strategy(levels=2, fan_in=2), "random_state": 0, "n_jobs": 1}
    here = ODMClassifier(**settings).fit(X[~out], y[~out], X_val=X[out], y_val=y[out])
    beside = placed(X[out], y[out], blocks=2)
    there = fitted(ODMClassifier(**settings), placed(X[~out], y[~out], validation=beside))
    assert there.level_ == here.level_
    for name in ("validation_score", "objective"):
        np.testing.assert_allclose(there.history_[name], here.history_[name], rtol=1e-10)


def test_a_few_entries_among_zeros_and_values_far_from_the_origin():
    random = np.random.default_rng(0)
    few = np.where(random.random((120, 40)) < 0.1, random.normal(size=(120, 40)), 0.0)
    far = (random.normal(size=(120, 3)) + 1000.0).astype(np.float32)
    y = np.arange(120) % 2
    settings = {"strategy": Stratified(levels=1, fan_in=2), "random_state": 0, "n_jobs": 1}
    for X, what in ((few, "sparse"), (far, "precise")):
        fit = KernelFit(
            "Test",
            ODMClassifier(**settings),
            placed(X, y),
            FitLog(None, "Test"),
            max_model_rows=10**6,
            checkpoint=None,
        )
        assert fit.form.sparse == (what == "sparse")
        assert fit.form.dtype == np.float64
        same(
            fitted(ODMClassifier(**settings), placed(X, y)), ODMClassifier(**settings).fit(X, y), X
        )


def test_parts_that_are_too_large_are_refused_before_any_is_solved():
    X, y = make_moons(400, noise=0.3, random_state=0)
    local = ODMClassifier(strategy=Stratified(levels=1), memory_limit=10**5)
    wanted = r"`memoryLimit` must be at least \d+ bytes for level"
    with pytest.raises(ValueError, match=wanted), in_spark_names(KernelParams._spark_names()):
        fitted(local, placed(X, y))
