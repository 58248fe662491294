"""Kernel classifiers on DataFrames: the models of the local engine."""

import inspect
import logging

import numpy as np
import pytest
from sklearn.datasets import make_moons

pytest.importorskip("pyspark")
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import StandardScaler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

from spark.frames import array_frame, sparse_frame, three_classes, vector_frame
from widemargin import (
    Cascade,
    Clustered,
    ODMClassifier,
    Preserving,
    Stratified,
    SVMClassifier,
)
from widemargin.spark import (
    SparkODMClassifier,
    SparkODMModel,
    SparkSVMClassifier,
    SparkSVMModel,
)

pytestmark = pytest.mark.spark

LOCAL = {SparkODMClassifier: ODMClassifier, SparkSVMClassifier: SVMClassifier}
STRATEGIES = {"sodm": Stratified, "dc": Clustered, "cascade": Cascade, "dip": Preserving}
SETTINGS = {"C": 4.0, "gamma": 1.0}
# Few partitions, as every task takes a while.
PLACED = {"idCol": "id", "nParts": 2}


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


# Half of the eight methods are left to `make test-slow`.
@pytest.mark.parametrize(
    ("strategy", "classifier"),
    [
        pytest.param(strategy, classifier, marks=[pytest.mark.slow] if (i + k) % 2 else [])
        for i, strategy in enumerate(STRATEGIES)
        for k, classifier in enumerate(LOCAL)
    ],
)
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
        **PLACED,
        **SETTINGS,
    ).fit(frame)
    same_model(model, local, X, frame)


@pytest.mark.parametrize("strategy", ["sodm", "dc"])
def test_a_model_that_stays_on_the_cluster(moons, frame, order, strategy, tmp_path):
    X, y = moons
    levels = STRATEGIES[strategy](levels=1, fan_in=2, stop_level=1)
    small = ODMClassifier(strategy=levels, fit_intercept=True, random_state=0, **SETTINGS)
    expected = small.fit(X[order], y[order]).decision_function(X)
    large = SparkODMClassifier(
        strategy=strategy,
        levels=1,
        fanIn=2,
        stopLevel=1,
        fitIntercept=True,
        maxModelRows=50,
        **PLACED,
        **SETTINGS,
    ).fit(frame)
    assert large.distributed
    assert large.numSupportVectors == len(small.support_)
    scored = large.transform(frame)
    assert scored.columns == [*frame.columns, "rawPrediction", "prediction"]
    raw = [row[1] for row in labels(scored, "rawPrediction")]
    np.testing.assert_allclose(raw, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(labels(scored), small.predict(X))
    large.write().overwrite().save(str(tmp_path / "model"))
    large.unpersist()
    loaded = SparkODMModel.load(str(tmp_path / "model"))
    with pytest.raises(ValueError, match=r"more than `maxModelRows` \(50\)"):
        loaded.toLocal()
    local = loaded.setMaxModelRows(1000).toLocal()
    np.testing.assert_allclose(local.decision_function(X), expected, rtol=0, atol=1e-10)
    fewer = loaded.compress(60)
    assert fewer.numSupportVectors <= 60
    assert fewer.compression["n_support_before"] == len(small.support_)
    assert np.mean(fewer.toLocal().predict(X) == (expected > 0)) > 0.9


def test_three_classes_with_weights(spark):
    X, y = three_classes()
    weight = np.arange(len(y)) % 3.0  # some rows do not count
    frame = vector_frame(spark, X, y, heavy=weight).coalesce(1)
    model = SparkSVMClassifier(
        loss="squared_hinge",
        strategy="cascade",
        levels=1,
        fanIn=2,
        fitIntercept=True,
        classWeight="balanced",
        weightCol="heavy",
        idCol="id",
        nParts=1,
        tol=1e-9,
    ).fit(frame)
    local = SVMClassifier(
        loss="squared_hinge",
        strategy=Cascade(levels=1, fan_in=2),
        fit_intercept=True,
        multi_class="ovr",
        class_weight="balanced",
        random_state=0,
        tol=1e-9,
    ).fit(X, y, weight)
    fitted = model.toLocal()
    assert model.gammaUsed == pytest.approx(local.gamma_, rel=1e-12)
    np.testing.assert_allclose(fitted.n_support_, local.n_support_)
    np.testing.assert_allclose(fitted.intercept_, local.intercept_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        fitted.decision_function(X), local.decision_function(X), rtol=0, atol=1e-8
    )
    np.testing.assert_array_equal(labels(model.transform(frame)), local.predict(X))


def test_sparse_vectors_and_rows_that_are_left_out(spark, moons):
    X, y = moons
    X = np.where(np.abs(X) < 0.2, 0.0, X)[:200]
    broken = np.where(np.arange(200) % 10 == 3, np.nan, y[:200])
    kept = ~np.isnan(broken)
    frame = sparse_frame(spark, X, broken).coalesce(1)
    with pytest.raises(ValueError, match="column 'label' must hold finite numbers"):
        SparkODMClassifier().fit(frame)
    model = SparkODMClassifier(handleInvalid="skip", tol=1e-8).fit(frame)
    local = ODMClassifier(tol=1e-8).fit(X[kept], y[:200][kept])
    assert model.strategyUsed == "exact"
    assert model.relativeGap <= 1e-8
    np.testing.assert_allclose(
        model.toLocal().decision_function(X), local.decision_function(X), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("kind", LOCAL)
def test_signatures_tell_the_defaults(spark, kind):
    classifier = kind()
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        if name != "self":
            assert classifier._value(name) == parameter.default, name
            assert f"{name}: " in classifier.explainParams()


class Interrupter(logging.Handler):
    """Breaks a fit off at a line of the log."""

    def emit(self, record):
        if "level 0," in record.getMessage():
            raise KeyboardInterrupt


def test_a_fit_goes_on_from_its_last_level(moons, frame, order, tmp_path, caplog):
    X, y = moons
    kept = SparkSVMClassifier(
        strategy="dc", levels=1, fanIn=2, checkpointDir=str(tmp_path), **PLACED, **SETTINGS
    )
    log, interrupter = logging.getLogger("widemargin.spark"), Interrupter()
    with caplog.at_level(logging.INFO, logger="widemargin.spark"):
        log.addHandler(interrupter)
        with pytest.raises(KeyboardInterrupt):
            kept.fit(frame)
        log.removeHandler(interrupter)
        caplog.clear()
        # Rows that lie elsewhere are the same rows.
        resumed = kept.fit(frame.repartition(4)).toLocal()
        told = [record.getMessage() for record in caplog.records]
    assert any("found problem-0-level-1" in line for line in told)
    assert next(line for line in told if " parts" in line and "level" in line).endswith(
        "level 0, 1 parts"
    )
    expected = SVMClassifier(strategy=Clustered(levels=1, fan_in=2), random_state=0, **SETTINGS)
    expected.fit(X[order], y[order])
    np.testing.assert_allclose(
        resumed.history_["objective"], expected.history_["objective"], rtol=1e-10
    )
    np.testing.assert_array_equal(resumed.support_, expected.support_)
    np.testing.assert_allclose(resumed.dual_coef_, expected.dual_coef_, rtol=0, atol=1e-10)


def test_damaged_levels_are_passed_over(spark, frame, tmp_path):
    classifier = SparkODMClassifier(
        strategy="cascade", levels=1, fanIn=2, checkpointDir=str(tmp_path), **PLACED, **SETTINGS
    )
    expected = classifier.fit(frame).toLocal()
    (folder,) = tmp_path.iterdir()
    files = spark.read.parquet(str(folder)).collect()
    damaged = [(r["name"], r["written"], r["chunk"], 2 * r["chunks"], r["data"]) for r in files]
    columns = "name string, written string, chunk int, chunks int, data binary"
    spark.createDataFrame(damaged, columns).write.mode("overwrite").parquet(str(folder))
    with pytest.warns(UserWarning, match="was not written to its end"):
        again = classifier.fit(frame).toLocal()
    np.testing.assert_array_equal(again.dual_coef_, expected.dual_coef_)


def test_time_ends_a_fit_at_a_level(frame):
    with pytest.warns(UserWarning, match="`maxTime` was reached"):
        model = SparkODMClassifier(
            strategy="sodm", levels=1, fanIn=2, maxTime=1e-3, **SETTINGS
        ).fit(frame)
    assert model.level == 1
    assert not model.converged


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"strategy": "sodm", "levels": 5}, ValueError, "1024 parts need at least two rows each"),
        ({"strategy": "sodm", "levels": 1, "stopLevel": 2}, ValueError, "`stopLevel` must be"),
        ({"strategy": "sodm", "memoryLimit": 1000}, ValueError, "`memoryLimit` must be at least"),
        ({"levels": 2}, ValueError, "`levels` is for strategy='cascade'"),
        ({"strategy": "cascade", "nStrata": 5}, ValueError, "`nStrata` is for strategy='dip'"),
        ({"kernel": "precomputed"}, ValueError, "`kernel` must be 'laplacian', 'linear', 'poly', "),
        (
            {"strategy": "dc", "fanIn": 1},
            ValueError,
            "`fanIn` must be a whole number from 2 to 102",
        ),
        ({"gamma": -1.0}, ValueError, "`gamma` must be 'auto', 'scale' or a number above 0; got"),
        ({"maxModelRows": 0}, ValueError, "`maxModelRows` must be a whole number of at least 1"),
        ({"fitIntercept": "no"}, ValueError, "`fitIntercept` must be True, False or 'auto'; got"),
    ],
)
def test_what_is_wrong_is_told_before_any_part_is_solved(frame, params, error, message):
    with pytest.raises(error, match=message):
        SparkODMClassifier(**params).fit(frame)


def test_clusters_of_one_class_and_rows_that_cannot_be_told_apart(spark):
    """Most rows are one point, others form clusters of one class each; strata are empty."""
    random = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], [200, 40, 40], axis=0)
    X[200:] += random.normal(size=(80, 2)) * 0.1
    y = np.repeat([0, 1, 0], [200, 40, 40])
    frame = array_frame(spark, X, y)
    for params in (
        {"strategy": "dc", "levels": 2, "stopLevel": 2},
        {"strategy": "sodm", "levels": 1, "stopLevel": 1, "nStrata": 256},
    ):
        model = SparkODMClassifier(fanIn=3, C=10.0, gamma=0.5, **params).fit(frame)
        np.testing.assert_array_equal(labels(model.transform(frame)), y)


def test_among_the_other_stages(frame, moons, tmp_path):
    X, y = moons
    as_vectors = vector_frame(frame.sparkSession, X, y)
    classifier = SparkODMClassifier(featuresCol="scaled", strategy="sodm", levels=1, stopLevel=1)
    scaler = StandardScaler(inputCol="features", outputCol="scaled")
    search = CrossValidator(
        estimator=classifier,
        estimatorParamMaps=ParamGridBuilder().addGrid(classifier.gamma, [1.0]).build(),
        evaluator=MulticlassClassificationEvaluator(metricName="accuracy"),
        numFolds=2,
        seed=0,
    )
    fitted = Pipeline(stages=[scaler, search]).fit(as_vectors)
    best = fitted.stages[1].bestModel
    assert best.getGamma() == 1.0
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert labels(loaded.transform(as_vectors)) == labels(fitted.transform(as_vectors))
    local = best.toLocal()
    back = SparkODMModel.fromLocal(local)
    assert (back.getStrategy(), back.getLevels(), back.getStopLevel()) == ("stratified", 1, 1)
    row = as_vectors.first()["features"]
    assert back.predict(row) == local.predict([row.toArray()])[0]
    assert back.predictRaw(row)[1] == pytest.approx(local.decision_function([row.toArray()])[0])
    compressed = back.compress(20)
    assert compressed.numSupportVectors <= 20
    assert "n_support_before" in compressed.compression
    with pytest.raises(ValueError, match="need a kernel by name"):
        SparkODMModel.fromLocal(ODMClassifier("precomputed").fit(X @ X.T, y))


def test_nothing_is_left_in_storage(spark, moons):
    held = spark.sparkContext._jsc.getPersistentRDDs
    before = set(held())
    classifier = SparkSVMClassifier(strategy="dc", levels=1, stopLevel=1, maxModelRows=50)
    model = classifier.fit(array_frame(spark, *moons))
    assert len(set(held()) - before) == 1  # the table of support vectors
    model.unpersist()
    assert set(held()) == before


def test_local_model_of_pairs_of_classes(spark):
    """Four classes are six pairs, whose decisions become votes."""
    random = np.random.default_rng(0)
    y = np.arange(80) % 4
    X = random.normal(size=(80, 2)) + 4.0 * np.column_stack([y // 2, y % 2])
    local = SVMClassifier().fit(X, y)
    assert local.multi_class_ == "ovo"
    model = SparkSVMModel.fromLocal(local)
    votes = local.decision_function(X[:5])
    for row, expected in zip(X[:5], votes, strict=True):
        np.testing.assert_allclose(model.predictRaw(row).toArray(), expected)
        assert model.predict(row) == np.argmax(expected)
