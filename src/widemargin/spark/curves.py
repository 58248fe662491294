"""Curves over the threshold of a score, of rows of two classes.

Scores are put into about a thousand buckets of equal weight, as MLlib's summaries do, so that the
driver sees a bounded table. MLlib's own curves are not available over Spark Connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.ml.feature import Bucketizer
from pyspark.sql import functions as F

from ..core.arrays import Array

BUCKETS = 1000
# Allowed error of the buckets' limits, as a share of the rows.
ERROR = 0.25 / BUCKETS


@dataclass(frozen=True)
class ThresholdCounts:
    """Weights of the rows of either class that score at least as much as each threshold."""

    threshold: Array  # descending
    positive: Array
    negative: Array

    @classmethod
    def of(cls, frame: Any) -> ThresholdCounts:
        """Count the rows of a DataFrame with the columns score, label and weight."""
        shares = np.linspace(0.0, 1.0, BUCKETS + 1)[1:-1].tolist()
        limits = np.unique(frame.approxQuantile("score", shares, ERROR)).tolist()
        buckets = Bucketizer(
            splits=[-np.inf, *limits, np.inf], inputCol="score", outputCol="bucket"
        )
        one = F.col("label") > 0.5
        found = (
            buckets.transform(frame)
            .groupBy("bucket")
            .agg(
                F.min("score"),
                F.sum(F.when(one, F.col("weight")).otherwise(0.0)),
                F.sum(F.when(one, 0.0).otherwise(F.col("weight"))),
            )
            .collect()
        )
        table = np.array(sorted((row[1:] for row in found), reverse=True), dtype=np.float64)
        table = table.reshape(-1, 3)
        return cls(table[:, 0], np.cumsum(table[:, 1]), np.cumsum(table[:, 2]))

    def recall(self) -> Array:
        """Return the share of class 1 at or beyond each threshold."""
        return np.asarray(self.positive / self.positive[-1])

    def precision(self) -> Array:
        """Return the share of class 1 among the rows at or beyond each threshold."""
        return np.asarray(self.positive / (self.positive + self.negative))

    def f_measure(self) -> Array:
        """Return the harmonic mean of precision and recall."""
        precision, recall = self.precision(), self.recall()
        total = precision + recall
        return np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1.0), 0.0)

    def roc(self) -> Array:
        """Return rates of false and of true positives, from (0, 0) to (1, 1)."""
        rates = np.column_stack([self.negative / self.negative[-1], self.recall()])
        return np.vstack([[0.0, 0.0], rates, [1.0, 1.0]])

    def precision_by_recall(self) -> Array:
        """Return recall and precision, from recall 0 on with the first precision."""
        curve = np.column_stack([self.recall(), self.precision()])
        return np.vstack([[0.0, curve[0, 1]], curve])
