"""Fitted multi-class SVMs on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from pyspark.ml.linalg import DenseMatrix, DenseVector, SparseMatrix

from ...core.arrays import Array
from ...estimators.multiclass_svm_prediction import best_columns, for_blocks_of_scores
from ..model_stage import ModelStage
from ..params.multiclass import MulticlassSVMParams


@dataclass(frozen=True)
class MulticlassScore:
    """Multiplies rows with the weights of every class, dense or sparse."""

    coef: Any
    intercept: Array

    def __call__(self, X: Any) -> Array:
        """Return decisions, as (rows, classes); two classes have one."""
        decisions = np.empty((X.shape[0], self.coef.shape[0]))

        def keep(start: int, scores: Array) -> None:
            decisions[start : start + len(scores)] = scores

        for_blocks_of_scores(X, self.coef, self.intercept, keep, threads=1)
        return decisions


class SparkMulticlassSVMModel(ModelStage, MulticlassSVMParams):
    """A fitted :class:`SparkMulticlassSVMClassifier`."""

    def _score(self) -> MulticlassScore:
        return MulticlassScore(self._fitted.coef_, self._fitted.intercept_)

    @property
    def coefficientMatrix(self) -> DenseMatrix | SparseMatrix:
        """Weights: one row for two classes, else one row per class; sparse where most are zero."""
        coef = self._fitted.coef_
        if sp.issparse(coef):
            rows = sp.csr_array(coef)
            return SparseMatrix(
                *rows.shape, rows.indptr, rows.indices, rows.data, isTransposed=True
            )
        return DenseMatrix(*coef.shape, coef.ravel(), isTransposed=True)

    @property
    def interceptVector(self) -> DenseVector:
        """Added to the decisions, one for each row of the matrix."""
        return DenseVector(self._fitted.intercept_)

    @property
    def density(self) -> float:
        """Share of the weights that are not zero."""
        return float(self._fitted.density_)

    def predictTopK(self, value: Any, k: int) -> list[float]:
        """Predict the k labels that suit one vector best, best first.

        Parameters
        ----------
        value : Vector
            Features.
        k : int
            Number of labels, from 1 to the number of classes.
        """
        if not 1 <= k <= self.numClasses:
            raise ValueError(
                f"`k` must be an integer from 1 to the number of classes, {self.numClasses}; got "
                f"{k!r}."
            )
        scores = self.predictRaw(value).toArray()
        return [float(label) for label in best_columns(scores[None, :], k)[0]]
