"""The multi-class SVM on Spark's DataFrames."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ...core.resources import memory_bytes
from ...engines.spark import SparkEngine
from ...estimators.multiclass_svm_divided import DividedMulticlassFit
from ...estimators.outcomes import warn_of_unconverged
from ...estimators.training_set import class_factors
from ...multiclass.posed import Posed, RowsOnEngine
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
        with FitLog(dataset.sparkSession, name) as told:
            try:
                n_parts = self._value("nParts")
                rows = self._place(engine, dataset, columns, told, n_parts=n_parts)
                monitor = local._monitor(told.step)
                fit = DividedMulticlassFit(self._rows(local, rows), monitor, local.solver)
                told.doing(f"training by {fit.solver}")
                solution = fit.run(None, engine)
            finally:
                engine.release()
            for key, value in fit.attributes().items():
                setattr(local, key, value)
            local.classes_ = np.arange(len(rows.summary.counts))
            local.n_features_in_ = rows.n_features
            told.tell(f"relative gap {local.relative_gap_:.2e} after {local.n_iter_} iterations")
        warn_of_unconverged([solution], local.tol, name, stacklevel=4)
        model: SparkMulticlassSVMModel = self._model(local)
        return model

    @staticmethod
    def _rows(local: Any, rows: PlacedRows) -> RowsOnEngine:
        summary = rows.summary
        totals = summary.weights
        factors = class_factors(local.class_weight, np.arange(len(totals)), totals)
        pose = Posed(
            rows.n_features,
            len(totals),
            local.formulation,
            float(local.C),
            None if local.class_weight is None else tuple(factors.tolist()),
            local._constant,
            rows.engine.share(1).threads,
        )
        return RowsOnEngine(
            rows.engine,
            rows.parts,
            pose,
            summary.rows,
            summary.entries,
            summary.stored,
            summary.counts,
            memory_bytes(local.memory_limit),
        )
