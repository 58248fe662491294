"""Models that a fit compresses on the cluster."""

import gc
import logging
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

pytest.importorskip("pyspark")
from spark.frames import array_frame, sparse_frame, three_classes
from widemargin import ODMClassifier
from widemargin.core.losses import Hinge
from widemargin.core.rows import as_rows
from widemargin.engines.spark import SparkEngine
from widemargin.kernel.kernels import Kernel
from widemargin.kernel.model.basis_newton import minimise
from widemargin.kernel.model.basis_refit import _RowsHere
from widemargin.spark import SparkODMClassifier, SparkODMModel, SparkSVMClassifier
from widemargin.spark.kernel import stages
from widemargin.spark.kernel.compression import FullModel, warn_if_lost
from widemargin.spark.kernel.distributed_model import DistributedExpansion
from widemargin.spark.kernel.drawn_rows import DrawnRows
from widemargin.spark.kernel.row_passes import PosedOnBasis, RowsOnCluster, _dealt, zero_of

LARGE = {"maxModelRows": 60, "idCol": "id", "nParts": 2}


@pytest.fixture(scope="module")
def moons():
    return make_moons(600, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def frame(spark, moons):
    return array_frame(spark, *moons).persist()


class Lines(logging.Handler):
    """Keeps the lines of a log."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture(scope="module")
def told():
    return Lines()


@pytest.fixture(scope="module")
def model(frame, told):
    log = logging.getLogger("widemargin.spark")
    log.addHandler(told)
    log.setLevel(logging.INFO)
    classifier = SparkODMClassifier(strategy="sodm", levels=1, stopLevel=1, gamma=2.0, **LARGE)
    made = classifier.fit(frame)
    log.setLevel(logging.NOTSET)
    log.removeHandler(told)
    yield made
    made.unpersist()


def test_a_fit_compresses_what_is_too_large(model, moons, frame, tmp_path):
    X, y = moons
    assert not model.distributed
    assert model.numSupportVectors == 60
    found = model.compression
    assert found["n_support_before"] == model.full.numSupportVectors > 60
    assert found["n_basis"] == 60
    assert found["n_validation"] + found["n_rows"] == 600
    assert 58 <= found["n_validation"] <= 62
    assert found["converged"]
    full = model.full
    assert full.distributed
    assert (full.compression, full.compressionLoss) == ({}, 0.0)
    assert model.compressionLoss == found["accuracy_before"] - found["accuracy"]
    assert np.isnan(model.relativeGap)
    local = model.toLocal()
    assert local.score(X, y) > 0.92
    scored = model.transform(frame).orderBy("id").collect()
    np.testing.assert_array_equal([row["prediction"] for row in scored], local.predict(X))
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = SparkODMModel.load(str(tmp_path / "model"))
    assert loaded.full is None
    assert loaded.compression == found
    np.testing.assert_array_equal(loaded.toLocal().dual_coef_, local.dual_coef_)


def test_the_loss_is_that_of_both_models(model, frame, moons):
    """By their decisions about all rows, of which those held out are some."""
    found, (X, y) = model.compression, moons
    large = model.full.setMaxModelRows(1000).toLocal()
    assert found["accuracy_before"] == pytest.approx(large.score(X, y), abs=0.08)
    assert found["accuracy"] == pytest.approx(model.toLocal().score(X, y), abs=0.08)
    same = np.mean(large.predict(X) == model.toLocal().predict(X))
    assert found["same_labels"] == pytest.approx(same, abs=0.05)
    apart = np.abs(large.decision_function(X) - model.toLocal().decision_function(X)).max()
    assert 0.0 < found["largest_error"] <= apart


def test_progress_is_told(model, told):
    lines = " ".join(told.lines)
    assert "support vectors to 60 points" in lines
    assert "compression, problem 0, step 0: objective" in lines
    assert "rows held out" in lines


def test_points_fitted_to_a_frame(model, frame, moons):
    full = model.full
    again = full.compress(60, frame)
    np.testing.assert_allclose(
        again.toLocal().dual_coef_, model.toLocal().dual_coef_, rtol=0, atol=1e-8
    )
    assert again.compression == pytest.approx(model.compression, abs=1e-8)
    fewer = model.compress(20, frame)
    assert fewer.numSupportVectors == 20
    assert fewer.compression["n_support_before"] == 60
    assert fewer.toLocal().score(*moons) > 0.9
    with pytest.raises(ValueError, match="`n` must be a number of points"):
        full.compress(0, frame)


def test_validation_rows_are_those_held_out(moons, spark):
    X, y = moons
    y = y.copy()
    held_out = np.arange(len(y)) % 5 == 0
    y[held_out] = 1 - y[held_out]  # their labels are wrong, so that the model is
    frame = array_frame(spark, X, y, held_out=held_out)
    classifier = SparkODMClassifier(strategy="dc", levels=1, stopLevel=1, compressTo=40)
    classifier.setMaxModelRows(60).setValidationIndicatorCol("held_out")
    model = classifier.fit(frame)
    found = model.compression
    assert (found["n_validation"], found["n_rows"], found["n_basis"]) == (120, 480, 40)
    assert found["accuracy"] < 0.2
    assert model.history["validation_score"] == pytest.approx(found["accuracy_before"])
    model.unpersist()


def test_the_objective_is_that_of_rows_here(spark):
    """A basis fitted on the cluster is as good as one fitted in this process."""
    random = np.random.default_rng(0)
    X, kernel, basis = random.normal(size=(400, 3)), Kernel("rbf", 0.5), random.normal(size=(30, 3))
    label = np.sign(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=400))
    weight = random.uniform(0.5, 2.0, size=400)
    corner = kernel.block(as_rows(basis), as_rows(basis))
    engine = SparkEngine(spark)
    codes = (label > 0).astype(np.int32)
    parts = engine.scatter([DrawnRows(k, X[k::3], codes[k::3], weight[k::3]) for k in range(3)])
    for loss in (ODMClassifier()._loss(), Hinge()):
        posed = PosedOnBasis(kernel, basis, 1, loss, 2.0, 1)
        there = RowsOnCluster(engine, parts, 400, posed, 30, (0, 0))
        here = _RowsHere(
            kernel, as_rows(basis), X, None, label, loss.terms(2.0 * weight), 0.0,
            np.random.default_rng(0), np.dtype(np.float64), 1, 1 << 30,
        )  # fmt: skip
        assert there.smooth == here.smooth
        coef, width = random.normal(size=30), None if there.smooth else 0.5
        assert there.loss(coef) == pytest.approx(here.loss(coef), rel=1e-12)
        for one, other in zip(
            there.loss_and_pull(coef, width), here.loss_and_pull(coef, width), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9)
        sums = [np.zeros((30, 30)), np.zeros((30, 30))]
        there.add_curvature(coef, width, sums[0])
        here.add_curvature(coef, width, sums[1])
        np.testing.assert_allclose(np.tril(sums[0]), np.tril(sums[1]), rtol=1e-5)
        objectives = []
        for passes in (there, here):
            found, _, converged = minimise(passes, corner, np.zeros(30), widths=(2.5, 0.5, 0.1))
            assert converged
            objectives.append(0.5 * found @ corner @ found + here.loss(found))
        assert objectives[0] == pytest.approx(objectives[1], rel=2e-3)
    engine.release()


def test_the_hessian_of_a_sample_stands_for_all_rows(spark):
    random = np.random.default_rng(1)
    X, kernel, basis = random.normal(size=(6000, 2)), Kernel("rbf", 0.5), np.eye(2)
    engine = SparkEngine(spark)
    rows = [DrawnRows(k, X[k::2], np.ones(3000, np.int32), np.ones(3000)) for k in range(2)]
    posed = PosedOnBasis(kernel, basis, 1, ODMClassifier()._loss(), 1.0, 1)
    sums = []
    for share in (1.0, 0.2):
        passes = RowsOnCluster(engine, engine.scatter(rows), 6000, posed, 2, (0, 0))
        passes.share = share
        passes.loss_and_pull(np.zeros(2), None)
        taken = sum(len(weight) for _, weight in passes._sample)
        assert taken == 6000 * share
        normal = np.zeros((2, 2))
        passes.add_curvature(np.zeros(2), None, normal)
        sums.append(np.tril(normal))
    np.testing.assert_allclose(sums[1], sums[0], rtol=0.1)
    engine.release()


def test_three_classes_of_sparse_rows(spark):
    X, y = three_classes()
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    classifier = SparkODMClassifier(
        strategy="sodm", levels=1, stopLevel=1, maxModelRows=20, compressTo=10, idCol="id", nParts=2
    )
    model = classifier.fit(sparse_frame(spark, X, y))
    local = model.toLocal()
    assert local.dual_coef_.shape == (3, 10)
    assert local.score(X, y) > 0.9
    assert model.compression["n_validation"] > 0
    model.unpersist()


def test_a_compression_that_fails_leaves_the_model(spark, frame, monkeypatch):
    """Whose table stays in storage for a DataFrame that is read when the model is gone."""

    def fail(*_):
        raise ArithmeticError("no")

    monkeypatch.setattr(stages, "compressed_on_rows", fail)
    before = held(spark)
    classifier = SparkSVMClassifier(strategy="dc", levels=1, stopLevel=1, **LARGE)
    with pytest.warns(UserWarning, match="could not be compressed .ArithmeticError: no.; it stays"):
        model = classifier.fit(frame)
    assert model.distributed
    assert model.cachedTables == len(held(spark) - before) == 1
    with pytest.raises(ValueError, match=r"cannot transform a stream.*`compressTo`"):
        model.transform(spark.readStream.format("rate").load().selectExpr("array(1d, 2d) features"))
    scored, kept = model.transform(frame), model._large.kept
    del model
    assert not freed(spark, before, seconds=0.5)
    assert scored.count() == 600
    kept.pop().unpersist()


def held(spark):
    return set(spark.sparkContext._jsc.getPersistentRDDs())


def freed(spark, before, seconds=30):
    gc.collect()
    end = time.monotonic() + seconds
    while held(spark) != before and time.monotonic() < end:
        time.sleep(0.1)
    return held(spark) == before


def test_tables_are_freed_with_their_models(spark, moons):
    before = held(spark)
    table = spark.range(10).selectExpr("id + 3").persist()
    table.count()
    assert held(spark) != before
    large = DistributedExpansion(table, 10, [table])
    fitted = ODMClassifier().fit(*moons)
    full = FullModel(fitted, large)
    model = SparkODMModel(fitted, None, full)
    del large, full, table
    whole = model.copy().full
    assert model.cachedTables == whole.cachedTables == 1
    del model
    assert not freed(spark, before, seconds=0.5)
    del whole
    assert freed(spark, before)


def test_points_that_the_driver_has_no_room_for(frame):
    with pytest.raises(ValueError, match=r"`memoryLimit` is '10KB'"):
        SparkODMClassifier(strategy="sodm", levels=1, memoryLimit="10KB", **LARGE).fit(frame)


def test_loss_is_warned_of():
    found = {"n_basis": 2, "n_support_before": 9, "n_validation": 1000, "same_labels": 0.9}
    with pytest.warns(UserWarning, match=r"83.0% of 1,000 rows.* Raise `compressTo`"):
        warn_if_lost(found | {"accuracy_before": 0.9, "accuracy": 0.83})
    with warnings.catch_warnings(action="error"):
        warn_if_lost(found | {"accuracy_before": 0.9, "accuracy": 0.895})
        warn_if_lost(found | {"accuracy_before": 0.9, "accuracy": 0.83, "n_validation": 50})
        warn_if_lost(dict.fromkeys(("accuracy", "accuracy_before"), np.nan) | found)


def test_zeros_of_slopes():
    lengths = np.array([0.0, 1.0, 2.0])
    assert zero_of(lengths, np.array([-2.0, -1.0, 1.0])) == 1.5
    assert zero_of(lengths, np.array([-2.0, -1.0, -0.5])) == 2.0
    assert zero_of(lengths, np.array([0.0, 1.0, 2.0])) == 0.0


def test_panels_are_dealt_evenly():
    assert _dealt([0, 1, 2, 3, 4], 2) == [[0, 3, 4], [1, 2]]
    assert _dealt([0], 8) == [[0]]
