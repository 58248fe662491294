"""Base class of the models on Spark's DataFrames: predictions, files, conversion to local ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.classification import ClassificationModel
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import functions as F
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.fit import warn
from .decisions import Decide, VectorChecks, with_decisions
from .frames import spark_frame
from .labelling import Answers
from .params import StageParams
from .rows.blocks import PlacedRows
from .rows.columns import FeaturesColumn, refuse_existing, with_features
from .rows_left_out import HeldOut, RowsLeftOut
from .storage import ModelReader, ModelWriter
from .training_summary import HasSummaries


class ModelStage(HasSummaries, ClassificationModel, StageParams, MLReadable, MLWritable):  # type: ignore[misc]
    """A fitted classifier without its Params and its decision function."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        self._fitted = _checked(fitted, self._local_class)

    def _score(self) -> Callable[[Any], Array]:
        """Return the function from rows to decisions, (n_rows, n_problems), for the workers."""
        raise NotImplementedError

    def _held_out(self, rows: PlacedRows, chosen: RowsLeftOut) -> HeldOut:
        """Decide about rows on the cluster that were not trained on."""
        return chosen.decided(rows, self._score())

    def _discard(self) -> None:
        """Free what the model takes on the cluster; it is not needed any more."""

    def setHandleInvalid(self, value: str) -> Self:
        """Set what to do with invalid vectors: 'error', or 'skip' to leave their rows out."""
        self._set(handleInvalid=value)
        return self

    @property
    def numFeatures(self) -> int:
        """Number of features."""
        return int(self._fitted.n_features_in_)

    @property
    def numClasses(self) -> int:
        """Number of classes."""
        return len(self._fitted.classes_)

    @property
    def relativeGap(self) -> float:
        """Largest relative duality gap of the binary problems."""
        return float(self._fitted.relative_gap_)

    @property
    def dualGap(self) -> float:
        """Duality gap, summed over the binary problems."""
        return float(self._fitted.dual_gap_)

    @property
    def nIter(self) -> int:
        """Largest number of iterations of the binary problems."""
        return int(self._fitted.n_iter_)

    @property
    def converged(self) -> bool:
        """Whether every binary problem is within ``tol``."""
        return bool(self._fitted.converged_)

    @property
    def solverUsed(self) -> str:
        """The solver that 'auto' chose."""
        return str(self._fitted.solver_)

    @property
    def history(self) -> dict[str, NDArray[Any]]:
        """Per iteration: problem, iteration, seconds, primal, dual, relative_gap and more."""
        return deepcopy(self._fitted.history_)

    @property
    def _calibrated(self) -> bool:
        return "calibration_" in vars(self._fitted)

    def _answers(self) -> Answers:
        """Return the function from decisions to prediction, raw prediction and probability."""
        fitted, k = self._fitted, self.numClasses
        calibration = fitted.calibration_ if self._calibrated else None
        pairs = getattr(fitted, "multi_class_", "ovr") == "ovo" and k > 2
        return Answers(k, pairs, self._labelling(k), calibration)

    def _answer(self, value: Any) -> Array:
        """Return what the model says about one vector."""
        plain = value.toArray() if hasattr(value, "toArray") else value
        row = np.atleast_2d(np.asarray(plain, dtype=np.float64))
        if row.shape[1] != self.numFeatures:
            raise ValueError(
                f"the model takes vectors of {self.numFeatures} features; got {row.shape[1]}."
            )
        return np.asarray(self._answers()(self._score()(row))[0])

    def predictRaw(self, value: Any) -> DenseVector:
        """Return the decision for each class.

        Parameters
        ----------
        value : Vector
            Features.
        """
        return DenseVector(self._answer(value)[1 : 1 + self.numClasses])

    def predictProbability(self, value: Any) -> DenseVector:
        """Return the probability of each class; the model must be calibrated.

        Parameters
        ----------
        value : Vector
            Features.
        """
        if not self._calibrated:
            raise ValueError(
                f"this {type(self).__name__} has no probabilities. Fit it with calibrate='sigmoid'."
            )
        return DenseVector(self._answer(value)[1 + self.numClasses :])

    def predict(self, value: Any) -> float:
        """Predict the label of one vector.

        Parameters
        ----------
        value : Vector
            Features.
        """
        return float(self._answer(value)[0])

    def _transform(self, dataset: Any) -> Any:
        frame, as_given = spark_frame(dataset)
        frame, features = with_features(frame, self.getFeaturesCol())
        added = {param: self._value(param) for param in ("rawPredictionCol", "predictionCol")}
        added["probabilityCol"] = self._value("probabilityCol") if self._calibrated else None
        refuse_existing(frame, added)
        skip = self.getHandleInvalid() == "skip"
        own = f"answers_{uuid.uuid4().hex}"
        found = self._with_decisions(frame, features, skip, own)
        if skip:
            found = found.where(F.col(own).isNotNull())
        k = self.numClasses
        values = {
            "rawPredictionCol": array_to_vector(F.slice(own, 2, k)),
            "probabilityCol": array_to_vector(F.slice(own, 2 + k, k)),
            "predictionCol": F.col(own)[0],
        }
        for param, value in values.items():
            if added[param] is not None:
                found = found.withColumn(added[param], value)
        return as_given(found.drop(own, *([features.name] if features.added else [])))

    def _with_decisions(self, dataset: Any, features: FeaturesColumn, skip: bool, name: str) -> Any:
        """Add a column of what the model says, null where vectors are skipped."""
        checks = VectorChecks(self.numFeatures, features, skip)
        return with_decisions(dataset, Decide(self._score(), self._answers(), checks), name)

    def toLocal(self) -> Any:
        """Return the scikit-learn estimator, fitted; it predicts the same without Spark.

        Returns
        -------
        classifier
            A copy, with classes 0, 1, …. Thresholds stay behind, with a warning.
        """
        there = [name for name in ("threshold", "thresholds") if self.isSet(name)]
        if there:
            name = there[0]
            advice = "Choose labels from its predict_proba"
            if self.numClasses == 2:
                advice = "Put FixedThresholdClassifier of sklearn.model_selection around it, with "
                advice += f"threshold={self.getThreshold():g}"
            warn(
                f"The local classifier predicts without the model's `{name}` "
                f"({self.getOrDefault(name)}), which scikit-learn's classifiers do not have. "
                f"{advice}, or clear the Param: model.clear(model.{name})."
            )
        return deepcopy(self._fitted)

    @classmethod
    def fromLocal(cls, estimator: Any) -> Self:
        """Make a model of a fitted scikit-learn estimator.

        Parameters
        ----------
        estimator : classifier
            Of the local class of the same name, fitted on labels 0, 1, …, as Spark has them.
        """
        model = cls(deepcopy(estimator))
        model._set(**cls._values_of(estimator))
        return model

    def write(self) -> ModelWriter:
        """Return a writer: ``model.write().overwrite().save(path)``."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Return a reader: ``read().load(path)``."""
        return ModelReader(cls)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}: uid={self.uid}, numClasses={self.numClasses}, "
            f"numFeatures={self.numFeatures}"
        )


def _checked(fitted: Any, kind: type[Any]) -> Any:
    if type(fitted) is not kind:
        raise TypeError(f"a fitted {kind.__name__} is required; got {type(fitted).__name__}.")
    check_is_fitted(fitted)
    classes = fitted.classes_
    if classes.dtype.kind not in "iuf" or np.any(classes != np.arange(len(classes))):
        raise ValueError(
            f"Spark's labels are 0, 1, …; the estimator was fitted on {classes.tolist()}. Fit it "
            "on the labels' numbers (sklearn.preprocessing.LabelEncoder), and turn predictions "
            "back with IndexToString."
        )
    return fitted
