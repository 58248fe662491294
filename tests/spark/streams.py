"""Rows as a folder of files that a stream reads one after another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "id long, label double, features array<double>"
# Ids of a file's rows begin at its number times this.
FILE = 10**6


def write(folder: Path, number: int, X: Any, y: Any) -> None:
    """Write rows as a file of a folder, later than those before it."""
    folder.mkdir(exist_ok=True)
    table = pa.table(
        {
            "id": np.arange(len(y)) + FILE * number,
            "label": np.asarray(y, dtype=np.float64),
            "features": pa.array(list(X), pa.list_(pa.float64())),
        }
    )
    path = folder / f"rows-{number}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1e9 + number, 1e9 + number))


def stream(spark: Any, folder: Path) -> Any:
    """Read a folder, a file at a time."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))
