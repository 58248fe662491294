"""What a model says about rows, as a column of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..core.arrays import Array
from ..engines.spark_errors import mapped
from .rows.batches import ColumnError, Vectors, invalid_vectors, vectors_of
from .rows.column_names import column
from .rows.columns import FeaturesColumn

DECISIONS = pa.list_(pa.float64())
# What is said about a row: decisions, null if it is skipped, or why there are none.
SAID = pa.struct([("decisions", DECISIONS), ("problem", pa.string())])
SAID_DDL = "decisions array<double>, problem string"
# Spark's hashes are numbers of 32 bits.
LEAST_HASH = -(2**31)


@dataclass(frozen=True)
class VectorChecks:
    """Checks of vectors to classify; with ``skip`` an invalid one gets null instead of an error."""

    n_features: int
    features: FeaturesColumn
    skip: bool

    @property
    def name(self) -> str:
        """Name of the column in batches."""
        return self.features.name

    def vectors(self, column: pa.Array) -> Vectors:
        """Check the vectors of a batch."""
        shown = self.features.shown
        vectors = vectors_of(column, shown)
        n_valid = int(np.count_nonzero(vectors.valid))
        if n_valid < len(vectors.valid) and not self.skip:
            raise invalid_vectors(shown, column)
        if n_valid and vectors.X.shape[1] != self.n_features:
            raise ColumnError(
                f"column {shown!r} must hold vectors of {self.n_features} features, as the model "
                f"was trained on; got {vectors.X.shape[1]}. Prepare rows as those of the fit, for "
                "example with one Pipeline."
            )
        return vectors


@dataclass(frozen=True)
class Decide:
    """Function from vectors to what a model says about them.

    ``score`` returns the decisions about rows, (n_rows, n_problems), and ``answers`` what they
    amount to, (n_rows, n_values).
    """

    score: Callable[[Any], Array]
    answers: Callable[[Array], Array]
    checks: VectorChecks

    def __call__(self, column: pa.Array) -> pa.Array:
        """Return what is said about each vector of a batch."""
        n_rows = len(column)
        try:
            decisions, problem = self._decisions(column), pa.nulls(n_rows, pa.string())
        except ColumnError as error:
            decisions, problem = pa.nulls(n_rows, DECISIONS), pa.repeat(str(error), n_rows)
        return pa.StructArray.from_arrays([decisions, problem], fields=list(SAID))

    def _decisions(self, column: pa.Array) -> pa.Array:
        vectors = self.checks.vectors(column)
        if not vectors.valid.any():
            return pa.nulls(len(vectors.valid), DECISIONS)
        return listed(vectors.valid, self.answers(self.score(vectors.X)))


def listed(valid: NDArray[np.bool_], decisions: Array) -> pa.Array:
    """Return one list of values for each row of a batch; null for those that are not valid."""
    ends = np.cumsum(np.concatenate([[0], decisions.shape[1] * valid]), dtype=np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(decisions.ravel()))
    if valid.all():
        return lists
    return pc.if_else(pa.array(valid), lists, pa.nulls(len(valid), DECISIONS))


def with_decisions(dataset: Any, decide: Decide, name: str) -> Any:
    """Add a column of what a model says: an array of the values that ``decide`` returns."""
    if hasattr(F, "arrow_udf"):  # pyspark 4.1 and newer
        udf = F.arrow_udf(_array_function(decide), SAID_DDL)
        features = column(decide.checks.name)
        said = row_by_row(dataset, features).withColumn(name, udf(features))
    else:
        task = partial(_with_column, decide, name)
        kind = T.StructType.fromDDL(SAID_DDL)
        said = mapped(dataset, task, schema_with(dataset, name, kind))
    own = F.col(name)
    return said.withColumn(name, unless(own["problem"], own["decisions"]))


def row_by_row(dataset: Any, features: Any) -> Any:
    """Return a DataFrame with a condition that all rows meet, if it has columns such as vectors.

    Spark 4.3 hands rows that it reads from Parquet to a UDF by batches, and cannot pass on other
    columns then that are of a type of a library, such as vectors ("Unsupported data type UDT").
    Behind a condition, rows come one by one.
    """
    if not any(_of_a_library(field.dataType) for field in dataset.schema.fields):
        return dataset
    return dataset.where(F.hash(features) >= F.lit(LEAST_HASH))  # Spark does not see through it


def _of_a_library(kind: Any) -> bool:
    if isinstance(kind, T.StructType):
        return any(_of_a_library(field.dataType) for field in kind.fields)
    if isinstance(kind, T.ArrayType):
        return _of_a_library(kind.elementType)
    if isinstance(kind, T.MapType):
        return _of_a_library(kind.keyType) or _of_a_library(kind.valueType)
    return isinstance(kind, T.UserDefinedType)


def unless(problem: Any, value: Any) -> Any:
    """Return a column of values, whose evaluation fails where there is a problem.

    Spark raises the text of the problem itself, in one line; that of an error raised in Python
    would stand below traces.
    """
    return F.when(problem.isNull(), value).otherwise(F.raise_error(problem))


def schema_with_decisions(dataset: Any, name: str) -> T.StructType:
    """Return the schema of a DataFrame to which a column of decisions is added."""
    return schema_with(dataset, name, T.ArrayType(T.DoubleType()))


def schema_with(dataset: Any, name: str, kind: Any) -> T.StructType:
    """Return the schema of a DataFrame to which a column is added."""
    return T.StructType([*dataset.schema.fields, T.StructField(name, kind)])


def _array_function(decide: Decide) -> Any:
    # Spark reads the types of a UDF from the annotations of a function.
    def decisions(vectors: pa.Array) -> pa.Array:
        return decide(vectors)

    decisions.__annotations__ = {"vectors": pa.Array, "return": pa.Array}
    return decisions


def _with_column(
    decide: Decide, name: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield appended(batch, decide(batch.column(decide.checks.name)), name)


def appended(batch: pa.RecordBatch, column: pa.Array, name: str) -> pa.RecordBatch:
    """Add a column to a batch."""
    names = [*batch.schema.names, name]
    return pa.RecordBatch.from_arrays([*batch.columns, column], names=names)
