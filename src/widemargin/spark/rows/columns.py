"""The columns of a DataFrame that a fit or a prediction reads, and checks of their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StringType,
    TimestampType,
)

# Names of the columns that are sent to the workers.
FEATURES, LABEL, WEIGHT, VALIDATION, IDENTITY = "features", "label", "weight", "validation", "id"
# The number of a row's partition. It differs from the number of a task that computes several
# partitions, or one that was lost.
PARTITION = "partition"


@dataclass(frozen=True)
class FrameColumns:
    """Names of the columns; None where there is none.

    Attributes
    ----------
    features, label : str
        Vectors, and whole numbers from 0.
    weight : str or None
        Weights of the rows.
    validation : str or None
        Whether a row is for validation.
    identity : str or None
        Numbers or texts that identify rows.
    """

    features: str
    label: str
    weight: str | None = None
    validation: str | None = None
    identity: str | None = None

    def check(self, schema: Any) -> None:
        """Raise unless the DataFrame has these columns, of suitable types."""
        check_features(schema, self.features)
        _check(schema, "labelCol", self.label, _numeric, "numbers", "Index text with StringIndexer")
        _check(schema, "weightCol", self.weight, _numeric, "numbers", "Cast it")
        _check(
            schema,
            "validationIndicatorCol",
            self.validation,
            lambda kind: isinstance(kind, BooleanType),
            "true and false",
            "Cast it to boolean",
        )
        _check(
            schema,
            "idCol",
            self.identity,
            lambda kind: isinstance(kind, IntegralType | StringType | DateType | TimestampType),
            "whole numbers, text, dates or times",
            "Cast it to one of these",
        )

    def selected(self, dataset: Any) -> Any:
        """Return these columns only, under fixed names."""
        wanted = [
            column(self.features).alias(FEATURES),
            column(self.label).cast("double").alias(LABEL),
        ]
        if self.weight is not None:
            wanted.append(column(self.weight).cast("double").alias(WEIGHT))
        if self.validation is not None:
            wanted.append(column(self.validation).alias(VALIDATION))
        if self.identity is not None:
            wanted.append(column(self.identity).alias(IDENTITY))
        return dataset.select(*wanted)


def column(name: str) -> Any:
    """Refer to a column by its whole name, dots included."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def check_features(schema: Any, name: str) -> None:
    """Raise unless a column holds vectors."""
    advice = "Put features into one vector with VectorAssembler"
    if name in schema.names and type(schema[name].dataType).__module__.startswith("pyspark.mllib"):
        advice = "Convert vectors of pyspark.mllib with MLUtils.convertVectorColumnsToML"
    _check(schema, "featuresCol", name, _vector, "vectors or arrays of float or double", advice)


def refuse_existing(schema: Any, param: str, name: str) -> None:
    """Raise if a column to be added exists already."""
    if name in schema.names:
        raise ValueError(
            f"the DataFrame already has a column {name!r}. Drop it, or choose another name with "
            f"`{param}`."
        )


def _vector(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return isinstance(kind.elementType, FloatType | DoubleType)
    return isinstance(kind, VectorUDT)


def _numeric(kind: DataType) -> bool:
    return isinstance(kind, NumericType)


def _check(
    schema: Any,
    param: str,
    name: str | None,
    fits: Callable[[DataType], bool],
    wanted: str,
    advice: str,
) -> None:
    if name is None:
        return
    if name not in schema.names:
        raise ValueError(
            f"`{param}` must name a column of the DataFrame; got {name!r}, and the columns are "
            f"{', '.join(schema.names)}."
        )
    kind = schema[name].dataType
    if not fits(kind):
        raise TypeError(
            f"column {name!r} (`{param}`) must hold {wanted}; got {kind.simpleString()}. {advice}."
        )
