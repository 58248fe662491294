"""Summaries of a model on a DataFrame, with MLlib's names.

They use the DataFrame API and MLlib's evaluators, which work over Spark Connect too.
"""

from __future__ import annotations

import uuid
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import DenseMatrix
from pyspark.sql import functions as F

from ..core.arrays import Array
from .confusion import Confusion
from .curves import ThresholdCounts
from .rows.column_names import column, find
from .rows.columns import FrameColumns


class ClassificationSummary:
    """Predictions for the rows of a DataFrame, and how good they are.

    Rows weigh as ``weightCol`` says, if it is set. Arrays over labels are in the order of
    ``labels``. A metric costs a job the first time that it, or one like it, is read.
    """

    def __init__(self, model: Any, dataset: Any) -> None:
        # A copy: settings of the model may change, and it must not be kept alive by its summary.
        self._model = model.copy()
        self._model._summary = None
        for name in ("predictionCol", "rawPredictionCol"):
            if self._model._value(name) is None:
                self._model._set(**{name: f"{name}_{uuid.uuid4().hex[:12]}"})
        self._dataset = dataset

    @cached_property
    def predictions(self) -> Any:
        """The DataFrame with the columns that ``transform`` adds."""
        return self._model.transform(self._dataset)

    @property
    def featuresCol(self) -> str:
        """Name of the column of features."""
        return str(self._model.getFeaturesCol())

    @property
    def labelCol(self) -> str:
        """Name of the column of labels."""
        return str(self._model.getLabelCol())

    @property
    def predictionCol(self) -> str:
        """Name of the column of predictions."""
        return str(self._model.getPredictionCol())

    @property
    def rawPredictionCol(self) -> str:
        """Name of the column of decisions."""
        return str(self._model.getRawPredictionCol())

    @property
    def probabilityCol(self) -> str | None:
        """Name of the column of probabilities; None if the model has none."""
        return self._model._value("probabilityCol") if self._model._calibrated else None

    @property
    def weightCol(self) -> str | None:
        """Name of the column of weights; None if all rows weigh the same."""
        name: str | None = self._model._value("weightCol")
        return name

    @property
    def labels(self) -> list[float]:
        """Labels that occur, ascending."""
        return list(map(float, self._confusion.labels))

    @property
    def accuracy(self) -> float:
        """Share of the rows that are predicted right."""
        return self._confusion.accuracy

    @property
    def confusionMatrix(self) -> DenseMatrix:
        """Weights of rows by label (rows) and prediction (columns), both in order of ``labels``."""
        own = self._confusion.known
        values = self._confusion.weights[np.ix_(own, own)]
        return DenseMatrix(own.size, own.size, values.ravel(), isTransposed=True)

    @property
    def truePositiveRateByLabel(self) -> list[float]:
        """Share of each label's rows that are predicted right."""
        return listed(self._confusion.recall())

    @property
    def falsePositiveRateByLabel(self) -> list[float]:
        """Share of the other rows that each label is predicted for."""
        return listed(self._confusion.false_positives())

    @property
    def precisionByLabel(self) -> list[float]:
        """Share of the rows that each label is predicted for which have it."""
        return listed(self._confusion.precision())

    @property
    def recallByLabel(self) -> list[float]:
        """Share of each label's rows that are predicted right."""
        return listed(self._confusion.recall())

    def fMeasureByLabel(self, beta: float = 1.0) -> list[float]:
        """Return the weighted harmonic mean of precision and recall of each label."""
        return listed(self._confusion.f_measure(beta))

    @property
    def weightedTruePositiveRate(self) -> float:
        """Mean of ``truePositiveRateByLabel``, by the weight of the labels."""
        return self._confusion.weighted(self._confusion.recall())

    @property
    def weightedFalsePositiveRate(self) -> float:
        """Mean of ``falsePositiveRateByLabel``, by the weight of the labels."""
        return self._confusion.weighted(self._confusion.false_positives())

    @property
    def weightedRecall(self) -> float:
        """Mean of ``recallByLabel``, by the weight of the labels."""
        return self._confusion.weighted(self._confusion.recall())

    @property
    def weightedPrecision(self) -> float:
        """Mean of ``precisionByLabel``, by the weight of the labels."""
        return self._confusion.weighted(self._confusion.precision())

    def weightedFMeasure(self, beta: float = 1.0) -> float:
        """Return the mean of ``fMeasureByLabel``, by the weight of the labels."""
        return self._confusion.weighted(self._confusion.f_measure(beta))

    @cached_property
    def logLoss(self) -> float:
        """Mean of minus the logarithm of the probability of the label; for calibrated models."""
        if self.probabilityCol is None:
            raise ValueError(
                "`logLoss` is for models with probabilities. Fit with calibrate='sigmoid', and "
                "leave `probabilityCol` as it is."
            )
        found = self._scored(probability=column(self.probabilityCol))
        return float(
            MulticlassClassificationEvaluator(metricName="logLoss", weightCol="weight").evaluate(
                found
            )
        )

    def _scored(self, **more: Any) -> Any:
        """Return labels, predictions and weights, under these names, and other columns."""
        # Checks the columns.
        FrameColumns(self.featuresCol, self.labelCol, self.weightCol).selected(self._dataset)
        label, weight = find(self.predictions, "labelCol", self.labelCol).value, F.lit(1.0)
        if self.weightCol is not None:
            weight = find(self.predictions, "weightCol", self.weightCol).value.cast("double")
        return self.predictions.select(
            label.cast("double").alias("label"),
            column(self.predictionCol).alias("prediction"),
            weight.alias("weight"),
            *(value.alias(name) for name, value in more.items()),
        )

    @cached_property
    def _confusion(self) -> Confusion:
        sums = self._scored().groupBy("label", "prediction").agg(F.sum("weight"))
        rows = [tuple(row) for row in sums.collect()]
        if any(value is None for row in rows for value in row):
            raise ValueError(
                f"column {self.labelCol!r} must hold a label in every row, and weights must not be "
                "null. Leave such rows out first."
            )
        return Confusion.of(rows)


class BinaryClassificationSummary(ClassificationSummary):
    """Predictions of two classes, and how good they are.

    Curves are of the column ``scoreCol``, the probability or else the decision of class 1, and have
    about a thousand points at most.
    """

    @property
    def scoreCol(self) -> str:
        """Name of the column that rows are ranked by: probabilities if there are any."""
        return self.probabilityCol or self.rawPredictionCol

    @cached_property
    def areaUnderROC(self) -> float:
        """Area under the receiver operating characteristic."""
        return self._area("areaUnderROC")

    @cached_property
    def areaUnderPR(self) -> float:
        """Area under the curve of precision over recall."""
        return self._area("areaUnderPR")

    @property
    def roc(self) -> Any:
        """DataFrame of the receiver operating characteristic: FPR, TPR."""
        return self._frame("FPR double, TPR double", self._counts.roc())

    @property
    def pr(self) -> Any:
        """DataFrame of precision by recall: recall, precision."""
        return self._frame("recall double, precision double", self._counts.precision_by_recall())

    @property
    def fMeasureByThreshold(self) -> Any:
        """DataFrame of the harmonic mean of precision and recall by threshold."""
        return self._by_threshold("`F-Measure`", self._counts.f_measure())

    @property
    def precisionByThreshold(self) -> Any:
        """DataFrame of the precision by threshold."""
        return self._by_threshold("precision", self._counts.precision())

    @property
    def recallByThreshold(self) -> Any:
        """DataFrame of the recall by threshold."""
        return self._by_threshold("recall", self._counts.recall())

    def _area(self, name: str) -> float:
        found = self._scored(rawPrediction=column(self.scoreCol))
        evaluator = BinaryClassificationEvaluator(metricName=name, weightCol="weight")
        return float(evaluator.evaluate(found))

    @cached_property
    def _counts(self) -> ThresholdCounts:
        score = vector_to_array(column(self.scoreCol))[1]
        return ThresholdCounts.of(self._scored(score=score))

    def _by_threshold(self, name: str, values: Array) -> Any:
        return self._frame(
            f"threshold double, {name} double", np.column_stack([self._counts.threshold, values])
        )

    def _frame(self, ddl: str, values: Array) -> Any:
        return self._dataset.sparkSession.createDataFrame(values.tolist(), ddl)


def listed(values: NDArray[Any]) -> list[float]:
    """Return the values of an array as a list."""
    return list(map(float, values))
