"""Rows as DataFrames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import Vectors
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler


def two_classes() -> tuple[Any, Any]:
    """Return rows of two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :10], y


def three_classes() -> tuple[Any, Any]:
    """Return rows of three classes."""
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def array_frame(spark: Any, X: Any, y: Any, partitions: int = 2, **more: Any) -> Any:
    """Return a DataFrame with features in an array column."""
    kind = pa.float32() if X.dtype == np.float32 else pa.float64()
    table = pa.table(
        {
            "id": np.arange(len(y)),
            "label": np.asarray(y, dtype=np.float64),
            "features": pa.array(list(X), pa.list_(kind)),
            **more,
        }
    )
    return spark.createDataFrame(table).coalesce(1).repartitionByRange(partitions, "id")


def vector_frame(spark: Any, X: Any, y: Any, partitions: int = 2, **more: Any) -> Any:
    """Return a DataFrame with dense vectors."""
    frame = array_frame(spark, X, y, partitions, **more)
    return frame.withColumn("features", array_to_vector("features"))


def sparse_frame(spark: Any, X: Any, y: Any, dense_every: int = 0) -> Any:
    """Return a DataFrame with sparse vectors, and dense ones among them if asked for."""
    rows = []
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        at = np.flatnonzero(row)
        dense = dense_every and i % dense_every == 0
        vector = Vectors.dense(row) if dense else Vectors.sparse(len(row), at, row[at])
        rows.append((i, float(label), vector))
    return spark.createDataFrame(rows, ["id", "label", "features"]).repartition(2, "id")
