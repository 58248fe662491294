"""Kernel classifiers on Spark's DataFrames."""

from __future__ import annotations

from typing import Any, Unpack

from ...core.fit import train
from ...engines.spark import SparkEngine
from ..classifier_stage import ClassifierStage
from ..fit_log import FitLog
from ..params.kernel import (
    KernelODMKeywords,
    KernelParams,
    KernelSVMKeywords,
    ODMParams,
    SVMParams,
    errors_in_spark_names,
)
from ..params.keywords import with_keywords
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
                n_parts = self._value("nParts")
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
                    train(fit, fit.run, KernelFit.set_fitted)
                except BaseException:
                    fit.discard()
                    raise
            finally:
                engine.release()
        model: SparkKernelModel = self._model(local, fit.large)
        log.tell(f"{model.numSupportVectors:,} support vectors, level {local.level_}")
        return model


@with_keywords
class SparkODMClassifier(KernelClassifier, ODMParams):
    r"""Kernel ODM on Spark, by divide and conquer.

    The problem of :class:`~widemargin.ODMClassifier`, on the rows of a DataFrame. Rows are divided
    into parts on the cluster, the parts are solved there and merged, level by level; they never
    pass through the driver, which sees a few bytes of each, and the support vectors of the model.
    Labels are 0, 1, …; more than two are solved one against the rest.

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

    def __init__(self, **params: Unpack[KernelODMKeywords]) -> None:
        super().__init__(**params)


@with_keywords
class SparkSVMClassifier(KernelClassifier, SVMParams):
    r"""Kernel support vector machine on Spark, by divide and conquer.

    The problem of :class:`~widemargin.SVMClassifier`, on the rows of a DataFrame. Rows are divided
    into parts on the cluster, the parts are solved there and merged, level by level; they never
    pass through the driver, which sees a few bytes of each, and the support vectors of the model.
    Labels are 0, 1, …; more than two are solved one against the rest.

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

    def __init__(self, **params: Unpack[KernelSVMKeywords]) -> None:
        super().__init__(**params)
