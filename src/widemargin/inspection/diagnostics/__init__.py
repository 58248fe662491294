"""What a division does to a training set, and what the levels above it are worth.

- :func:`leaf_partition` repeats the first step of a fit, :func:`partition_quality` measures how
  well parts keep the distribution of the whole.
- :func:`theorem1_bounds` sets what the papers prove beside what is the case, on small sets.
- :func:`fit_levels` gives the model of every level; :func:`support_vector_recall` and
  :func:`accuracy_over_time` follow them.

They look at fits from outside: no fit needs them.
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
