"""Linear classifiers on a local Spark session."""

import logging
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyspark")
import pyarrow as pa
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from sklearn.exceptions import ConvergenceWarning

from spark.frames import array_frame, sparse_frame, three_classes, two_classes, vector_frame
from widemargin import LinearODMClassifier, LinearSVMClassifier
from widemargin.core.budget import Budget
from widemargin.engines import LocalEngine
from widemargin.engines.spark import SparkEngine
from widemargin.linear.fit import LinearFit
from widemargin.linear.history import LinearHistory
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkLinearSVMModel,
)
from widemargin.spark.kernel.rows import facts_of
from widemargin.spark.rows.blocks import place
from widemargin.spark.rows.columns import FrameColumns

pytestmark = pytest.mark.spark

TIGHT = 1e-10


@pytest.fixture(scope="module")
def binary(spark):
    return vector_frame(spark, *two_classes()).persist()


@pytest.fixture(scope="module")
def model(binary):
    return SparkLinearODMClassifier(tol=TIGHT).fit(binary)


def predictions(model, frame):
    rows = model.transform(frame).select("id", "prediction").collect()
    return np.array([row["prediction"] for row in sorted(rows, key=lambda row: row["id"])])


def assert_same(model, local, X, frame):
    there, here = model.history["primal"][-1], local.history_["primal"][-1]
    assert there == pytest.approx(here, rel=1e-10)
    np.testing.assert_allclose(model.coefficientMatrix.toArray(), local.coef_, atol=1e-7)
    np.testing.assert_array_equal(predictions(model, frame), local.predict(X))


def test_the_local_model_in_one_task(model, binary):
    X, y = two_classes()
    assert_same(model, LinearODMClassifier(tol=TIGHT).fit(X, y), X, binary)
    assert model.converged
    assert model.relativeGap <= TIGHT
    assert (model.numClasses, model.numFeatures) == (2, 10)


def test_the_local_model_of_rows_that_stay_in_blocks(binary):
    X, y = two_classes()
    there = SparkLinearODMClassifier(solver="newton", tol=TIGHT).fit(binary)
    assert there.solverUsed == "newton"
    assert_same(there, LinearODMClassifier(tol=TIGHT).fit(X, y), X, binary)


def test_the_hinge(binary):
    X, y = two_classes()
    there = SparkLinearSVMClassifier(loss="hinge", tol=1e-2).fit(binary)
    here = LinearSVMClassifier(loss="hinge", tol=1e-8).fit(X, y)
    best = here.history_["dual"].max()
    assert best <= there.history["primal"][-1] <= 1.01 * here.history_["primal"][-1]


def test_three_classes(spark):
    X, y = three_classes()
    frame = vector_frame(spark, X, y)
    there = SparkLinearODMClassifier(tol=TIGHT, fitIntercept=False).fit(frame)
    here = LinearODMClassifier(tol=TIGHT, fit_intercept=False).fit(X, y)
    assert_same(there, here, X, frame)
    row = there.transform(frame.where("id = 3")).head()
    np.testing.assert_allclose(row["rawPrediction"].toArray(), here.decision_function(X)[3])
    with pytest.raises(ValueError, match="`coefficients` is for models of two classes; this one"):
        there.coefficients  # noqa: B018


@pytest.mark.parametrize("solver", ["newton", "dsvrg"])
def test_the_same_blocks_give_the_same_iterates_here_and_there(spark, binary, solver):
    """Far from the optimum, where only the same steps lead to the same weights."""
    classifier = SparkLinearODMClassifier(solver=solver, tol=0.5, idCol="id", nParts=2)
    there = classifier.fit(binary)
    columns = FrameColumns("features", "label", identity="id")
    rows = place(SparkEngine(spark), binary, columns, skip=False, n_parts=2)
    blocks = rows.engine.reduce(rows.parts, lambda block: [block], lambda a, b: a + b)
    local = classifier._local_estimator()
    problems = classifier._problems(local, rows)
    rows.engine.release()
    assert len(blocks) == 2
    engine = LocalEngine(1)
    problems = replace(problems, engine=engine, blocks=engine.scatter(blocks))
    budget = Budget(tol=0.5, seed=local.random_state)
    here = LinearFit("here", problems, solver, budget, LinearHistory())
    here.solve_all()
    np.testing.assert_allclose(there.coefficientMatrix.toArray()[0], here.w[0, :-1], rtol=1e-10)


def test_ids_make_the_same_model_however_rows_are_partitioned(spark):
    X, y = two_classes()
    classifier = SparkLinearODMClassifier(solver="newton", tol=0.5, idCol="id", nParts=2)
    one, other = (classifier.fit(vector_frame(spark, X, y, partitions)) for partitions in (1, 3))
    np.testing.assert_array_equal(one.coefficients.toArray(), other.coefficients.toArray())


@pytest.mark.parametrize("kind", ["double", "float", "sparse", "mixed"])
def test_kinds_of_columns(spark, kind):
    X, y = two_classes()
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    if kind == "float":
        X = X.astype(np.float32)
    if kind in ("double", "float"):
        frame = array_frame(spark, X, y)
    else:
        frame = sparse_frame(spark, X, y, dense_every=2 if kind == "mixed" else 0)
    there = SparkLinearODMClassifier(tol=TIGHT).fit(frame)
    assert_same(there, LinearODMClassifier(tol=TIGHT).fit(X, y), X, frame)


def test_blocks_that_disagree_are_settled(spark):
    """One partition of dense vectors and one of sparse ones, of which few entries are not zero."""
    X, y = two_classes()
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    half = len(y) // 2
    first, second = X[:half], X[half:]
    frame = vector_frame(spark, first, y[:half], 1).unionByName(
        sparse_frame(spark, second, y[half:]).withColumn("id", F.col("id") + half).coalesce(1)
    )
    there = SparkLinearODMClassifier(solver="newton", tol=TIGHT).fit(frame)
    assert_same(there, LinearODMClassifier(tol=TIGHT).fit(X, y), X, frame)


def test_weights_of_rows_and_classes(spark):
    X, y = two_classes()
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    frame = vector_frame(spark, X, y, heavy=weight)
    there = SparkLinearODMClassifier(
        tol=TIGHT, weightCol="heavy", classWeight="balanced", lam=3.0
    ).fit(frame)
    here = LinearODMClassifier(tol=TIGHT, class_weight="balanced", lam=3.0)
    assert_same(there, here.fit(X, y, sample_weight=weight), X, frame)
    assert there.toLocal().class_weight == "balanced"


def test_class_weights_by_label(spark, binary):
    X, y = two_classes()
    there = SparkLinearSVMClassifier(tol=TIGHT, classWeight={0.0: 2, 1: 0.5}).fit(binary)
    here = LinearSVMClassifier(tol=TIGHT, class_weight={0: 2.0, 1: 0.5}).fit(X, y)
    assert_same(there, here, X, binary)


def test_empty_and_skewed_partitions(spark):
    X, y = two_classes()
    frame = vector_frame(spark, X, y, 1)
    skewed = frame.withColumn("place", F.when(F.col("id") < 3, 1).otherwise(2))
    skewed = skewed.repartition(5, "place").drop("place")
    there = SparkLinearODMClassifier(solver="newton", tol=TIGHT).fit(skewed)
    assert_same(there, LinearODMClassifier(tol=TIGHT).fit(X, y), X, frame)


def test_rows_with_nan_are_skipped_if_asked_for(spark, caplog):
    X, y = two_classes()
    broken = X.copy()
    broken[::10, 3] = np.nan
    frame = vector_frame(spark, broken, y)
    kept = ~np.isnan(broken[:, 3])
    there = SparkLinearODMClassifier(tol=TIGHT, handleInvalid="skip").fit(frame)
    here = LinearODMClassifier(tol=TIGHT).fit(X[kept], y[kept])
    np.testing.assert_array_equal(predictions(there, frame), here.predict(X[kept]))
    assert f"left out {np.count_nonzero(~kept)} invalid rows" in caplog.text


def test_a_partition_whose_rows_are_all_skipped(spark):
    X, y = two_classes()
    broken = np.vstack([np.full_like(X, np.nan), X])
    frame = vector_frame(spark, broken, np.concatenate([y, y]))
    there = SparkLinearODMClassifier(solver="newton", tol=TIGHT, handleInvalid="skip").fit(frame)
    here = LinearODMClassifier(tol=TIGHT).fit(X, y)
    np.testing.assert_allclose(there.coefficientMatrix.toArray(), here.coef_, atol=1e-7)


def test_validation_rows_choose_the_iterate(spark):
    X, y = two_classes()
    held_out = np.arange(len(y)) % 4 == 0
    frame = vector_frame(spark, X, y, held=pa.array(held_out))
    there = SparkLinearODMClassifier(validationIndicatorCol="held", tol=1e-8).fit(frame)
    scores = there.history["validation_score"]
    local = there.toLocal()
    assert np.mean(local.predict(X[held_out]) == y[held_out]) == pytest.approx(scores.max())
    best = LinearODMClassifier(tol=1e-8).fit(
        X[~held_out], y[~held_out], X_val=X[held_out], y_val=y[held_out]
    )
    assert local.score(X[held_out], y[held_out]) == best.score(X[held_out], y[held_out])


def test_the_source_is_read_once(spark):
    """Rows drawn anew at every reading would be trained on and validated by."""
    X, y = two_classes()
    readings = spark.sparkContext.accumulator(0)

    def read(batches):
        for batch in batches:
            readings.add(batch.num_rows)
            yield batch

    frame = vector_frame(spark, X, y, held=pa.array(np.arange(len(y)) % 4 == 0))
    source = frame.mapInArrow(read, frame.schema)
    SparkLinearODMClassifier(validationIndicatorCol="held", idCol="id", nParts=2).fit(source)
    assert readings.value == len(y)


def test_no_rows_to_validate_by(binary):
    frame = binary.withColumn("held", F.lit(False))
    message = "the DataFrame has no rows to validate by in which 'held' is true"
    with pytest.raises(ValueError, match=message):
        SparkLinearODMClassifier(validationIndicatorCol="held").fit(frame)
    with pytest.raises(ValueError, match="the DataFrame has no rows to train on"):
        SparkLinearODMClassifier(validationIndicatorCol="held").fit(
            frame.withColumn("held", F.lit(True))
        )


def test_a_feature_that_dominates_is_told_of_where_the_fit_was_called(spark):
    X, y = two_classes()
    frame = vector_frame(spark, X * np.where(np.arange(10) == 7, 1e3, 1.0), y)
    with pytest.warns(UserWarning, match="Feature 7 of column 'features' carries") as told:
        SparkLinearODMClassifier(tol=0.1).fit(frame)
    assert told[0].filename == __file__


def test_an_unfinished_fit_is_told_of_where_it_was_called(binary):
    with pytest.warns(ConvergenceWarning) as told:
        SparkLinearODMClassifier(solver="dsvrg", tol=TIGHT, maxIter=1).fit(binary)
    assert told[0].filename == __file__


def test_ids_tell_of_cores_that_have_no_part(binary, caplog, monkeypatch):
    monkeypatch.setattr(SparkEngine, "cores", 64)
    SparkLinearODMClassifier(idCol="id").fit(binary)
    assert "rows with ids are in 16 parts, and 64 tasks run at a time: set nParts" in caplog.text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the DataFrame has no rows to train on"),
        ([(1.0, [1.0]), (1.0, [2.0])], "column 'label' must hold labels of at least two classes"),
        ([(1.0, [1.0]), (0.5, [2.0])], r"'label' must hold labels 0, 1, … up to .*; got 0\.5"),
        ([(1.0, [1.0]), (0.0, [2.0, 3.0])], "column 'features' must hold vectors of one size"),
        ([(1.0, None), (0.0, [2.0])], "column 'features' must hold finite numbers in every row"),
        ([(1.0, [1.0]), (None, [2.0])], "column 'label' must hold finite numbers in every row"),
    ],
)
def test_rows_that_cannot_be_trained_on(spark, rows, message):
    frame = spark.createDataFrame(rows, "label double, features array<double>")
    with pytest.raises(ValueError, match=message):
        SparkLinearODMClassifier().fit(frame)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"featuresCol": "x"}, ValueError, "`featuresCol` must name a column of the DataFrame; got "
         "'x', and the columns are id, label, features"),
        ({"featuresCol": "label"}, TypeError, r"column 'label' \(`featuresCol`\) must hold vectors "
         "or arrays of numbers; got double. Put features into one vector"),
        ({"labelCol": "features"}, TypeError, r"column 'features' \(`labelCol`\) must hold "
         "numbers, or true and false; got vector. Index text with StringIndexer"),
        ({"weightCol": "features"}, TypeError, r"column 'features' \(`weightCol`\)"),
        ({"weightCol": "w"}, ValueError, "`weightCol` must name a column"),
        ({"validationIndicatorCol": "id"}, TypeError, "must hold true and false; got bigint"),
        ({"idCol": "label"}, TypeError, "must hold whole numbers, text, dates or times"),
        ({"C": -1.0}, ValueError, r"^`C` must be a number above 0; got -1\.0\.$"),
        ({"maxIter": 0}, ValueError, "^`maxIter` must be a whole number of at least 1; got 0"),
        ({"handleInvalid": "keep"}, ValueError, "`handleInvalid` must be 'error' or 'skip'; got "),
        ({"solver": "magic"}, ValueError, "`solver` must be 'auto', 'dsvrg', "),
        ({"classWeight": {7: 1.0}}, ValueError, "`classWeight` names none of the classes, "),
        ({"memoryLimit": "many"}, ValueError, "`memoryLimit` must be a positive number of bytes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before_any_work(binary, params, error, message):
    with pytest.raises(error, match=message):
        SparkLinearODMClassifier(**params).fit(binary)


def test_params(model):
    classifier = SparkLinearODMClassifier(C=2.0).setTheta(0.1).setSolver("dsvrg").setIdCol("id")
    assert (classifier.getC(), classifier.getTheta(), classifier.getIdCol()) == (2.0, 0.1, "id")
    copied = classifier.copy({classifier.C: 5.0})
    assert (copied.getC(), copied.getTheta(), classifier.getC()) == (5.0, 0.1, 2.0)
    assert all(param.doc for param in classifier.params)
    assert (model.getTol(), model.getUpsilon()) == (TIGHT, 0.5)
    assert model.copy({model.predictionCol: "p"}).getPredictionCol() == "p"


@pytest.mark.parametrize("kind", [SparkLinearODMClassifier, SparkLinearSVMClassifier])
def test_signatures_tell_the_defaults(kind):
    import inspect

    classifier = kind()
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        if name != "self":
            assert classifier._value(name) == parameter.default, name


def test_one_vector(model):
    X, _ = two_classes()
    local = model.toLocal()
    (decision,) = local.decision_function(X[:1])
    np.testing.assert_allclose(model.predictRaw(Vectors.dense(X[0])), [-decision, decision])
    sparse = Vectors.sparse(10, [2], [4.0])
    assert model.predict(sparse) == local.predict(sparse.toArray()[None])[0]
    with pytest.raises(ValueError, match="the model takes vectors of 10 features; got 2"):
        model.predict(Vectors.dense(1.0, 2.0))


def test_columns_of_a_transformed_frame(model, binary):
    out = model.transform(binary)
    assert out.columns == [*binary.columns, "rawPrediction", "prediction"]
    assert "rawPrediction" not in model.copy({model.rawPredictionCol: ""}).transform(binary).columns
    with pytest.raises(ValueError, match=r"it already has 'prediction'.* names with `predictionCo"):
        model.transform(out.drop("rawPrediction"))
    with pytest.raises(ValueError, match="has 'prediction' and 'rawPrediction', as a frame that"):
        model.transform(out)
    one_name = model.copy({model.predictionCol: "p", model.rawPredictionCol: "P"})
    with pytest.raises(ValueError, match="different names; got rawPredictionCol='P' and predict"):
        one_name.transform(binary)


def test_predictions_before_pyspark_4_1(model, binary, monkeypatch):
    expected = predictions(model, binary)
    monkeypatch.delattr(F, "arrow_udf", raising=False)
    np.testing.assert_array_equal(predictions(model, binary), expected)
    assert model.transform(binary).schema["features"] == binary.schema["features"]


def test_to_local_and_back(model, binary):
    X, _ = two_classes()
    local = model.toLocal()
    np.testing.assert_array_equal(local.predict(X), predictions(model, binary))
    back = SparkLinearODMModel.fromLocal(local)
    np.testing.assert_array_equal(back.coefficients.toArray(), model.coefficients.toArray())
    assert (back.getTol(), back.getFeaturesCol()) == (TIGHT, "features")
    with pytest.raises(TypeError, match="a fitted LinearSVMClassifier is required; got LinearODM"):
        SparkLinearSVMModel.fromLocal(local)
    named = LinearSVMClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    with pytest.raises(ValueError, match="Spark's labels are 0, 1, …; the estimator was fitted on"):
        SparkLinearSVMModel.fromLocal(named)


def test_the_log_and_the_jobs_tell_what_is_done(spark, binary, caplog):
    described = []
    context = spark.sparkContext
    context.setJobDescription("mine")
    original = type(context).setJobDescription
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(context),
            "setJobDescription",
            lambda self, value: (described.append(value), original(self, value)),
        )
        with caplog.at_level(logging.INFO, "widemargin.spark"):
            SparkLinearODMClassifier(solver="newton").fit(binary)
    assert described[0] == "SparkLinearODMClassifier: placing rows"
    assert "SparkLinearODMClassifier: problem 0, iteration 2" in described
    assert context.getLocalProperty("spark.job.description") == "mine"
    context.setLocalProperty("spark.job.description", None)
    assert "569 rows of 10 features and 2 classes in 2 blocks" in caplog.text
    assert "iteration 1: relative gap" in caplog.text


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_nothing_is_left_in_storage(spark, binary, solver):
    held = spark.sparkContext._jsc.getPersistentRDDs
    before = set(held())
    SparkLinearODMClassifier(solver=solver).fit(binary)
    assert set(held()) == before
    with pytest.raises(ValueError, match="at least two classes"):
        SparkLinearODMClassifier(solver=solver).fit(binary.where("label = 1"))
    assert set(held()) == before


def test_nothing_of_arrays_is_left_in_storage(spark):
    held = spark.sparkContext._jsc.getPersistentRDDs
    before = set(held())
    LinearODMClassifier(engine="spark").fit(*two_classes())
    assert set(held()) == before


def test_blocks_computed_again_by_one_task_are_the_same(spark):
    """As when a cluster has lost them: the task that needs all of them makes them anew."""
    frame = vector_frame(spark, *two_classes(), partitions=4)
    engine = SparkEngine(spark)
    parts = place(engine, frame, FrameColumns("features", "label"), skip=False, n_parts=None).parts
    parts.stored.unpersist()

    def rows_of(blocks):
        return [(block.number, block.n_rows) for block in blocks]

    found = engine.together(parts, rows_of)
    assert [number for number, _ in found] == engine.numbers(parts)
    assert len(found) == 4
    assert sum(rows for _, rows in found) == frame.count()


def test_blocks_of_two_kinds_and_one_without_rows_tell_of_themselves(spark):
    vectors = [Vectors.dense([1.0, 2.0]), Vectors.sparse(2, [0], [1.0]), None]
    rows = [(k, float(k % 2), vector) for k, vector in enumerate(vectors)]
    frame = spark.createDataFrame(rows, ["id", "label", "features"])
    frame = frame.repartitionByRange(3, "id")
    placed = place(
        SparkEngine(spark),
        frame,
        FrameColumns("features", "label"),
        skip=True,
        n_parts=None,
        facts_of=facts_of,
    )
    assert len(placed.parts) == 2
    assert [facts.nonzero for facts in placed.facts] == [2, 1]
