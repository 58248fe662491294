"""The kinds of DataFrames that stages take: Spark's own, and those of ``pyspark.pandas``."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame


def whole_frame(dataset: Any) -> Any:
    """Return a Spark DataFrame of what was given; raise if it is a stream, whose rows go on."""
    frame, _ = spark_frame(dataset)
    if frame.isStreaming:
        raise ValueError(
            "a DataFrame whose rows are all there is required; got a stream. Linear classifiers "
            "learn from streams with `fitStream`; fit others to a table of what has arrived."
        )
    return frame


def spark_frame(dataset: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return a Spark DataFrame of what was given, and a function back to that kind.

    The index of a pandas-on-Spark frame becomes columns and then the index again. The function is
    for DataFrames that have these columns still.
    """
    if isinstance(dataset, DataFrame):
        return dataset, lambda frame: frame
    pandas_on_spark = sys.modules.get("pyspark.pandas")  # imported by whoever made such a frame
    if pandas_on_spark is None or not isinstance(dataset, pandas_on_spark.DataFrame):
        kind = type(dataset)
        raise TypeError(
            "a DataFrame of Spark or of pandas-on-Spark is required; got "
            f"{kind.__module__}.{kind.__qualname__}. Make one with spark.createDataFrame, or fit "
            "arrays with the scikit-learn classes of widemargin."
        )
    if dataset.columns.nlevels > 1:
        raise ValueError(
            "columns of a pandas-on-Spark frame must have plain names; got names of "
            f"{dataset.columns.nlevels} levels. Rename them."
        )
    index = [f"index_{uuid.uuid4().hex}" for _ in range(dataset.index.nlevels)]

    def back(frame: Any) -> Any:
        made = frame.pandas_api(index_col=index)
        made.index.names = dataset.index.names
        return made

    return dataset.to_spark(index_col=index), back
