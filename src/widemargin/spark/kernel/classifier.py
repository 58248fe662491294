"""Kernel classifiers on Spark's DataFrames."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

from ...core.fit import train
from ..accessors import with_keywords
from ..classifier_stage import ClassifierStage, FitLog
from ..rows.blocks import PlacedRows
from .distributed_expansion import DistributedExpansion
from .fit import KernelFit
from .model import SparkODMModel, SparkSVMModel
from .params import (
    KernelODMKeywords,
    KernelParams,
    KernelSVMKeywords,
    ODMParams,
    SVMParams,
    errors_in_spark_names,
)
from .rows import facts_of


class KernelClassifier(ClassifierStage, KernelParams):
    """A kernel classifier: all but its Params."""

    # Rows in a fixed order, and facts that the choice of the kernel depends on.
    _placement: ClassVar[dict[str, Any]] = {"sorted_rows": True, "facts_of": facts_of}
    _errors = staticmethod(errors_in_spark_names)

    def _train(
        self, local: Any, rows: PlacedRows, log: FitLog
    ) -> tuple[DistributedExpansion | None]:
        fit = KernelFit(
            type(self).__name__,
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
        n_support = len(local.support_) if fit.large is None else fit.large.n_support
        log.tell(f"{n_support:,} support vectors, level {local.level_}")
        return (fit.large,)


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
