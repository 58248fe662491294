"""The multi-class SVM on Spark's DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pyspark import keyword_only

from ...engines.spark import SparkEngine
from ...estimators.multiclass_svm import MulticlassSVMClassifier, budget_of, objective_of
from ...multiclass.fit import fitted_attributes, multiclass_fit
from ...multiclass.gather import choose
from ...multiclass.problem import MulticlassProblem
from ..classifier_stage import ClassifierStage
from ..fit_log import FitLog
from ..params.multiclass import MulticlassSVMParams
from ..rows.blocks import PlacedRows
from .model import SparkMulticlassSVMModel


class SparkMulticlassSVMClassifier(ClassifierStage, MulticlassSVMParams):
    r"""Linear support vector machine with one weight vector per class on Spark.

    The problem of :class:`~widemargin.MulticlassSVMClassifier`, all classes in one, solved to a
    certified duality gap on the rows of a DataFrame; they never pass through the driver, which
    keeps the weights (and, of a tournament, the multipliers that are not zero).

    Parameters
    ----------
    featuresCol : str, default='features'
        Vectors, dense or sparse, or arrays of float or double.
    labelCol : str, default='label'
        Labels 0, 1, ….
    predictionCol, rawPredictionCol : str
        Columns that the model adds: the label, and a vector of the decision for each class.
    weightCol, idCol : str, optional
        Columns of weights, and of unique row ids.
    handleInvalid : {'error', 'skip'}, default='error'
        What to do with rows that hold null, NaN or infinity.
    formulation : {'ww', 'llw', 'cs', 'ovr'}, default='ww'
        The loss, as in :class:`~widemargin.MulticlassSVMClassifier`. 'cs' and 'ovr' are solved in
        one task, which must have room for all rows.
    C, fitIntercept, interceptScaling, tol, maxIter, maxTime
        As in :class:`~widemargin.MulticlassSVMClassifier`; see also ``explainParams()``.
    solver : {'auto', 'dual', 'tournament', 'newton', 'printed'}, default='auto'
        'newton' ('llw' with up to 1000 features; 'ww' with up to 3000 weights in all) and
        'tournament' ('ww') leave rows where they are, 'auto' solves sets of up to 256 MiB in one
        task and larger ones by these, 'dual' and 'printed' bring all rows into one task.
    seed : int, default=0
        For the order in which rows are visited.
    memoryLimit : int or str, default='1GiB'
        Bytes that rows may take in one task, and Hessians on the driver.
    classWeight : dict or 'balanced', optional
        Factors of ``C`` by label.
    nPartitions : int, optional
        Partitions that rows are placed in; unset, they stay in the DataFrame's (16 with
        ``idCol``).

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

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        weightCol: str | None = None,
        idCol: str | None = None,
        handleInvalid: str = "error",
        formulation: str = "ww",
        C: float = 1.0,
        fitIntercept: bool = True,
        interceptScaling: float = 1.0,
        solver: str = "auto",
        tol: float = 1e-3,
        maxIter: int = 10_000,
        maxTime: float | None = None,
        seed: int = 0,
        memoryLimit: int | str = "1GiB",
        classWeight: Any = None,
        nPartitions: int | None = None,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

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
                n_parts = self._value("nPartitions")
                rows = self._place(engine, dataset, columns, log, n_parts=n_parts)
                budget, problem = budget_of(local), _posed(local, rows)
                solver = choose(local.solver, problem, budget.memory)
                log.doing(f"training by {solver}")

                def listener(row: Mapping[str, Any]) -> None:
                    log.step(row["iteration"], row["relative_gap"])

                fit = multiclass_fit(name, problem, solver, budget, listener)
                fit.run()
            finally:
                engine.release()
            weights = fit.solutions[0].iterate.weights
            found = fitted_attributes(fit, weights, problem.objective, solver)
            for key, value in found.items():
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
