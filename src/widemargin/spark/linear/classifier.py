"""Linear classifiers on Spark's DataFrames."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ...core.resources import memory_bytes
from ...engines.spark import SparkEngine
from ...estimators.outcomes import warn_of_unconverged
from ...estimators.training_set import class_factors
from ...linear.divided_fit import DividedFit, DividedInputs, DividedSettings
from ...linear.problem import LossConstants
from ..classifier_stage import ClassifierStage
from ..fit_log import FitLog
from ..params.keywords import with_keywords
from ..params.linear import (
    LinearODMKeywords,
    LinearODMParams,
    LinearParams,
    LinearSVMKeywords,
    LinearSVMParams,
)
from ..rows.blocks import PlacedRows
from ..rows.columns import Columns
from .model import LinearModel, SparkLinearODMModel, SparkLinearSVMModel
from .validation import DividedValidation, ValidatedFit


class LinearClassifier(ClassifierStage, LinearParams):
    """A linear classifier: all but its Params."""

    def _fit(self, dataset: Any) -> LinearModel:
        local, columns = self._local_estimator(), self._columns()
        columns.check(dataset.schema)
        engine, name = SparkEngine(dataset.sparkSession), type(self).__name__
        with FitLog(dataset.sparkSession, name) as told:
            try:
                fit = self._fitted(engine, dataset, columns, local, told)
            finally:
                engine.release()
            for key, value in fit.attributes().items():
                setattr(local, key, value)
            local.classes_ = np.arange(fit.inputs.n_classes)
            local.n_features_in_ = fit.inputs.n_features
            told.tell(f"relative gap {local.relative_gap_:.2e} after {local.n_iter_} iterations")
        ended = fit.ended if isinstance(fit, ValidatedFit) else []
        cut_short = [result for result in fit.results if result not in ended]
        warn_of_unconverged(cut_short, local.tol, name, stacklevel=4)
        model: LinearModel = self._model(local)
        return model

    def _fitted(
        self, engine: SparkEngine, dataset: Any, columns: Columns, local: Any, told: FitLog
    ) -> DividedFit:
        rows = self._place(engine, dataset, columns, told, n_parts=self._value("nParts"))
        inputs, settings = self._inputs(local, rows), self._settings(local, told)
        if rows.validation is None:
            fit = DividedFit(inputs, settings)
        else:
            beside = rows.validation
            validation = DividedValidation(engine, beside.parts, beside.summary.rows, inputs)
            fit = ValidatedFit(inputs, settings, validation)
        told.doing(f"training by {fit.settings.solver}")
        fit.fit_problems()
        return fit

    def _inputs(self, local: Any, rows: PlacedRows) -> DividedInputs:
        totals = rows.summary.weights
        factors = class_factors(local.class_weight, np.arange(len(totals)), totals)
        row_weight = local._row_weight(float(totals.sum()))
        return DividedInputs(
            estimator=type(self).__name__,
            engine=rows.engine,
            blocks=rows.parts,
            n_rows=rows.summary.rows,
            n_features=rows.n_features,
            n_classes=len(totals),
            stored_bytes=rows.summary.stored,
            constants=LossConstants.of(local._loss(), row_weight),
            constant=local._constant,
            factors=None if np.all(factors == 1.0) else tuple(factors.tolist()),
            memory=memory_bytes(local.memory_limit),
        )

    @staticmethod
    def _settings(local: Any, told: FitLog) -> DividedSettings:
        return DividedSettings(
            local.solver,
            tol=local.tol,
            max_iter=local.max_iter,
            max_time=local.max_time,
            seed=local.random_state,
            listener=told.iteration,
        )


@with_keywords
class SparkLinearODMClassifier(LinearClassifier, LinearODMParams):
    r"""Linear ODM on Spark, solved to a certified duality gap.

    The problem of :class:`~widemargin.LinearODMClassifier`, on the rows of a DataFrame; they never
    pass through the driver. Labels are 0, 1, …; more than two are solved one against the rest.

    See Also
    --------
    SparkLinearODMModel : What ``fit`` returns.
    SparkLinearSVMClassifier : The same with the losses of a support vector machine.

    Examples
    --------
    >>> from widemargin.spark import SparkLinearODMClassifier
    >>> model = SparkLinearODMClassifier(C=10.0).fit(frame)                   # doctest: +SKIP
    >>> model.transform(frame).select("prediction")                          # doctest: +SKIP
    """

    _model_class = SparkLinearODMModel

    def __init__(self, **params: Unpack[LinearODMKeywords]) -> None:
        super().__init__(**params)


@with_keywords
class SparkLinearSVMClassifier(LinearClassifier, LinearSVMParams):
    r"""Linear support vector machine on Spark, solved to a certified duality gap.

    The problem of :class:`~widemargin.LinearSVMClassifier`, on the rows of a DataFrame; they never
    pass through the driver. Labels are 0, 1, …; more than two are solved one against the rest.

    See Also
    --------
    SparkLinearSVMModel : What ``fit`` returns.
    SparkLinearODMClassifier : The same with the margin-distribution loss.

    Examples
    --------
    >>> from widemargin.spark import SparkLinearSVMClassifier
    >>> model = SparkLinearSVMClassifier(loss="hinge").fit(frame)             # doctest: +SKIP
    >>> model.transform(frame).select("prediction")                          # doctest: +SKIP
    """

    _model_class = SparkLinearSVMModel

    def __init__(self, **params: Unpack[LinearSVMKeywords]) -> None:
        super().__init__(**params)
