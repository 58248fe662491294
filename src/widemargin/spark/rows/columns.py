"""The columns of a DataFrame that a fit or a prediction reads, and checks of their types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F
from pyspark.sql import types as T

# Names of the columns that are sent to the workers.
FEATURES, LABEL, WEIGHT, VALIDATION, IDENTITY = "features", "label", "weight", "validation", "id"
# The number of a row's partition. It differs from the number of a task that computes several
# partitions, or one that was lost.
PARTITION = "partition"

IDENTIFIERS = (T.IntegralType, T.StringType, T.DateType, T.TimestampType)
# By the Param that names a column: its types, a description of them, advice if it has another.
KINDS: dict[str, tuple[Any, str, str]] = {
    "labelCol": (T.NumericType, "numbers", "Index text with StringIndexer"),
    "weightCol": (T.NumericType, "numbers", "Cast it"),
    "validationIndicatorCol": (T.BooleanType, "true and false", "Cast it to boolean"),
    "idCol": (IDENTIFIERS, "whole numbers, text, dates or times", "Cast it to one of these"),
}


@dataclass(frozen=True)
class FrameColumns:
    """Names of the columns; None where there is none."""

    features: str
    label: str
    weight: str | None = None
    validation: str | None = None
    identity: str | None = None

    def check(self, schema: Any) -> None:
        """Raise unless the DataFrame has these columns, of suitable types."""
        check_features(schema, self.features)
        names = (self.label, self.weight, self.validation, self.identity)
        for (param, kind), name in zip(KINDS.items(), names, strict=True):
            if name is not None:
                _check(schema, param, name, *kind)

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
    wanted = "vectors or arrays of float or double"
    _check(schema, "featuresCol", name, (VectorUDT, T.ArrayType), wanted, advice)


def refuse_existing(schema: Any, param: str, name: str) -> None:
    """Raise if a column to be added exists already."""
    if name in schema.names:
        raise ValueError(
            f"the DataFrame already has a column {name!r}. Drop it, or choose another name with "
            f"`{param}`."
        )


def _check(schema: Any, param: str, name: str, kinds: Any, wanted: str, advice: str) -> None:
    if name not in schema.names:
        raise ValueError(
            f"`{param}` must name a column of the DataFrame; got {name!r}, and the columns are "
            f"{', '.join(schema.names)}."
        )
    kind = schema[name].dataType
    fits = isinstance(kind, kinds)
    if isinstance(kind, T.ArrayType):
        fits = fits and isinstance(kind.elementType, T.FloatType | T.DoubleType)
    if not fits:
        raise TypeError(
            f"column {name!r} (`{param}`) must hold {wanted}; got {kind.simpleString()}. {advice}."
        )
