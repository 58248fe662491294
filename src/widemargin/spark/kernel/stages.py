"""Kernel classifiers and their models on Spark's DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from ...core.arrays import Array
from ...core.budget import seed_of
from ...core.fit import train
from ...kernel.model.compressed_model import compressed
from ...kernel.model.prediction import by_class, decisions
from ..accessors import with_keywords
from ..classifier_stage import ClassifierStage, FitLog
from ..decisions import VectorChecks
from ..model_stage import ModelStage
from ..rows.blocks import PlacedRows
from ..rows.columns import FeaturesColumn
from .distributed_model import (
    SAMPLED,
    DecisionRule,
    DistributedExpansion,
    with_distributed_decisions,
    with_support,
)
from .fit import KernelFit
from .params import (
    KernelODMKeywords,
    KernelParams,
    KernelSVMKeywords,
    ODMParams,
    SVMParams,
)
from .rows import facts_of


class SparkKernelModel(ModelStage, KernelParams):
    """A fitted kernel machine: all but its Params.

    ``_large`` is None, or has the support vectors; those of ``_fitted`` are none then.
    """

    def __init__(self, fitted: Any, large: DistributedExpansion | None = None) -> None:
        super().__init__(fitted)
        if not isinstance(fitted.kernel, str) or fitted.kernel == "precomputed":
            raise ValueError(
                f"Spark's models need a kernel by name, other than 'precomputed'; got "
                f"{fitted.kernel!r}."
            )
        self._large = large

    def _score(self) -> Callable[[Any], Array]:
        if self._large is not None:
            decide = partial(self._large.decide, DecisionRule.of(self._fitted))
            return lambda X: np.ascontiguousarray(decide(X).T)
        alone = copy(self._fitted)
        alone.n_jobs = 1  # tasks share the cores
        return partial(_decisions_by_class, alone)

    def _with_decisions(self, dataset: Any, features: FeaturesColumn, skip: bool, name: str) -> Any:
        if self._large is None:
            return super()._with_decisions(dataset, features, skip, name)
        checks = VectorChecks(self.numFeatures, features, skip)
        return with_distributed_decisions(
            dataset, self._large, DecisionRule.of(self._fitted), checks, name
        )

    def setMaxModelRows(self, value: int) -> Self:
        """Set how many support vectors may come to the driver."""
        self._set(maxModelRows=value)
        return self

    @property
    def distributed(self) -> bool:
        """Whether the support vectors are on the cluster, and not on the driver."""
        return self._large is not None

    @property
    def numSupportVectors(self) -> int:
        """Number of support vectors; of a distributed model, summed over the binary problems."""
        return len(self._fitted.support_) if self._large is None else self._large.n_support

    @property
    def gammaUsed(self) -> float:
        """The kernel's width: what 'scale' or 'auto' stood for."""
        return float(self._fitted.gamma_)

    @property
    def strategyUsed(self) -> str:
        """Name of the strategy that divided the rows."""
        return str(self._fitted.strategy_)

    @property
    def level(self) -> int:
        """Level that the fit ended at; 0 is the root."""
        return int(self._fitted.level_)

    @property
    def compression(self) -> dict[str, float]:
        """Losses of :meth:`compress`; empty for a model as it was fitted."""
        return dict(getattr(self._fitted, "compression_", {}))

    def compress(self, n: int) -> Self:
        """Return a model that decides alike on fewer points, for fast prediction.

        The support vectors of a distributed model stay where they are; 25 for each point come to
        the driver, drawn with equal chances, and the model's decisions about these.

        Parameters
        ----------
        n : int
            Points to keep; see :meth:`widemargin.ODMClassifier.compress`.
        """
        if self._large is None:
            small = self._fitted.compress(n)
        else:
            small = self._compressed(self._large, n)
        return self._copyValues(type(self)(small))  # type: ignore[no-any-return]

    def _compressed(self, large: DistributedExpansion, n: int) -> Any:
        seed = seed_of(self._fitted.random_state)
        rule = DecisionRule.of(self._fitted)
        size = SAMPLED * n if isinstance(n, int) and n > 0 else 1
        sample = with_support(self._fitted, large.sampled(rule.n_problems, size, seed))
        # That of all support vectors, not of the sample.
        constant = rule.kernel.constant if sample.routing_ is None else 0.0
        sample.intercept_ = constant * large.totals(rule.n_problems) + 0.0

        def decide(rows: Any) -> Array:
            values = large.decide(rule, sample.support_vectors_[rows])
            return np.ascontiguousarray(values - sample.intercept_[:, None])

        return compressed(sample, n, seed, decide=decide, n_support=large.n_support)

    def toLocal(self) -> Any:
        """Return the scikit-learn estimator, fitted; it predicts the same without Spark.

        Returns
        -------
        ODMClassifier or SVMClassifier
            A copy, with classes 0, 1, …. Its ``support_`` are numbers of rows as the fit placed
            them.
        """
        if self._large is None:
            return super().toLocal()
        most = self.getOrDefault("maxModelRows")
        if self._large.n_support > most:
            raise ValueError(
                f"the model has {self._large.n_support:,} support vectors, more than "
                f"`maxModelRows` ({most:,}). Make it smaller with compress(n), or raise that with "
                "setMaxModelRows if the driver has room for them."
            )
        return with_support(self._fitted, self._large.collected(len(self._fitted.dual_coef_)))

    def unpersist(self) -> Self:
        """Free what a distributed model takes in Spark's storage; it is computed again if used."""
        if self._large is not None:
            self._large.unpersist()
        return self


def _decisions_by_class(fitted: Any, X: Any) -> Array:
    """Evaluate a model on rows: one column for two classes, else one for each of them."""
    return by_class(fitted, decisions(fitted, X))


class SparkODMModel(SparkKernelModel, ODMParams):
    """A fitted :class:`SparkODMClassifier`."""


class SparkSVMModel(SparkKernelModel, SVMParams):
    """A fitted :class:`SparkSVMClassifier`."""


class KernelClassifier(ClassifierStage, KernelParams):
    """A kernel classifier: all but its Params."""

    # Rows in a fixed order, and facts that the choice of the kernel depends on.
    _placement: ClassVar[dict[str, Any]] = {"sorted_rows": True, "facts_of": facts_of}

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
            train(fit, fit.run, KernelFit.set_fitted)
        except BaseException:
            fit.discard()
            raise
        n_support = len(local.support_) if fit.large is None else fit.large.n_support
        log.report(f"{n_support:,} support vectors, level {local.level_}")
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
