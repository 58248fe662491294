"""Kernel classifiers and their models on Spark's DataFrames."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Self, Unpack

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.fit import train, warn
from ...core.training_set import TrainingSet
from ...kernel.divide.driver import resolve_strategy
from ...kernel.model.prediction import decisions
from ..accessors import with_keywords
from ..classifier_stage import ClassifierStage, FitLog
from ..decisions import VectorChecks
from ..rows.blocks import PlacedRows
from ..rows.columns import FeaturesColumn
from ..rows_left_out import HeldOut, RowsLeftOut
from .compressible import PLACEMENT, CompressibleModel
from .compression import FullModel, check_points, compressed_on_rows
from .distributed_model import (
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


class SparkKernelModel(CompressibleModel):
    """A fitted kernel machine: all but its Params."""

    def _score(self) -> Callable[[Any], Array]:
        if self._large is not None:
            decide = partial(self._large.decide, DecisionRule.of(self._fitted))
            return lambda X: np.ascontiguousarray(decide(X).T)
        alone = copy(self._fitted)
        alone.n_jobs = 1  # tasks share the cores
        return partial(decisions, alone)

    def _with_decisions(self, dataset: Any, features: FeaturesColumn, skip: bool, name: str) -> Any:
        if self._large is None:
            return super()._with_decisions(dataset, features, skip, name)
        if dataset.isStreaming:
            raise ValueError(
                "a distributed model cannot transform a stream: it would have to sort it. Compress "
                "the model, by `compressTo` when it is fitted or by compress(n), or transform "
                "batches within foreachBatch."
            )
        checks = VectorChecks(self.numFeatures, features, skip)
        self._large.needed_longer()
        return with_distributed_decisions(
            dataset, self._large, DecisionRule.of(self._fitted), self._answers(), checks, name
        )

    def _held_out(self, rows: PlacedRows, chosen: RowsLeftOut) -> HeldOut:
        if self._large is None:
            return super()._held_out(rows, chosen)
        block = chosen.gathered(rows)
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        return HeldOut(block.codes.astype(np.int64), weight, self._score()(block.X))

    def _discard(self) -> None:
        self.unpersist()

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

    def toLocal(self) -> Any:
        """Return the scikit-learn estimator, fitted; it predicts the same without Spark.

        Returns
        -------
        ODMClassifier or SVMClassifier
            A copy, with classes 0, 1, …. Its ``support_`` are numbers of rows as the fit placed
            them.
        """
        most = self.getOrDefault("maxModelRows")
        if self._large is not None and self._large.n_support > most:
            raise ValueError(
                f"the model has {self._large.n_support:,} support vectors, more than "
                f"`maxModelRows` ({most:,}). Make it smaller with compress(n), or raise that with "
                "setMaxModelRows if the driver has room for them."
            )
        local = super().toLocal()
        if self._large is None:
            return local
        return with_support(local, self._large.collected(len(local.dual_coef_)))


def calibrate_exact(machine: Any, training: TrainingSet, budget: Budget) -> None:
    """Calibrate a machine that was fitted to a whole training set, by folds of that."""
    machine.multi_class, machine.gamma = machine.multi_class_, machine.gamma_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has warned of the same
        problems = machine._pose(training, *machine._kernel_and_rows(training))
    coef = np.zeros((len(problems), len(training.codes)))
    coef[:, machine.support_] = machine.dual_coef_
    machine._calibrate(training, problems, coef, budget)


class SparkODMModel(SparkKernelModel, ODMParams):
    """A fitted :class:`SparkODMClassifier`."""


class SparkSVMModel(SparkKernelModel, SVMParams):
    """A fitted :class:`SparkSVMClassifier`."""


class KernelClassifier(ClassifierStage, KernelParams):
    """A kernel classifier: all but its Params."""

    _placement = PLACEMENT
    _calibrate_together = staticmethod(calibrate_exact)

    def _calibrates_together(self, fitted: Any, rows: PlacedRows) -> bool:
        return bool(fitted.strategy_ == "exact")

    def _settle(self, estimator: Any, fitted: Any, rows: PlacedRows) -> None:
        estimator.gamma, estimator.fit_intercept = fitted.gamma_, fitted.fit_intercept_
        if fitted.strategy_ == "exact":
            estimator.strategy = "exact"
        elif estimator.strategy == "auto":
            name = type(self).__name__
            estimator.strategy = resolve_strategy("auto", rows.summary.rows, name)

    def _train(
        self, local: Any, rows: PlacedRows, log: FitLog
    ) -> tuple[DistributedExpansion | None, FullModel | None]:
        most = self.getOrDefault("maxModelRows")
        n_points = min(self.getOrDefault("compressTo"), most)
        if n_points and rows.summary.rows > most:
            check_points(local, n_points)
        fit = KernelFit(
            type(self).__name__,
            local,
            rows,
            log,
            max_model_rows=most,
            checkpoint=self._value("checkpointDir"),
        )
        try:
            train(fit, fit.run, KernelFit.set_fitted)
        except BaseException:
            fit.discard()
            raise
        n_support = len(local.support_) if fit.large is None else fit.large.n_support
        log.report(f"{n_support:,} support vectors, level {local.level_}")
        if fit.large is None or n_points == 0:
            return fit.large, None
        full = FullModel(copy(local), fit.large)
        try:
            small = compressed_on_rows(full, rows, fit.form, n_points, log)
        except Exception as error:
            # The fit may have taken hours: what it found is not lost with its compression.
            warn(
                f"The model could not be compressed ({type(error).__name__}: {error}); it stays "
                "distributed. Call compress(n), or fit with another `compressTo`."
            )
            return fit.large, None
        except BaseException:
            fit.discard()
            raise
        vars(local).update(vars(small))
        return None, full


@with_keywords
class SparkODMClassifier(KernelClassifier, ODMParams):
    r"""Kernel ODM on Spark, by divide and conquer.

    The problem of :class:`~widemargin.ODMClassifier`, on the rows of a DataFrame. Rows are divided
    into parts on the cluster, the parts are solved there and merged, level by level; they never
    pass through the driver, which sees counts and samples, and the support vectors of the model.
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
    pass through the driver, which sees counts and samples, and the support vectors of the model.
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
