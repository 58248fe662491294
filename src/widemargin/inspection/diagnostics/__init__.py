"""Measures of how a training set is divided, and of the models of all levels.

- :func:`leaf_partition` repeats the first step of a fit, :func:`partition_quality` measures how
  well parts keep the distribution of the whole.
- :func:`theorem1_bounds` compares the papers' bounds with the true gaps, on small sets.
- :func:`fit_levels` yields the model of every level; :func:`support_vector_recall` and
  :func:`accuracy_over_time` measure these models.

Nothing that trains a model imports this package.
"""

from .levels import accuracy_over_time, fit_levels, support_vector_recall
from .part_quality import PartitionQuality, partition_quality
from .partitions import Partition, leaf_partition
from .theorem_bounds import Theorem1, theorem1_bounds

__all__ = [
    "Partition",
    "PartitionQuality",
    "Theorem1",
    "accuracy_over_time",
    "fit_levels",
    "leaf_partition",
    "partition_quality",
    "support_vector_recall",
    "theorem1_bounds",
]
