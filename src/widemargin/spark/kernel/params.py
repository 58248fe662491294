"""Params of the kernel classifiers and their models."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from pyspark.ml.param import TypeConverters
from sklearn.utils._param_validation import Interval, StrOptions

from ...core.parameters import AT_LEAST_ONE
from ...estimators.kernel import ODMClassifier, SVMClassifier
from ...kernel.divide.strategies import STRATEGIES, Strategy
from ...kernel.kernels import KERNEL_NAMES
from ..accessors import param
from ..param_messages import check_values
from ..params import (
    ODMKeywords,
    ODMLoss,
    StageKeywords,
    StageParams,
    SVMLoss,
    to_memory,
)

# Spark's names of the strategies' parameters.
STRATEGY_PARAMS = {
    "levels": "levels",
    "fanIn": "fan_in",
    "stopLevel": "stop_level",
    "nStrata": "n_strata",
    "nSample": "n_sample",
}


def to_gamma(value: Any) -> Any:
    """Convert the kernel's width: a number, or the name of a rule."""
    return value if isinstance(value, str) else TypeConverters.toFloat(value)


def to_intercept(value: Any) -> Any:
    """Convert whether there is an intercept: a truth value, or the name of a rule."""
    return value if isinstance(value, str) else TypeConverters.toBoolean(value)


class KernelKeywords(StageKeywords, total=False):
    """Keywords of the kernel classifiers' constructors."""

    validationIndicatorCol: str | None
    kernel: str
    gamma: float | str
    degree: int
    coef0: float
    strategy: str
    levels: int | None
    fanIn: int | None
    stopLevel: int | None
    nStrata: int | None
    nSample: int | None
    checkpointDir: str | None
    maxModelRows: int
    compressTo: int


class KernelODMKeywords(ODMKeywords, KernelKeywords):
    """Keywords of the kernel ODM."""


class KernelSVMKeywords(KernelKeywords, total=False):
    """Keywords of the kernel SVM."""

    loss: str


class KernelParams(StageParams):
    """Params that all kernel classifiers have."""

    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        **StageParams._own_constraints,
        "kernel": [StrOptions(set(KERNEL_NAMES) - {"precomputed"})],
        "maxModelRows": [AT_LEAST_ONE],
        "compressTo": [Interval(Integral, 0, None, closed="left")],
    }

    validationIndicatorCol = param(
        "column that is true for rows that are not trained on: the fit stops at the first level "
        "that is no better on them than the one before."
    )
    kernel = param("'rbf', 'laplacian', 'poly', 'linear' or 'sigmoid'.")
    gamma = param(
        "the kernel's γ (> 0); 'scale' is 1 / (features × variance of all entries), 'auto' "
        "1 / features.",
        to_gamma,
    )
    degree = param("degree of the kernel 'poly' (1 to 64).", TypeConverters.toInt)
    coef0 = param("constant of the kernels 'poly' and 'sigmoid'.", TypeConverters.toFloat)
    fitIntercept = param(
        "whether to add a constant to the kernel, a penalised intercept; 'auto' does so for "
        "'linear', 'poly' and 'sigmoid', and for up to 1,000 rows.",
        to_intercept,
    )
    strategy = param(
        "how rows are divided: 'sodm' ('stratified'), 'dc' ('clustered'), 'cascade', 'dip' "
        "('preserving'); 'exact' solves all rows in one task, and 'auto' does so up to 100,000 "
        "rows and stops at clusters beyond."
    )
    levels = param(
        "times that rows are divided (0 to 20): there are fanIn ** levels parts. Unset: as many as "
        "leave at most 2,000 rows in each.",
        TypeConverters.toInt,
    )
    fanIn = param(
        "parts that are merged into one from level to level (>= 2).", TypeConverters.toInt
    )
    stopLevel = param(
        "level whose model is returned: 0 is all rows in one task, levels the parts themselves.",
        TypeConverters.toInt,
    )
    nStrata = param("strata that 'sodm' and 'dip' deal out over the parts.", TypeConverters.toInt)
    nSample = param("rows that the clusters of 'dc' are found on.", TypeConverters.toInt)
    solver = param("for the parts: 'auto', 'blocks', 'coordinate' or 'newton'.")
    maxIter = param(
        "iterations allowed for each part (>= 1). Unset: no limit.", TypeConverters.toInt
    )
    seed = param("seed of all random choices.", TypeConverters.toInt)
    memoryLimit = param(
        "bytes that a task may take to solve a part, or a size such as '2GB'. Parts that need more "
        "are refused before any is solved.",
        to_memory,
    )
    checkpointDir = param(
        "folder on the cluster's file system that finished levels are kept in; a fit of the same "
        "rows and settings resumes after the last one. Unset: none are kept."
    )
    maxModelRows = param(
        "support vectors that a model may bring to the driver (>= 1), from where they go to every "
        "task that predicts. A model with more is compressed.",
        TypeConverters.toInt,
    )
    compressTo = param(
        "points that a model of more than maxModelRows support vectors is compressed to (>= 0), on "
        "the cluster; at most maxModelRows. 0 leaves the support vectors there, distributed.",
        TypeConverters.toInt,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(maxModelRows=200_000, compressTo=2000)

    def _local_values(self) -> dict[str, Any]:
        values = super()._local_values()
        return {**values, "strategy": self._strategy(values["strategy"])}

    def _strategy(self, name: str) -> Any:
        """Return the strategy with its parameters, or the name of one that has no parameters."""
        given = {p: self.getOrDefault(p) for p in STRATEGY_PARAMS if self.isSet(p)}
        kind = STRATEGIES.get(name)
        accepted = () if kind is None else kind._get_param_names()
        for wrong in (p for p in given if STRATEGY_PARAMS[p] not in accepted):
            fitting = [
                other
                for other, each in STRATEGIES.items()
                if STRATEGY_PARAMS[wrong] in each._get_param_names()
            ]
            raise ValueError(
                f"`{wrong}` is for strategy={', '.join(map(repr, sorted(fitting)))}; got "
                f"strategy={name!r}."
            )
        if kind is None:
            return name
        allowed = kind._parameter_constraints
        check_values({p: allowed[STRATEGY_PARAMS[p]] for p in given}, given)
        strategy = kind(**{STRATEGY_PARAMS[p]: v for p, v in given.items()})
        strategy._validate_params()
        return strategy

    @classmethod
    def _spark_names(cls) -> dict[str, str]:
        strategies = {local: own for own, local in STRATEGY_PARAMS.items()}
        return super()._spark_names() | strategies

    @classmethod
    def _values_of(cls, estimator: Any) -> dict[str, Any]:
        values = super()._values_of(estimator)
        strategy = values["strategy"]
        if isinstance(strategy, Strategy):
            values["strategy"] = strategy.method().name
            found = strategy.get_params()
            for own, local in STRATEGY_PARAMS.items():
                if found.get(local) is not None:
                    values[own] = found[local]
        return values


class ODMParams(ODMLoss, KernelParams):
    """Params of the ODM."""

    _local_class = ODMClassifier


class SVMParams(SVMLoss, KernelParams):
    """Params of the SVM."""

    _local_class = SVMClassifier
