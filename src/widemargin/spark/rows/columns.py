"""The columns of a DataFrame that a fit or a prediction reads, and checks of their types."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from pyspark.ml.linalg import VectorUDT
from pyspark.sql import types as T

from .column_names import FoundColumn, find, folded, same_names

# Names of the columns that are sent to the workers.
FEATURES, LABEL, WEIGHT, VALIDATION, IDENTITY = "features", "label", "weight", "validation", "id"
# The number of a row's partition. It differs from the number of a task that computes several
# partitions, or one that was lost.
PARTITION = "partition"

# Fields of the struct that a vector is stored as.
VECTOR_FIELDS = ["type", "size", "indices", "values"]
NUMBERS = (T.NumericType, T.BooleanType)
IDENTIFIERS = (T.IntegralType, T.StringType, T.DateType, T.TimestampType)
# By the Param that names a column: its types, a description of them, advice if it has another.
KINDS: dict[str, tuple[Any, str, str]] = {
    "labelCol": (NUMBERS, "numbers, or true and false", "Index text with StringIndexer"),
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

    def selected(self, dataset: Any) -> Any:
        """Return these columns only, under fixed names; raise if one is missing or unsuitable."""
        wanted = [_features(dataset, self.features).value.alias(FEATURES)]
        names = (self.label, self.weight, self.validation, self.identity)
        sent = (LABEL, WEIGHT, VALIDATION, IDENTITY)
        for (param, kind), name, own in zip(KINDS.items(), names, sent, strict=True):
            if name is not None:
                found = find(dataset, param, name)
                _require(isinstance(found.kind, kind[0]), found, param, name, *kind[1:])
                numbers = own in (LABEL, WEIGHT)
                wanted.append((found.value.cast("double") if numbers else found.value).alias(own))
        return dataset.select(*wanted)


@dataclass(frozen=True)
class FeaturesColumn:
    """The column of vectors that a model reads, and its name in messages."""

    name: str
    shown: str
    added: bool  # whether it is to be dropped afterwards


def with_features(dataset: Any, name: str) -> tuple[Any, FeaturesColumn]:
    """Return a DataFrame that has the features as a column, and that column."""
    found = _features(dataset, name)
    if found.name is not None:
        return dataset, FeaturesColumn(found.name, name, added=False)
    own = f"features_{uuid.uuid4().hex}"
    return dataset.withColumn(own, found.value), FeaturesColumn(own, name, added=True)


def refuse_existing(dataset: Any, added: dict[str, str | None]) -> None:
    """Raise if columns to be added exist already, or have one name; given by Param."""
    there = {param: name for param, name in added.items() if name is not None}
    found = {param: same for param, name in there.items() if (same := same_names(dataset, name))}
    if found:
        names = sorted({name for same in found.values() for name in same})
        raise ValueError(
            f"the DataFrame must not have the columns that the model adds; it already has "
            f"{' and '.join(map(repr, names))}, as a frame that was scored before. Drop them "
            f"first, or choose other names with {' and '.join(f'`{param}`' for param in found)}."
        )
    if len(set(map(folded(dataset), there.values()))) < len(there):
        given = " and ".join(f"{param}={name!r}" for param, name in there.items())
        raise ValueError(f"the columns that a model adds must have different names; got {given}.")


def _features(dataset: Any, name: str) -> FoundColumn:
    """Find the column of features; arrays of other numbers are cast, and have no name then."""
    found = find(dataset, "featuresCol", name)
    kind, advice = found.kind, "Put features into one vector with VectorAssembler"
    if type(kind).__module__.startswith("pyspark.mllib"):
        advice = "Convert vectors of pyspark.mllib with MLUtils.convertVectorColumnsToML"
    elif isinstance(kind, T.ArrayType):
        advice = "Cast it to array<double>"
    elif isinstance(kind, T.StructType) and kind.names == VECTOR_FIELDS:
        advice = "These are vectors from a file that does not keep their type, such as ORC: read "
        advice += "it with the schema of the DataFrame that was written, or write Parquet"
    of = kind.elementType if isinstance(kind, T.ArrayType) else None
    fits = isinstance(kind, VectorUDT) or isinstance(of, NUMBERS)
    _require(fits, found, "featuresCol", name, "vectors or arrays of numbers", advice)
    if of is None or isinstance(of, T.FloatType | T.DoubleType):
        return found
    return FoundColumn(found.value.cast("array<double>"), found.kind, None)


def _require(
    fits: bool, found: FoundColumn, param: str, name: str, wanted: str, advice: str
) -> None:
    if not fits:
        raise TypeError(
            f"column {name!r} (`{param}`) must hold {wanted}; got {found.kind.simpleString()}. "
            f"{advice}."
        )
