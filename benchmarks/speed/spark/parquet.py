"""Rows as Parquet tables that Spark reads: sparse vectors of a matrix, generated rows in chunks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from benchmarks.race.generated import waves

CHUNK_ROWS, FEATURES = 250_000, 18
# Noise of the linear rule, relative to its deviation.
NOISE = 0.5
# Spark reads types that Parquet does not have from this key.
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def write_vectors(X: Any, y: np.ndarray, folder: Path, files: int = 2) -> None:
    """Write rows as sparse vectors, and labels 0 and 1; a file for each partition."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import DoubleType, StructField, StructType

    folder.mkdir(parents=True, exist_ok=True)
    types = StructType([StructField("features", VectorUDT()), StructField("label", DoubleType())])
    schema = pa.schema(
        [("features", VECTOR), ("label", pa.float64())],
        metadata={SPARK_SCHEMA: json.dumps(types.jsonValue()).encode()},
    )
    for number, rows in enumerate(np.array_split(np.arange(len(y)), files)):
        part = sp.csr_matrix(X[rows])
        part.sort_indices()
        starts = pa.array(part.indptr.astype(np.int32))
        vectors = pa.StructArray.from_arrays(
            [
                pa.array(np.zeros(len(rows), dtype=np.int8)),
                pa.array(np.full(len(rows), X.shape[1], dtype=np.int32)),
                pa.ListArray.from_arrays(starts, pa.array(part.indices.astype(np.int32))),
                pa.ListArray.from_arrays(starts, pa.array(part.data.astype(np.float64))),
            ],
            fields=list(VECTOR),
        )
        columns = [vectors, _zero_or_one(y[rows])]
        pq.write_table(pa.table(columns, schema=schema), folder / f"{number}.parquet")


def write_arrays(X: np.ndarray, y: np.ndarray, folder: Path, files: int = 2) -> None:
    """Write dense rows as arrays of floats, and labels 0 and 1; a file for each partition."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(y)), files)):
        columns = {"features": _lists(X[rows]), "label": _zero_or_one(y[rows])}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")


def write_generated(
    rows: int, folder: Path, chunk: int = CHUNK_ROWS, features: int = FEATURES
) -> None:
    """Write generated rows, a chunk at a time, in files that end complete."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, rows, chunk)):
        path = folder / f"{number:04d}.parquet"
        if path.exists():
            continue
        X, label, linear = _with_linear_rule(min(chunk, rows - first), number, features)
        table = pa.table(
            {
                "id": pa.array(np.arange(first, first + len(label))),
                "features": _lists(X),
                "label": _zero_or_one(label),
                "linear_label": _zero_or_one(linear),
            }
        )
        unfinished = path.with_suffix(".part")
        pq.write_table(table, unfinished)
        unfinished.rename(path)


def held_out(rows: int, features: int = FEATURES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows that are in no table, their labels, and those of the linear rule."""
    return _with_linear_rule(rows, -1, features)


def _with_linear_rule(
    rows: int, number: int, features: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, the labels of a smooth function, and those of a linear one with noise."""
    X, y = waves(rows, number + 1, features)
    rule = np.random.default_rng(54321).normal(size=X.shape[1])
    score = X @ (rule / np.linalg.norm(rule))
    score += NOISE * np.random.default_rng([number + 1, rows, 1]).normal(size=rows)
    return X, y, np.where(score > 0, 1, -1)


def _lists(X: np.ndarray) -> pa.Array:
    rows = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    return rows.cast(pa.list_(pa.float32()))


def _zero_or_one(y: np.ndarray) -> pa.Array:
    return pa.array((y == y.max()).astype(np.float64))
