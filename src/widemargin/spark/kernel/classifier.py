"""Kernel classifiers on Spark's DataFrames."""

from __future__ import annotations

from typing import Any

from pyspark import keyword_only

from ...core.fit import train
from ...engines.spark import SparkEngine
from ..classifier_stage import ClassifierStage
from ..fit_log import FitLog
from ..params.kernel import KernelParams, ODMParams, SVMParams, errors_in_spark_names
from .fit import KernelFit
from .model import SparkKernelModel, SparkODMModel, SparkSVMModel
from .rows import facts_of


class KernelClassifier(ClassifierStage, KernelParams):
    """A kernel classifier: all but its Params."""

    def _fit(self, dataset: Any) -> SparkKernelModel:
        local, columns = self._local_estimator(), self._columns()
        columns.check(dataset.schema)
        engine, name = SparkEngine(dataset.sparkSession), type(self).__name__
        with FitLog(dataset.sparkSession, name) as log, errors_in_spark_names():
            try:
                n_parts = self._value("nPartitions")
                rows = self._place(
                    engine,
                    dataset,
                    columns,
                    log,
                    n_parts=n_parts,
                    sorted_rows=True,
                    facts_of=facts_of,
                )
                fit = KernelFit(
                    name,
                    local,
                    rows,
                    log,
                    max_model_rows=self.getOrDefault("maxModelRows"),
                    checkpoint=self._value("checkpointDir"),
                )
                try:
                    train(fit, fit.run, KernelFit.set_fitted, usable=lambda _: False)
                except BaseException:
                    fit.discard()
                    raise
            finally:
                engine.release()
        model: SparkKernelModel = self._model(local, fit.large)
        log.tell(f"{model.numSupportVectors:,} support vectors, level {local.level_}")
        return model


class SparkODMClassifier(KernelClassifier, ODMParams):
    r"""Kernel ODM on Spark, by divide and conquer.

    The problem of :class:`~widemargin.ODMClassifier`, on the rows of a DataFrame. Rows are divided
    into parts on the cluster, the parts are solved there and merged, level by level; they never
    pass through the driver, which sees a few bytes of each, and the support vectors of the model.
    Labels are 0, 1, …; more than two are solved one against the rest.

    Parameters
    ----------
    featuresCol : str, default='features'
        Vectors, dense or sparse, or arrays of float or double.
    labelCol : str, default='label'
        Labels 0, 1, ….
    predictionCol, rawPredictionCol : str
        Columns that the model adds: the label, and a vector of the decision for each class.
    weightCol, idCol : str, optional
        Columns of weights, and of identifiers of rows.
    validationIndicatorCol : str, optional
        Column that is true for rows that are not trained on: the fit stops at the first level that
        is no better on them than the one before.
    handleInvalid : {'error', 'skip'}, default='error'
        Treatment of rows that hold null, NaN or infinity.
    kernel : {'rbf', 'laplacian', 'poly', 'linear', 'sigmoid'}, default='rbf'
        Kernel.
    C, lam, upsilon, theta, gamma, degree, coef0, fitIntercept, solver, tol, maxIter, maxTime
        As in :class:`~widemargin.ODMClassifier`; see also ``explainParams()``.
    strategy : str, default='auto'
        'sodm' ('stratified'), 'dc' ('clustered'), 'cascade', 'dip' ('preserving'), 'exact' or
        'auto', as in :class:`~widemargin.ODMClassifier`.
    levels, fanIn, stopLevel, nStrata, nSample : int, optional
        Parameters of the strategy; see :class:`~widemargin.Stratified` and
        :class:`~widemargin.Clustered`.
    seed : int, default=0
        Seed of all random choices.
    memoryLimit : int or str, default='1GiB'
        Bytes that a task may take to solve a part.
    classWeight : dict or 'balanced', optional
        Factors of ``C`` by label.
    nPartitions : int, optional
        Partitions that rows are placed in; unset, they stay in the DataFrame's (16 with
        ``idCol``).
    checkpointDir : str, optional
        Folder on the cluster's file system for finished levels, to go on from.
    maxModelRows : int, default=200000
        Support vectors that a model may bring to the driver.

    See Also
    --------
    SparkODMModel : What ``fit`` returns.
    SparkSVMClassifier : The same with the losses of a support vector machine.

    Examples
    --------
    >>> from widemargin.spark import SparkODMClassifier
    >>> classifier = SparkODMClassifier(strategy="sodm", levels=3, stopLevel=1, gamma=2.0)
    >>> model = classifier.fit(frame)                                        # doctest: +SKIP
    >>> model.compress(5000).transform(frame)                                # doctest: +SKIP
    """

    _model_class = SparkODMModel

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        weightCol: str | None = None,
        validationIndicatorCol: str | None = None,
        idCol: str | None = None,
        handleInvalid: str = "error",
        kernel: str = "rbf",
        C: float = 1.0,
        lam: float | None = None,
        upsilon: float = 0.5,
        theta: float = 0.2,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fitIntercept: bool = False,
        strategy: str = "auto",
        levels: int | None = None,
        fanIn: int | None = None,
        stopLevel: int | None = None,
        nStrata: int | None = None,
        nSample: int | None = None,
        solver: str = "auto",
        tol: float = 1e-3,
        maxIter: int = 10_000,
        maxTime: float | None = None,
        seed: int = 0,
        memoryLimit: int | str = "1GiB",
        classWeight: Any = None,
        nPartitions: int | None = None,
        checkpointDir: str | None = None,
        maxModelRows: int = 200_000,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)


class SparkSVMClassifier(KernelClassifier, SVMParams):
    r"""Kernel support vector machine on Spark, by divide and conquer.

    The problem of :class:`~widemargin.SVMClassifier`, on the rows of a DataFrame. Rows are divided
    into parts on the cluster, the parts are solved there and merged, level by level; they never
    pass through the driver, which sees a few bytes of each, and the support vectors of the model.
    Labels are 0, 1, …; more than two are solved one against the rest.

    Parameters
    ----------
    featuresCol : str, default='features'
        Vectors, dense or sparse, or arrays of float or double.
    labelCol : str, default='label'
        Labels 0, 1, ….
    predictionCol, rawPredictionCol : str
        Columns that the model adds: the label, and a vector of the decision for each class.
    weightCol, idCol : str, optional
        Columns of weights, and of identifiers of rows.
    validationIndicatorCol : str, optional
        Column that is true for rows that are not trained on: the fit stops at the first level that
        is no better on them than the one before.
    handleInvalid : {'error', 'skip'}, default='error'
        Treatment of rows that hold null, NaN or infinity.
    kernel : {'rbf', 'laplacian', 'poly', 'linear', 'sigmoid'}, default='rbf'
        Kernel.
    loss, C, gamma, degree, coef0, fitIntercept, solver, tol, maxIter, maxTime
        As in :class:`~widemargin.SVMClassifier`; see also ``explainParams()``.
    strategy, levels, fanIn, stopLevel, nStrata, nSample, seed, memoryLimit, classWeight, \
            nPartitions, checkpointDir, maxModelRows
        As in :class:`SparkODMClassifier`.

    See Also
    --------
    SparkSVMModel : What ``fit`` returns.
    SparkODMClassifier : The same with the margin-distribution loss.

    Examples
    --------
    >>> from widemargin.spark import SparkSVMClassifier
    >>> classifier = SparkSVMClassifier(strategy="dc", levels=3, stopLevel=3, gamma=2.0)
    >>> model = classifier.fit(frame)                                        # doctest: +SKIP
    >>> model.transform(frame).select("prediction")                          # doctest: +SKIP
    """

    _model_class = SparkSVMModel

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        weightCol: str | None = None,
        validationIndicatorCol: str | None = None,
        idCol: str | None = None,
        handleInvalid: str = "error",
        kernel: str = "rbf",
        loss: str = "hinge",
        C: float = 1.0,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fitIntercept: bool = False,
        strategy: str = "auto",
        levels: int | None = None,
        fanIn: int | None = None,
        stopLevel: int | None = None,
        nStrata: int | None = None,
        nSample: int | None = None,
        solver: str = "auto",
        tol: float = 1e-3,
        maxIter: int = 10_000,
        maxTime: float | None = None,
        seed: int = 0,
        memoryLimit: int | str = "1GiB",
        classWeight: Any = None,
        nPartitions: int | None = None,
        checkpointDir: str | None = None,
        maxModelRows: int = 200_000,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)
