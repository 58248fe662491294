"""Fitted kernel machines on Spark."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from ...core.arrays import Array
from ...core.budget import seed_of
from ...kernel.model.compression import compressed
from ...kernel.model.prediction import decisions
from ..decisions import VectorChecks
from ..model_stage import ModelStage
from .distributed_decisions import with_distributed_decisions
from .distributed_expansion import SAMPLED, DecisionRule, DistributedExpansion, with_support
from .params import KernelParams, ODMParams, SVMParams


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
        return partial(decisions, alone)

    def _with_decisions(self, dataset: Any, features: str, skip: bool, name: str) -> Any:
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


class SparkODMModel(SparkKernelModel, ODMParams):
    """A fitted :class:`SparkODMClassifier`."""


class SparkSVMModel(SparkKernelModel, SVMParams):
    """A fitted :class:`SparkSVMClassifier`."""
