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
from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

from ..core.arrays import Array
from .rows.batches import ColumnError, Vectors, vectors_of
from .rows.columns import column

DECISIONS = pa.list_(pa.float64())


@dataclass(frozen=True)
class VectorChecks:
    """Checks of vectors to classify; with ``skip`` an invalid one gets null instead of an error."""

    n_features: int
    name: str
    skip: bool

    def vectors(self, column: pa.Array) -> Vectors:
        """Check the vectors of a batch."""
        vectors = vectors_of(column, self.name)
        n_valid = int(np.count_nonzero(vectors.valid))
        if n_valid < len(vectors.valid) and not self.skip:
            raise ColumnError(
                f"column {self.name!r} must hold finite numbers in every row; got a vector that is "
                "null or holds null, NaN or infinity. Fill them in, or leave such rows out with "
                "handleInvalid='skip'."
            )
        if n_valid and vectors.X.shape[1] != self.n_features:
            raise ColumnError(
                f"column {self.name!r} must hold vectors of {self.n_features} features, as the "
                f"model was trained on; got {vectors.X.shape[1]}."
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
        """Return one list of values for each vector of a batch."""
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
        udf = F.arrow_udf(_array_function(decide), ArrayType(DoubleType()))
        return dataset.withColumn(name, udf(column(decide.checks.name)))
    task = partial(_with_column, decide, name)
    return dataset.mapInArrow(task, schema_with_decisions(dataset, name))


def schema_with_decisions(dataset: Any, name: str) -> StructType:
    """Return the schema of a DataFrame to which a column of decisions is added."""
    return StructType([*dataset.schema.fields, StructField(name, ArrayType(DoubleType()))])


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
