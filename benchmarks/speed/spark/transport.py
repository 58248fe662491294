"""What it costs to read rows, and to bring them to Python's workers, where nothing is done."""

from __future__ import annotations

import time
from typing import Any


def reading_seconds(frame: Any) -> float:
    """Read all rows, and leave them in the JVM."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def transfer_seconds(frame: Any) -> float:
    """Read all rows and bring them to Python, which only counts them."""
    began = time.perf_counter()
    counted = frame.mapInArrow(_counted, "rows long").collect()
    assert counted
    return time.perf_counter() - began


def _counted(batches: Any) -> Any:
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})


def empty_pass_seconds(frame: Any, label: str) -> float:
    """Place rows as blocks, and pass over these without doing anything."""
    from widemargin.engines.spark import SparkEngine
    from widemargin.spark.rows.blocks import place
    from widemargin.spark.rows.columns import Columns

    engine = SparkEngine(frame.sparkSession)
    try:
        rows = place(engine, frame, Columns("features", label), skip=False, n_parts=None)
        began = time.perf_counter()
        engine.reduce(rows.parts, _nothing, max)
        return time.perf_counter() - began
    finally:
        engine.release()


def _nothing(block: Any) -> int:
    return 0
