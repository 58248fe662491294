"""The multi-class SVM on Spark's DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from ...core.budget import Budget, seed_of
from ...engines.spark import SparkEngine
from ...estimators.multiclass_svm import MulticlassSVMClassifier, objective_of
from ...multiclass.fit import MulticlassFit, choose
from ...multiclass.problem import MulticlassProblem
from ..classifier_stage import ClassifierStage
from ..fit_log import FitLog
from ..params.keywords import with_keywords
from ..params.multiclass import MulticlassSVMKeywords, MulticlassSVMParams
from ..rows.blocks import PlacedRows
from .model import SparkMulticlassSVMModel


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

    def __init__(self, **params: Unpack[MulticlassSVMKeywords]) -> None:
        super().__init__(**params)

    def _fit(self, dataset: Any) -> SparkMulticlassSVMModel:
        local, columns = self._local_estimator(), self._columns()
        if columns.validation is not None:
            raise ValueError(
                f"`validationIndicatorCol` must stay unset, as the fit goes to the optimum; got "
                f"{columns.validation!r}. Choose C with TrainValidationSplit or CrossValidator."
            )
        columns.check(dataset.schema)
        engine, name = SparkEngine(dataset.sparkSession), type(self).__name__
        with FitLog(dataset.sparkSession, name) as log:
            try:
                n_parts = self._value("nParts")
                rows = self._place(engine, dataset, columns, log, n_parts=n_parts)
                budget = Budget.of(local, seed_of(local.random_state))
                problem = _posed(local, rows)
                solver = choose(local.solver, problem, budget.memory)
                log.doing(f"training by {solver}")

                def listener(row: Mapping[str, Any]) -> None:
                    log.step(row["iteration"], row["relative_gap"])

                fit = MulticlassFit(name, problem, solver, budget, listener)
                fit.run()
            finally:
                engine.release()
            for key, value in fit.attributes().items():
                setattr(local, key, value)
            local.classes_ = np.arange(problem.objective.n_classes)
            local.n_features_in_ = rows.n_features
            log.tell(f"relative gap {local.relative_gap_:.2e} after {local.n_iter_} iterations")
        fit.warn()
        model: SparkMulticlassSVMModel = self._model(local)
        return model


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
