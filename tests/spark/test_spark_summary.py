"""Summaries of training and of other rows, against MLlib's evaluators and curves."""

import gc
import re
import weakref

import numpy as np
import pytest

pytest.importorskip("pyspark")
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator

from spark.frames import three_classes, two_classes, vector_frame
from widemargin.spark import (
    BinaryClassificationSummary,
    BinaryTrainingSummary,
    ClassificationSummary,
    SparkLinearODMModel,
    SparkLinearSVMClassifier,
    SparkMulticlassSVMClassifier,
    SparkODMClassifier,
    TrainingSummary,
)
from widemargin.spark.confusion import Confusion

pytestmark = pytest.mark.spark

BY_LABEL = ["truePositiveRateByLabel", "falsePositiveRateByLabel", "precisionByLabel"]
WEIGHTED = [
    "accuracy",
    "weightedPrecision",
    "weightedRecall",
    "weightedTruePositiveRate",
    "weightedFalsePositiveRate",
]


def weights(n):
    return np.where(np.arange(n) % 3 == 0, 0.5, 2.0)


@pytest.fixture(scope="module")
def several(spark):
    X, y = three_classes()
    return vector_frame(spark, X[:, :2], y, heavy=weights(len(y))).persist()


@pytest.fixture(scope="module")
def binary(spark):
    X, y = two_classes()
    return vector_frame(spark, X[:, :3], y, heavy=weights(len(y))).persist()


@pytest.fixture(scope="module")
def model(binary):
    return SparkLinearSVMClassifier(calibrate="sigmoid", weightCol="heavy").fit(binary)


def test_metrics_are_those_of_mllib(several):
    model = SparkMulticlassSVMClassifier(weightCol="heavy", C=0.01).fit(several)
    summary = model.evaluate(several)
    assert type(summary) is ClassificationSummary
    scored = model.transform(several).persist()

    def theirs(name, **more):
        return MulticlassClassificationEvaluator(
            metricName=name, weightCol="heavy", **more
        ).evaluate(scored)

    assert summary.labels == [0.0, 1.0, 2.0]
    assert 0.5 < summary.accuracy < 1.0
    for name in WEIGHTED:
        assert getattr(summary, name) == pytest.approx(theirs(name)), name
    for name in BY_LABEL:
        expected = [theirs(name, metricLabel=label) for label in summary.labels]
        assert getattr(summary, name) == pytest.approx(expected), name
    assert summary.recallByLabel == summary.truePositiveRateByLabel
    assert summary.weightedFMeasure(2.0) == pytest.approx(theirs("weightedFMeasure", beta=2.0))
    assert summary.weightedFMeasure() == pytest.approx(theirs("f1"))
    expected = [theirs("fMeasureByLabel", metricLabel=label, beta=0.5) for label in summary.labels]
    assert summary.fMeasureByLabel(0.5) == pytest.approx(expected)
    total = weights(150).sum()
    assert summary.confusionMatrix.toArray().sum() == pytest.approx(total)
    assert summary.confusionMatrix.toArray()[0, 0] == pytest.approx(
        summary.recallByLabel[0] * weights(150)[:50].sum()
    )


def test_classes_that_are_never_predicted_or_never_true_count_as_in_mllib(spark):
    cases = {
        "never predicted": [(0.0, 0.0), (1.0, 0.0), (1.0, 0.0)],
        "never true": [(0.0, 0.0), (1.0, 2.0), (1.0, 1.0)],
        "one class": [(1.0, 1.0), (1.0, 1.0)],
    }
    for rows in cases.values():
        found = Confusion.of([(*row, 1.0) for row in rows])
        frame = spark.createDataFrame(rows, "label double, prediction double").persist()
        for name, ours in (
            ("accuracy", found.accuracy),
            ("f1", found.weighted(found.f_measure(1.0))),
            ("weightedPrecision", found.weighted(found.precision())),
        ):
            theirs = MulticlassClassificationEvaluator(metricName=name).evaluate(frame)
            assert ours == pytest.approx(theirs)
        assert set(found.labels) == {label for label, _ in rows}
    assert np.isnan(Confusion.of([]).accuracy)


def test_areas_and_curves_of_two_classes(spark, binary, model):
    summary = model.evaluate(binary)
    assert type(summary) is BinaryClassificationSummary
    assert summary.scoreCol == "probability"
    evaluator = BinaryClassificationEvaluator(rawPredictionCol="probability", weightCol="heavy")
    scored = model.transform(binary)
    assert summary.areaUnderROC == pytest.approx(evaluator.evaluate(scored))
    by_recall = evaluator.setMetricName("areaUnderPR").evaluate(scored)
    assert summary.areaUnderPR == pytest.approx(by_recall)
    log_loss = MulticlassClassificationEvaluator(metricName="logLoss", weightCol="heavy")
    assert summary.logLoss == pytest.approx(log_loss.evaluate(scored))

    roc = np.array(summary.roc.collect())
    assert summary.roc.columns == ["FPR", "TPR"]
    assert roc[0].tolist() == [0.0, 0.0]
    assert roc[-1].tolist() == [1.0, 1.0]
    assert np.all(np.diff(roc, axis=0) >= 0)
    assert np.trapezoid(roc[:, 1], roc[:, 0]) == pytest.approx(summary.areaUnderROC, abs=1e-3)
    pr = np.array(summary.pr.collect())
    assert summary.pr.columns == ["recall", "precision"]
    assert np.trapezoid(pr[:, 1], pr[:, 0]) == pytest.approx(summary.areaUnderPR, abs=1e-3)

    # At a threshold, the curves tell what predictions by it are worth.
    for row in (summary.recallByThreshold.collect()[20], summary.recallByThreshold.collect()[200]):
        at = row["threshold"]
        below = model.copy().setThreshold(np.nextafter(at, 0.0)).evaluate(binary)
        assert below.recallByLabel[1] == pytest.approx(row["recall"])
        (precision,) = summary.precisionByThreshold.where(f"threshold = {at!r}").collect()
        assert below.precisionByLabel[1] == pytest.approx(precision["precision"])
        (f,) = summary.fMeasureByThreshold.where(f"threshold = {at!r}").collect()
        assert below.fMeasureByLabel()[1] == pytest.approx(f["F-Measure"])


def test_a_plain_model_is_ranked_by_its_decisions(binary):
    model = SparkLinearSVMClassifier(predictionCol="", rawPredictionCol="").fit(binary)
    summary = model.evaluate(binary)
    assert summary.scoreCol == summary.rawPredictionCol != "rawPrediction"
    assert summary.areaUnderROC > 0.9
    assert summary.accuracy > 0.8
    assert summary.probabilityCol is None
    with pytest.raises(ValueError, match="calibrate='sigmoid'"):
        _ = summary.logLoss
    assert model.transform(binary).columns == binary.columns


def test_the_summary_of_a_training(binary, model):
    assert model.hasSummary
    summary = model.summary
    assert type(summary) is BinaryTrainingSummary
    assert summary is model.summary
    assert summary.numRows == 569
    assert summary.numValidationRows == summary.numSkippedRows == 0
    assert summary.numBlocks == 2
    assert summary.jobs >= 3
    shown = r"BinaryTrainingSummary\(solver='\w+', numRows=569, relativeGap=.*, converged=True, sec"
    assert re.match(shown, repr(summary))
    assert set(summary.secondsByStep) == {"placing", "training", "calibrating"}
    assert summary.seconds == pytest.approx(sum(summary.secondsByStep.values()))
    assert summary.relativeGap == model.relativeGap
    assert summary.objectiveHistory == model.history["primal"].tolist()
    assert summary.totalIterations == model.nIter
    assert summary.solver == model.solverUsed
    assert summary.strategy is None
    assert summary.numSupportVectors is None
    assert summary.accuracy == pytest.approx(model.evaluate(binary).accuracy)
    # It is that of the model as it was, also in a copy.
    changed = model.copy().setThreshold(1.0)
    assert changed.summary.accuracy == summary.accuracy
    assert changed.evaluate(binary).accuracy < summary.accuracy


def test_the_summary_of_a_kernel_machine(several):
    model = SparkODMClassifier(strategy="dc", levels=1, stopLevel=1).fit(several)
    summary = model.summary
    assert type(summary) is TrainingSummary
    assert summary.strategy == model.strategyUsed == "clustered"
    assert summary.numSupportVectors == model.numSupportVectors
    assert set(summary.secondsByStep) == {"placing", "training"}
    assert len(summary.objectiveHistory) == 3  # one level for each class
    assert summary.objectiveHistory == model.history["objective"].tolist()
    assert len(summary.recallByLabel) == 3


def test_a_summary_is_gone_after_saving_and_never_keeps_a_model_alive(binary, model, tmp_path):
    path = str(tmp_path / "model")
    model.write().overwrite().save(path)
    loaded = type(model).load(path)
    for without in (loaded, SparkLinearODMModel.fromLocal(_odm())):
        assert not without.hasSummary
        with pytest.raises(RuntimeError, match=r"no training summary.*evaluate\(frame\)"):
            _ = without.summary
    assert loaded.evaluate(binary).accuracy == pytest.approx(model.summary.accuracy)

    gc.disable()
    try:
        other = model.copy()
        assert other.summary.numRows == 569
        watched = weakref.ref(other)
        del other
        assert watched() is None
    finally:
        gc.enable()


def _odm():
    from widemargin import LinearODMClassifier

    return LinearODMClassifier().fit(*two_classes())


def test_rows_that_cannot_be_evaluated_are_told(spark, binary, model):
    with pytest.raises(TypeError, match="DataFrame of Spark or of pandas-on-Spark is required"):
        model.evaluate([1, 2])
    with pytest.raises(ValueError, match="`weightCol` must name a column"):
        _ = model.evaluate(binary.drop("heavy")).accuracy
    missing = binary.selectExpr("id", "features", "heavy", "if(id = 3, null, label) as label")
    with pytest.raises(ValueError, match="column 'label' must hold a label in every row"):
        _ = model.evaluate(missing).accuracy
