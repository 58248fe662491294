"""Columns that a fit and a prediction accept, as the names and types of Spark have them."""

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.errors import PySparkException
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

from spark.frames import array_frame, two_classes
from widemargin import LinearODMClassifier
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkODMClassifier,
)

pytestmark = pytest.mark.spark

X = np.round(two_classes()[0][:80, :3] * 4)
Y = two_classes()[1][:80]


@pytest.fixture(scope="module")
def frame(spark):
    return array_frame(spark, X, Y).persist()


@pytest.fixture(scope="module")
def expected():
    return LinearODMClassifier(tol=1e-9).fit(X, Y)


@pytest.fixture
def case_sensitive(spark):
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def fitted(frame, **params):
    return SparkLinearODMClassifier(tol=1e-9, **params).fit(frame)


def predictions(frame, id="id"):
    rows = frame.select(id, "prediction").collect()
    return [row["prediction"] for row in sorted(rows, key=lambda row: row[0])]


def nested(frame):
    inner = F.struct(F.col("features").alias("x.y")).alias("in")
    return frame.select("id", F.struct("label", inner).alias("s"))


@pytest.mark.parametrize(
    ("change", "features", "label"),
    [
        (lambda f: f, "FEATURES", "Label"),
        (lambda f: f.withColumn("features", array_to_vector("features")), "Features", "LABEL"),
        (nested, "s.in.`x.y`", "s.label"),
        (nested, "S.IN.`X.Y`", "S.Label"),
        (lambda f: f.withColumnsRenamed({"features": "a.b", "label": "c`d"}), "a.b", "c`d"),
        (lambda f: f.withColumnsRenamed({"features": "a.b", "label": "c.d"}), "`a.b`", "`C.d`"),
        (lambda f: f.withColumn("label", F.col("label") > 0), "features", "label"),
        (lambda f: f.withColumn("label", F.col("label").cast("decimal(9,2)")), "features", "label"),
        (lambda f: f.withColumn("label", F.col("label").cast("tinyint")), "features", "label"),
    ],
)
def test_names_and_labels(frame, expected, change, features, label):
    given = change(frame)
    model = fitted(given, featuresCol=features, labelCol=label)
    np.testing.assert_allclose(model.toLocal().coef_, expected.coef_, atol=1e-7)
    scored = model.transform(given)
    assert scored.columns == [*given.columns, "rawPrediction", "prediction"]
    assert dict(scored.dtypes)["prediction"] == "double"
    np.testing.assert_array_equal(predictions(scored), expected.predict(X))


@pytest.mark.parametrize("kind", ["int", "bigint", "float", "decimal(9,2)", "smallint"])
def test_arrays_of_numbers(frame, expected, kind):
    given = frame.withColumn("features", F.col("features").cast(f"array<{kind}>"))
    model = fitted(given)
    np.testing.assert_allclose(model.toLocal().coef_, expected.coef_, atol=1e-5)
    scored = model.transform(given)
    assert dict(scored.dtypes)["features"] == f"array<{kind}>"
    np.testing.assert_array_equal(predictions(scored), expected.predict(X))


@pytest.mark.parametrize("where", ["features", "s.features"])
def test_vectors_in_parquet_files(spark, frame, expected, tmp_path, where):
    vectors = frame.withColumn("features", array_to_vector("features"))
    if where != "features":
        vectors = vectors.select("id", "label", F.struct("features").alias("s"))
    vectors.write.parquet(str(tmp_path / "rows"))
    given = spark.read.parquet(str(tmp_path / "rows"))
    model = fitted(given, featuresCol=where)
    np.testing.assert_allclose(model.toLocal().coef_, expected.coef_, atol=1e-7)
    scored = model.transform(given)
    assert len(scored.collect()) == len(Y)
    np.testing.assert_array_equal(predictions(scored), expected.predict(X))
    assert predictions(scored.select("id", "rawPrediction", "prediction")) == predictions(scored)
    assert model.evaluate(given).accuracy == pytest.approx(expected.score(X, Y))


def test_vectors_whose_type_a_file_does_not_keep(spark, frame, tmp_path):
    vectors = frame.withColumn("features", array_to_vector("features"))
    vectors.write.orc(str(tmp_path / "rows"))
    with pytest.raises(TypeError, match="a file that does not keep their type, such as ORC"):
        fitted(spark.read.orc(str(tmp_path / "rows")))
    assert fitted(spark.read.schema(vectors.schema).orc(str(tmp_path / "rows"))).numFeatures == 3


def test_fields_before_pyspark_4_1(frame, expected, monkeypatch):
    monkeypatch.delattr(F, "arrow_udf", raising=False)
    model = SparkLinearODMModel.fromLocal(expected).setFeaturesCol("s.in.`x.y`")
    given = nested(frame)
    scored = model.transform(given)
    assert scored.columns == ["id", "s", "rawPrediction", "prediction"]
    np.testing.assert_array_equal(predictions(scored), expected.predict(X))


def test_case_counts_where_spark_says_so(frame, expected, case_sensitive):
    message = r"got 'Features', and .* 'features' differs in case, and spark.sql.caseSensitive is t"
    with pytest.raises(ValueError, match=message):
        fitted(frame, featuresCol="Features")
    model = SparkLinearODMModel.fromLocal(expected)
    more = frame.withColumn("FEATURES", F.lit(1)).withColumn("PREDICTION", F.lit("kept"))
    scored = model.transform(more)
    assert scored.columns[-3:] == ["PREDICTION", "rawPrediction", "prediction"]
    assert scored.first()["PREDICTION"] == "kept"


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (
            lambda f: f,
            "feature",
            r"the columns are id, label, features\. Did you mean 'features'\?",
        ),
        (nested, "s.lable", r"column 's' has the fields label, in\. Did you m"),
        (nested, "id.x", "got 'id.x', and the columns are id, s"),
        (lambda f: f, "`features", "got '`features', and the columns are"),
        (lambda f: f, "*", r"got '\*', and the columns are"),
        (
            lambda f: f.select("*", F.col("features").alias("FEATURES")),
            "features",
            "fits 2 of them",
        ),
        (
            lambda f: f.select("*", *[F.lit(0).alias(f"c{k}") for k in range(30)]),
            "nowhere",
            r"c16 and 13 more\.$",
        ),
    ],
)
def test_columns_that_cannot_be_found(frame, change, name, message):
    with pytest.raises(ValueError, match=message):
        fitted(change(frame), featuresCol=name)


def test_a_column_that_differs_in_case_is_not_replaced(frame, expected):
    model = SparkLinearODMModel.fromLocal(expected)
    with pytest.raises(ValueError, match="it already has 'PREDICTION'"):
        model.transform(frame.withColumn("PREDICTION", F.lit(1.0)))


def test_frames_of_pandas_on_spark(frame, expected):
    given = frame.pandas_api(index_col="id")
    model = fitted(given)
    np.testing.assert_allclose(model.toLocal().coef_, expected.coef_, atol=1e-7)
    scored = model.transform(given)
    assert type(scored) is type(given)
    assert list(scored.columns) == ["label", "features", "rawPrediction", "prediction"]
    assert scored.index.name == "id"
    here = scored["prediction"].to_pandas().sort_index()
    np.testing.assert_array_equal(here.index, np.arange(80))
    np.testing.assert_array_equal(here.to_numpy(), expected.predict(X))


def test_other_frames_are_refused(frame, expected):
    for other in (X, frame.limit(3).toPandas()):
        for call in (
            SparkLinearODMClassifier().fit,
            SparkLinearODMModel.fromLocal(expected).transform,
        ):
            with pytest.raises(
                TypeError, match=r"Spark or of pandas-on-Spark is required; got \w+\."
            ):
                call(other)


def test_weights_that_are_all_zero_are_told_of(frame):
    message = (
        r"column 'w' must hold a weight above 0 in some of the rows to train on; got 0 in all 80\."
    )
    with pytest.raises(ValueError, match=message):
        fitted(frame.withColumn("w", F.lit(0)), weightCol="w")
    with pytest.raises(ValueError, match=r"only 1 in \d+ rows \(without \d+ of weight 0 in 'w'\)"):
        fitted(frame.withColumn("w", F.col("label")), weightCol="w")


@pytest.mark.parametrize("older", [False, True])
def test_what_is_wrong_with_vectors_to_classify_is_the_first_line(
    frame, expected, monkeypatch, older
):
    if older:
        monkeypatch.delattr(F, "arrow_udf", raising=False)
    model = SparkLinearODMModel.fromLocal(expected)
    short = frame.withColumn("features", F.array(F.lit(1.0)))
    with pytest.raises(PySparkException) as told:
        model.transform(short).select("prediction").collect()
    assert (
        "column 'features' must hold vectors of 3 features, as the model was trained on; got 1. "
        in (str(told.value).splitlines()[0])
    )
    with pytest.raises(PySparkException, match=r"column 'features' must .*; got null\. Fill them"):
        model.transform(frame.withColumn("features", F.lit(None).cast("array<int>"))).collect()


def test_the_same_of_a_model_on_the_cluster(spark, frame):
    given = nested(frame)
    classifier = SparkODMClassifier(
        featuresCol="s.in.`x.y`", labelCol="s.label", strategy="sodm", levels=1, fanIn=2
    )
    large = classifier.setMaxModelRows(5).setCompressTo(0).fit(given)
    assert large.distributed
    scored = large.transform(given)
    assert scored.columns == ["id", "s", "rawPrediction", "prediction"]
    local = large.setMaxModelRows(100).toLocal()
    np.testing.assert_array_equal(predictions(scored), local.predict(X))
    with pytest.raises(PySparkException) as told:
        large.setFeaturesCol("features").transform(
            frame.withColumn("features", F.array(F.lit(1.0)))
        ).collect()
    assert "must hold vectors of 3 features" in str(told.value).splitlines()[0]
    large.unpersist()
