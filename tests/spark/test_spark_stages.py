"""Linear classifiers among the other stages of ``pyspark.ml``, and on disk."""

import inspect

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import OneVsRest
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import StandardScaler
from pyspark.ml.tuning import (
    CrossValidator,
    CrossValidatorModel,
    ParamGridBuilder,
    TrainValidationSplit,
)

from spark.frames import three_classes, two_classes, vector_frame
from widemargin import LinearODMClassifier
from widemargin.persistence import ModelFileError
from widemargin.spark import (
    SparkLinearODMClassifier,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkLinearSVMModel,
    SparkMulticlassSVMClassifier,
    SparkODMClassifier,
    SparkSVMClassifier,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def binary(spark):
    return vector_frame(spark, *two_classes(), heavy=np.ones(569)).persist()


@pytest.fixture(scope="module")
def model(binary):
    return SparkLinearODMClassifier(classWeight={0: 2.0, 1: 1.0}, predictionCol="p").fit(binary)


def labels(frame, column="prediction"):
    rows = frame.select("id", column).collect()
    return [row[column] for row in sorted(rows, key=lambda row: row["id"])]


def test_a_pipeline_is_saved_and_loaded(binary, tmp_path):
    scaler = StandardScaler(inputCol="features", outputCol="scaled", withMean=True)
    stages = [scaler, SparkLinearSVMClassifier(featuresCol="scaled", weightCol="heavy")]
    fitted = Pipeline(stages=stages).fit(binary)
    scored = fitted.transform(binary)
    assert BinaryClassificationEvaluator().evaluate(scored) > 0.97
    accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(scored)
    assert accuracy == pytest.approx(np.mean(np.array(labels(scored)) == two_classes()[1]))
    Pipeline(stages=stages).write().overwrite().save(str(tmp_path / "pipeline"))
    assert Pipeline.load(str(tmp_path / "pipeline")).getStages()[1].getWeightCol() == "heavy"
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    loaded = PipelineModel.load(str(tmp_path / "fitted"))
    assert isinstance(loaded.stages[1], SparkLinearSVMModel)
    assert labels(loaded.transform(binary)) == labels(scored)


def test_a_search_over_folds(binary, tmp_path):
    classifier = SparkLinearODMClassifier()
    grid = ParamGridBuilder().addGrid(classifier.C, [1e-6, 1.0]).build()
    search = CrossValidator(
        estimator=classifier,
        estimatorParamMaps=grid,
        evaluator=MulticlassClassificationEvaluator(metricName="accuracy"),
        numFolds=2,
        seed=0,
        parallelism=2,
    )
    found = search.fit(binary)
    assert found.bestModel.getC() == 1.0
    assert found.avgMetrics[1] > found.avgMetrics[0]
    found.write().overwrite().save(str(tmp_path / "search"))
    loaded = CrossValidatorModel.load(str(tmp_path / "search"))
    assert loaded.bestModel.coefficients == found.bestModel.coefficients


def test_a_search_by_one_split(binary):
    classifier = SparkLinearSVMClassifier()
    found = TrainValidationSplit(
        estimator=classifier,
        estimatorParamMaps=ParamGridBuilder().addGrid(classifier.C, [0.1]).build(),
        evaluator=BinaryClassificationEvaluator(),
        seed=0,
    ).fit(binary)
    assert found.validationMetrics[0] > 0.95


def test_one_against_the_rest(spark):
    X, y = three_classes()
    frame = vector_frame(spark, X, y, heavy=np.ones(len(y)))
    one = OneVsRest(classifier=SparkLinearODMClassifier(tol=1e-9), weightCol="heavy").fit(frame)
    expected = LinearODMClassifier(tol=1e-9).fit(X, y).predict(X)
    np.testing.assert_array_equal(labels(one.transform(frame)), expected)


def test_a_model_is_saved_and_loaded(model, binary, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    loaded = SparkLinearODMModel.load(path)
    assert loaded.uid == model.uid
    assert loaded.coefficients == model.coefficients
    assert loaded.getClassWeight() == {0: 2.0, 1: 1.0}
    assert loaded.history.keys() == model.history.keys()
    assert labels(loaded.transform(binary), "p") == labels(model.transform(binary), "p")
    with pytest.raises(Exception, match="already exists"):
        model.save(path)
    SparkLinearODMModel.fromLocal(model.toLocal().set_params(C=7.0)).write().overwrite().save(path)
    assert SparkLinearODMModel.load(path).getC() == 7.0


def test_what_is_no_such_model_is_refused(spark, model, tmp_path):
    path = str(tmp_path / "model")
    model.save(path)
    with pytest.raises(ModelFileError, match=r"holds a widemargin\.spark\.SparkLinearODMModel"):
        SparkLinearSVMModel.load(path)
    spark.read.parquet(f"{path}/data").limit(0).write.mode("overwrite").parquet(f"{path}/empty")
    (tmp_path / "model" / "data").rename(tmp_path / "model" / "kept")
    (tmp_path / "model" / "empty").rename(tmp_path / "model" / "data")
    with pytest.raises(ModelFileError, match="damaged or was not written to its end"):
        SparkLinearODMModel.load(path)


def test_an_estimator_is_saved_and_loaded(tmp_path, spark):
    classifier = SparkLinearSVMClassifier(loss="hinge", classWeight="balanced", memoryLimit=10**6)
    classifier.write().overwrite().save(str(tmp_path / "classifier"))
    loaded = SparkLinearSVMClassifier.load(str(tmp_path / "classifier"))
    assert loaded.uid == classifier.uid
    assert {p.name: v for p, v in loaded.extractParamMap().items()} == {
        p.name: v for p, v in classifier.extractParamMap().items()
    }


@pytest.mark.parametrize(
    "kind", [SparkODMClassifier, SparkSVMClassifier, SparkMulticlassSVMClassifier]
)
def test_the_former_name_of_n_parts_is_refused_with_advice(kind):
    for given in (kind, kind().setParams):
        with pytest.raises(TypeError, match=r"no parameter 'nPartitions'. It is called 'nParts'"):
            given(nPartitions=3)
    assert not hasattr(kind, "nPartitions")


def test_a_stage_saved_under_the_former_name_is_loaded(tmp_path, spark):
    kept, former = str(tmp_path / "kept"), str(tmp_path / "former")
    SparkODMClassifier(nParts=3).write().save(kept)
    line = spark.read.text(f"{kept}/metadata").first()[0].replace("nParts", "nPartitions")
    spark.createDataFrame([(line,)], "value string").write.text(f"{former}/metadata")
    assert SparkODMClassifier.load(former).getNParts() == 3


@pytest.mark.parametrize(
    "kind",
    [
        SparkODMClassifier,
        SparkSVMClassifier,
        SparkLinearODMClassifier,
        SparkLinearSVMClassifier,
        SparkMulticlassSVMClassifier,
    ],
)
def test_constructors_take_every_param_by_keyword(kind):
    stage, shown = kind(), inspect.signature(kind).parameters
    not_for_it = {"validationIndicatorCol"} if kind is SparkMulticlassSVMClassifier else set()
    assert set(shown) == {param.name for param in stage.params} - not_for_it
    for name, each in shown.items():
        assert each.kind is each.KEYWORD_ONLY
        assert each.default == (stage.getOrDefault(name) if stage.hasDefault(name) else None)
        assert f"\n{name} : " in kind.__doc__
    assert kind(tol=0.5, featuresCol="rows")._input_kwargs == {"tol": 0.5, "featuresCol": "rows"}
    with pytest.raises(TypeError, match="no parameter 'colour'"):
        kind(colour="blue")
    with pytest.raises(TypeError, match="positional"):
        kind("features")
