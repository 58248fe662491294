"""Params that all classifiers and their models have.

Their values, defaults and ranges are those of the local estimators, under Spark's names.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, TypedDict

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFitIntercept,
    HasHandleInvalid,
    HasMaxIter,
    HasSeed,
    HasSolver,
    HasTol,
    HasValidationIndicatorCol,
    HasWeightCol,
)
from sklearn.utils._param_validation import StrOptions

from ..core.fit import warn
from ..core.parameters import AT_LEAST_ONE
from .accessors import add_accessors, getter
from .param_messages import check_values

# Spark's names of the local estimators' parameters, where they differ.
LOCAL_NAMES = {
    "fitIntercept": "fit_intercept",
    "interceptScaling": "intercept_scaling",
    "maxIter": "max_iter",
    "maxTime": "max_time",
    "nParts": "n_parts",
    "seed": "random_state",
    "memoryLimit": "memory_limit",
    "classWeight": "class_weight",
}


def to_class_weight(value: Any) -> Any:
    """Convert class weights: "balanced", or a map whose keys may be text, as in JSON."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise TypeError(f"expected 'balanced' or a dict of weights by label; got {value!r}")
    return {int(float(label)): float(weight) for label, weight in value.items()}


def to_memory(value: Any) -> Any:
    """Convert a memory limit: bytes, or a size as text."""
    return value if isinstance(value, str) else TypeConverters.toInt(value)


class NamedByAttribute(Param):  # type: ignore[misc]
    """A Param whose name is that of the class attribute it is assigned to."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name


def param(doc: str, convert: Any = TypeConverters.toString) -> Any:
    """Declare a Param, of text unless another converter is given."""
    return NamedByAttribute(Params._dummy(), "", doc, typeConverter=convert)


class StageParams(
    HasWeightCol,  # type: ignore[misc]
    HasValidationIndicatorCol,  # type: ignore[misc]
    HasHandleInvalid,  # type: ignore[misc]
    HasFitIntercept,  # type: ignore[misc]
    HasSolver,  # type: ignore[misc]
    HasTol,  # type: ignore[misc]
    HasMaxIter,  # type: ignore[misc]
    HasSeed,  # type: ignore[misc]
):
    """Params that all classifiers have; a subclass names its local estimator."""

    _local_class: ClassVar[type[Any]]
    # For Params that the local estimator lacks, or accepts more values of.
    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "handleInvalid": [StrOptions({"error", "skip"})],
        "nParts": [AT_LEAST_ONE, None],
    }
    # Params that are unset until a value is given, whatever the local default is.
    _without_default: ClassVar[tuple[str, ...]] = ("nParts",)

    weightCol = param(
        "column of row weights, which multiply C; rows of weight zero are left out. Unset: all 1."
    )
    validationIndicatorCol = param(
        "column that is true for rows to choose the best iterate by; they are not trained on."
    )
    idCol = param(
        "column of unique row identifiers. If set, rows are placed by it, and the same seed gives "
        "the same parts however the DataFrame is partitioned. Unset: rows stay where they are."
    )
    handleInvalid = param(
        "what to do with rows that hold null, NaN or infinity: 'error' or 'skip'."
    )
    C = param(
        "weight of a row's loss (> 0): larger fits the training data more closely.",
        TypeConverters.toFloat,
    )
    tol = param("relative duality gap to reach (> 0).", TypeConverters.toFloat)
    maxTime = param(
        "seconds allowed for training (> 0), once rows are in place. Unset: no limit.",
        TypeConverters.toFloat,
    )
    nParts = param(
        "parts that rows are placed in (>= 1). Unset: 16 if idCol is set, else rows stay in the "
        "DataFrame's partitions.",
        TypeConverters.toInt,
    )
    classWeight = param(
        "factors of C by class: a map from label to weight, or 'balanced'. Unset: all 1.",
        to_class_weight,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(handleInvalid="error", seed=0)
        signature = inspect.signature(self._local_class).parameters
        for name in self._local_params():
            default = signature[LOCAL_NAMES.get(name, name)].default
            if default is not None and name not in self._without_default:
                self._setDefault(**{name: default})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give every Param a getter, as pyspark's own have."""
        super().__init_subclass__(**kwargs)
        add_accessors(cls, "get", getter)

    @classmethod
    def _local_params(cls) -> list[str]:
        """Return Spark's names of the local estimator's parameters."""
        known = inspect.signature(cls._local_class).parameters
        names = [name for name in dir(cls) if isinstance(getattr(cls, name), Param)]
        return [name for name in names if LOCAL_NAMES.get(name, name) in known]

    @classmethod
    def _spark_names(cls) -> dict[str, str]:
        """Return Spark's names by those of the local estimator, where they differ."""
        return {local: own for own, local in LOCAL_NAMES.items()}

    def _value(self, name: str) -> Any:
        """Return the value of a Param; None if it has none, or is empty."""
        value = self.getOrDefault(name) if self.isDefined(name) else None
        return None if value == "" else value

    def _local_values(self) -> dict[str, Any]:
        """Return the values of the local estimator's parameters, under Spark's names."""
        return {name: self._value(name) for name in self._local_params()}

    @classmethod
    def _values_of(cls, estimator: Any) -> dict[str, Any]:
        """Return the values of Params that correspond to the settings of a local estimator."""
        values = {n: getattr(estimator, LOCAL_NAMES.get(n, n)) for n in cls._local_params()}
        if not isinstance(values["seed"], int):
            del values["seed"]
        return {name: value for name, value in values.items() if value is not None}

    def _local_estimator(self) -> Any:
        """Return the local estimator with these values, unfitted; raise if one is invalid."""
        values = self._local_values()
        constraints = {
            name: self._local_class._parameter_constraints[LOCAL_NAMES.get(name, name)]
            for name in values
        }
        constraints.update(self._own_constraints)
        checked = {**values, **{name: self._value(name) for name in self._own_constraints}}
        check_values(constraints, checked)
        given = {LOCAL_NAMES.get(k, k): v for k, v in values.items() if v is not None}
        estimator = self._local_class(**given)
        estimator._check_parameters()
        return estimator


class FormerPartitions:
    """The Param ``nParts`` under its former name ``nPartitions``."""

    nParts: Any

    @property
    def nPartitions(self) -> Any:
        """The Param ``nParts``; deprecated.

        pyspark looks Params up by attribute, so that keywords, grids and saved stages which say
        ``nPartitions`` end here.
        """
        warn("`nPartitions` has been renamed: use `nParts`.", FutureWarning)
        return self.nParts

    def getNPartitions(self: Any) -> Any:
        """Get the value of ``nParts``; deprecated."""
        return self.getOrDefault(self.nPartitions)

    def setNPartitions(self: Any, value: int) -> Any:
        """Set the value of ``nParts``; deprecated."""
        return self._set(nPartitions=value)


class StageKeywords(TypedDict, total=False):
    """Keywords of all classifiers' constructors, with their types."""

    featuresCol: str
    labelCol: str
    predictionCol: str
    rawPredictionCol: str
    weightCol: str | None
    idCol: str | None
    handleInvalid: str
    C: float
    fitIntercept: bool
    solver: str
    tol: float
    maxIter: int
    maxTime: float | None
    seed: int
    memoryLimit: int | str
    classWeight: dict[int, float] | str | None
    nParts: int | None


class ODMKeywords(TypedDict, total=False):
    """Keywords of the margin-distribution loss."""

    lam: float | None
    upsilon: float
    theta: float


class ConstantFeatureParams(Params):  # type: ignore[misc]
    """Params of the intercept of a linear classifier."""

    fitIntercept = param(
        "whether to add a constant feature, whose weight is penalised as the others are.",
        TypeConverters.toBoolean,
    )
    interceptScaling = param(
        "value of the constant feature (> 0): larger penalises the intercept less.",
        TypeConverters.toFloat,
    )


class ODMLoss(Params):  # type: ignore[misc]
    """Params of the margin-distribution loss."""

    lam = param(
        "the papers' λ (> 0), the weight of the mean loss; if set it replaces C by "
        "λ / (Σ weights · (1 − θ)²).",
        TypeConverters.toFloat,
    )
    upsilon = param(
        "weight of margins that are too large, relative to those too small; in (0, 1].",
        TypeConverters.toFloat,
    )
    theta = param(
        "deviations of the margin from 1 up to this cost nothing; in [0, 1).",
        TypeConverters.toFloat,
    )


class SVMLoss(Params):  # type: ignore[misc]
    """Params of the losses of a support vector machine."""

    loss = param("loss of a margin below 1: 'squared_hinge' or 'hinge'.")
