"""Fitted kernel machines on Spark."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from ..losses import Array
from .kernel_params import KernelParams, ODMParams, SVMParams
from .model_stage import ModelStage


@dataclass(frozen=True)
class KernelScore:
    """Sums kernel values with the support vectors; of the nearest cluster where one is asked."""

    fitted: Any

    def __call__(self, X: Any) -> Array:
        """Return decisions, as (rows, problems)."""
        decisions: Array = self.fitted._decisions(X)
        return decisions


class KernelModel(ModelStage, KernelParams):
    """A fitted kernel machine: all but its Params."""

    def _score(self) -> KernelScore:
        alone = copy(self._fitted)
        alone.n_jobs = 1  # tasks share the cores
        return KernelScore(alone)

    @property
    def numSupportVectors(self) -> int:
        """Number of support vectors, of all binary problems together."""
        return len(self._fitted.support_)

    @property
    def gammaUsed(self) -> float:
        """The kernel's width: what 'scale' or 'auto' stood for."""
        return float(self._fitted.gamma_)

    @property
    def strategyUsed(self) -> str:
        """How rows were divided."""
        return str(self._fitted.strategy_)

    @property
    def level(self) -> int:
        """Level that the fit ended at; 0 is the root."""
        return int(self._fitted.level_)

    @property
    def compression(self) -> dict[str, float]:
        """What :meth:`compress` lost; empty for a model as it was fitted."""
        return dict(getattr(self._fitted, "compression_", {}))

    def compress(self, n: int) -> Self:
        """Return a model that decides alike on fewer points, for fast prediction.

        Parameters
        ----------
        n : int
            Points to keep; see :meth:`widemargin.ODMClassifier.compress`.
        """
        small: Self = type(self)(self._fitted.compress(n))
        return self._copyValues(small)  # type: ignore[no-any-return]


class SparkODMModel(KernelModel, ODMParams):
    """A fitted :class:`SparkODMClassifier`."""


class SparkSVMModel(KernelModel, SVMParams):
    """A fitted :class:`SparkSVMClassifier`."""
