"""The multi-class SVM and its model on Spark's DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp
from pyspark.ml.linalg import DenseMatrix, DenseVector, SparseMatrix
from pyspark.ml.param import TypeConverters

from ..core.arrays import Array
from ..core.budget import Budget, seed_of
from ..core.fit import train
from ..estimators.multiclass_machine import objective_of
from ..estimators.multiclass_svm import MulticlassSVMClassifier
from ..estimators.multiclass_svm_prediction import best_columns, for_blocks_of_scores
from ..multiclass.fit import MulticlassFit, choose
from ..multiclass.problem import MulticlassProblem
from .accessors import param, with_keywords
from .classifier_stage import ClassifierStage, FitLog
from .model_stage import ModelStage
from .params import (
    ConstantFeatureParams,
    StageKeywords,
    StageParams,
    to_memory,
)
from .rows.blocks import PlacedRows
from .rows.columns import FrameColumns


class MulticlassSVMKeywords(StageKeywords, total=False):
    """Keywords of the multi-class classifier's constructor."""

    formulation: str
    interceptScaling: float


class MulticlassSVMParams(ConstantFeatureParams, StageParams):
    """Params of the multi-class SVM."""

    _local_class = MulticlassSVMClassifier

    formulation = param(
        "loss of a row: 'ww' (Weston and Watkins), 'llw' (Lee, Lin and Wahba), 'cs' (Crammer and "
        "Singer) or 'ovr' (one against the rest)."
    )
    solver = param(
        "'blocks' divides rows among parts that are worked on at the same time; 'newton' ('llw' "
        "with up to 1000 features, 'ww' with up to 3000 weights in all) and 'tournament' ('ww') "
        "leave rows on the cluster too; 'auto' solves sets of up to 256 MiB in one task and larger "
        "ones by 'newton' or 'blocks'; 'dual', 'proximal' and 'printed' bring all rows into one "
        "task."
    )
    maxIter = param("epochs, Newton steps or passes allowed (>= 1).", TypeConverters.toInt)
    maxTime = param(
        "seconds allowed for training (> 0), once rows are in place; checked after every round "
        "or step. Unset: no limit.",
        TypeConverters.toFloat,
    )
    seed = param("for the order in which rows are visited.", TypeConverters.toInt)
    memoryLimit = param(
        "bytes, or a size such as '500MB', that rows may take in one task, where a solver brings "
        "them together, and Hessians on the driver; weights that take more than half of it are "
        "kept sparsely.",
        to_memory,
    )
    validationIndicatorCol = param(
        "not for this classifier, which is fitted to its optimum: it must stay unset."
    )


def _decisions(coef: Any, intercept: Array, X: Any) -> Array:
    """Return decisions, as (rows, classes), by dense or sparse weights; two classes have one."""
    decisions = np.empty((X.shape[0], coef.shape[0]))

    def keep(start: int, scores: Array) -> None:
        decisions[start : start + len(scores)] = scores

    for_blocks_of_scores(X, coef, intercept, keep, threads=1)
    return decisions


class SparkMulticlassSVMModel(ModelStage, MulticlassSVMParams):
    """A fitted :class:`SparkMulticlassSVMClassifier`."""

    def _score(self) -> Callable[[Any], Array]:
        return partial(_decisions, self._fitted.coef_, self._fitted.intercept_)

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


@with_keywords
class SparkMulticlassSVMClassifier(ClassifierStage, MulticlassSVMParams):
    r"""Linear support vector machine with one weight vector per class on Spark.

    The problem of :class:`~widemargin.MulticlassSVMClassifier`, all classes in one, solved to a
    certified duality gap on the rows of a DataFrame; they never pass through the driver, which
    keeps the weights (and, of a tournament, the multipliers that are not zero).

    See Also
    --------
    SparkMulticlassSVMModel : What ``fit`` returns.
    SparkLinearSVMClassifier : One binary problem per class, for any number of rows and features.

    Examples
    --------
    >>> from widemargin.spark import SparkMulticlassSVMClassifier
    >>> model = SparkMulticlassSVMClassifier(formulation="ww", C=0.1).fit(frame)  # doctest: +SKIP
    >>> model.transform(frame).select("prediction")                          # doctest: +SKIP
    """

    _model_class = SparkMulticlassSVMModel
    _calibrate_together = staticmethod(MulticlassSVMClassifier._calibrate)
    _columns_of_decisions = "margins"

    def __init__(self, **params: Unpack[MulticlassSVMKeywords]) -> None:
        super().__init__(**params)

    def _columns(self) -> FrameColumns:
        columns = super()._columns()
        if columns.validation is not None:
            raise ValueError(
                f"`validationIndicatorCol` must stay unset, as the fit goes to the optimum; got "
                f"{columns.validation!r}. Choose C with TrainValidationSplit or CrossValidator."
            )
        return columns

    def _train(self, local: MulticlassSVMClassifier, rows: PlacedRows, log: FitLog) -> tuple[()]:
        budget = local._training_budget(Budget.of(local, seed_of(local.random_state)))
        problem = _posed(local, rows)
        solver = choose(local.solver, problem, budget.memory)
        log.doing(f"training by {solver}")

        def listener(row: Mapping[str, Any]) -> None:
            log.iteration(row["iteration"], row["relative_gap"])

        fit = MulticlassFit(type(self).__name__, problem, solver, budget, listener)
        # An interrupt discards the local estimator, and so the attributes kept in it.
        train(fit, fit.run, lambda fit: local.__dict__.update(fit.attributes()))
        log.report(f"relative gap {local.relative_gap_:.2e} after {local.n_iter_} iterations")
        return ()


def _posed(local: MulticlassSVMClassifier, rows: PlacedRows) -> MulticlassProblem:
    summary = rows.summary
    classes = np.arange(len(summary.weights))
    return MulticlassProblem(
        objective_of(local, rows.n_features, classes, summary.weights),
        rows.engine,
        rows.parts,
        summary.rows,
        summary.entries,
        summary.stored,
        summary.counts,
    )
