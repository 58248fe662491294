"""Fitted linear classifiers on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.ml.linalg import DenseMatrix, DenseVector

from ...core.arrays import Array
from ...linear.model import decisions_of
from ..model_stage import ModelStage
from ..params.linear import LinearODMParams, LinearParams, LinearSVMParams


@dataclass(frozen=True)
class LinearScore:
    """Multiplies rows with the weights of every binary problem."""

    coef: Array
    intercept: Array

    def __call__(self, X: Any) -> Array:
        """Return decisions, as (rows, problems)."""
        return decisions_of(X, self.coef, self.intercept)


class LinearModel(ModelStage, LinearParams):
    """A fitted linear classifier: all but its Params."""

    def _score(self) -> LinearScore:
        return LinearScore(self._fitted.coef_, self._fitted.intercept_)

    @property
    def coefficients(self) -> DenseVector:
        """Weights, if there are two classes."""
        self._require_two_classes("coefficients", "coefficientMatrix")
        return DenseVector(self._fitted.coef_[0])

    @property
    def intercept(self) -> float:
        """Added to the decisions, if there are two classes."""
        self._require_two_classes("intercept", "interceptVector")
        return float(self._fitted.intercept_[0])

    @property
    def coefficientMatrix(self) -> DenseMatrix:
        """Weights: one row for two classes, else one row per class."""
        coef = self._fitted.coef_
        return DenseMatrix(*coef.shape, coef.ravel(), isTransposed=True)

    @property
    def interceptVector(self) -> DenseVector:
        """Added to the decisions, one for each row of the matrix."""
        return DenseVector(self._fitted.intercept_)

    def _require_two_classes(self, name: str, other: str) -> None:
        if self.numClasses != 2:
            raise ValueError(
                f"`{name}` is for models of two classes; this one has {self.numClasses}. Use "
                f"`{other}`."
            )


class SparkLinearODMModel(LinearModel, LinearODMParams):
    """A fitted :class:`SparkLinearODMClassifier`."""


class SparkLinearSVMModel(LinearModel, LinearSVMParams):
    """A fitted :class:`SparkLinearSVMClassifier`."""
