"""Linear classifiers on Spark's DataFrames."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ...core.budget import Budget
from ...core.training_set import class_factors
from ...engines.spark import SparkEngine
from ...estimators.linear_fit import constant_of, loss_of
from ...linear.fit import LinearFit
from ...linear.history import LinearHistory
from ...linear.model import Validation
from ...linear.problems import LinearProblems
from ...linear.solvers import ON_BLOCKS
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
from .model import LinearModel, SparkLinearODMModel, SparkLinearSVMModel


class LinearClassifier(ClassifierStage, LinearParams):
    """A linear classifier: all but its Params."""

    def _fit(self, dataset: Any) -> LinearModel:
        local, columns = self._local_estimator(), self._columns()
        columns.check(dataset.schema)
        engine, name = SparkEngine(dataset.sparkSession), type(self).__name__
        with FitLog(dataset.sparkSession, name) as log:
            try:
                rows = self._place(engine, dataset, columns, log, n_parts=self._value("nParts"))
                fit = self._posed(local, rows, log)
                log.doing(f"training by {fit.solver}")
                fit.solve_all()
            finally:
                engine.release()
            local.__dict__.update(fit.attributes())
            local.classes_ = np.arange(fit.problems.n_classes)
            local.n_features_in_ = fit.problems.n_features
            log.tell(f"relative gap {local.relative_gap_:.2e} after {local.n_iter_} iterations")
        fit.warn()
        model: LinearModel = self._model(local)
        return model

    def _posed(self, local: Any, rows: PlacedRows, log: FitLog) -> LinearFit:
        """Pose the problems on placed rows, with the parameters of a local estimator."""
        problems, score = self._problems(local, rows), None
        if rows.validation is not None:
            if local.solver not in ("auto", *ON_BLOCKS):
                raise ValueError(
                    f"`validationIndicatorCol` is for the solvers 'auto', 'newton' and 'dsvrg'; "
                    f"got solver={local.solver!r}."
                )
            score = Validation(
                rows.engine,
                rows.validation.parts,
                rows.validation.summary.rows,
                problems.n_classes,
                problems.constant,
            )
        budget = Budget.of(local, local.random_state, threads=rows.engine.share(1).threads)

        def listener(row: Any) -> None:
            log.iteration(row["problem"], row["begun"], row["relative_gap"])

        history = LinearHistory(started=budget.started, listener=listener, score=score)
        return LinearFit(type(self).__name__, problems, local.solver, budget, history)

    @staticmethod
    def _problems(local: Any, rows: PlacedRows) -> LinearProblems:
        totals = rows.summary.weights
        factors = class_factors(local.class_weight, np.arange(len(totals)), totals)
        return LinearProblems(
            engine=rows.engine,
            blocks=rows.parts,
            n_rows=rows.summary.rows,
            n_features=rows.n_features,
            n_classes=len(totals),
            stored_bytes=rows.summary.stored,
            constants=loss_of(local, float(totals.sum())),
            constant=constant_of(local),
            factors=None if np.all(factors == 1.0) else tuple(factors.tolist()),
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
