"""Diagnostics of divided fits, explanations, and pictures in the form of scikit-learn's displays.

The ``from_…`` methods of a display compute and draw. Matplotlib, imported only then, comes with
``pip install matplotlib``. Several displays may share axes:

>>> from sklearn.datasets import make_moons
>>> from widemargin import ODMClassifier, SVMClassifier
>>> from widemargin.inspection import MarginDistributionDisplay
>>> X, y = make_moons(noise=0.2, random_state=0)
>>> first = MarginDistributionDisplay.from_estimator(ODMClassifier().fit(X, y), X, y)
>>> second = MarginDistributionDisplay.from_estimator(SVMClassifier().fit(X, y), X, y, ax=first.ax_)
>>> len(first.ax_.get_legend().get_texts())
4
"""

from .convergence_display import ConvergenceDisplay
from .display import require_matplotlib
from .leaderboard_display import LeaderboardDisplay
from .levels import accuracy_over_time, fit_levels, support_vector_recall
from .levels_display import LevelsDisplay
from .margin_distribution import MarginDistributionDisplay
from .network_display import NetworkDisplay
from .part_quality import PartitionQuality, partition_quality
from .partition_display import PartitionDisplay
from .partitions import Partition, leaf_partition
from .performance_profile import PerformanceProfileDisplay
from .search_display import SearchDisplay
from .shapley import ShapleyValues, shapley_values
from .shapley_display import ShapleyDisplay
from .theorem2_bound import Theorem2, theorem2_bound
from .theorem_bounds import Theorem1, theorem1_bounds

__all__ = [
    "ConvergenceDisplay",
    "LeaderboardDisplay",
    "LevelsDisplay",
    "MarginDistributionDisplay",
    "NetworkDisplay",
    "Partition",
    "PartitionDisplay",
    "PartitionQuality",
    "PerformanceProfileDisplay",
    "SearchDisplay",
    "ShapleyDisplay",
    "ShapleyValues",
    "Theorem1",
    "Theorem2",
    "accuracy_over_time",
    "fit_levels",
    "leaf_partition",
    "partition_quality",
    "require_matplotlib",
    "shapley_values",
    "support_vector_recall",
    "theorem1_bounds",
    "theorem2_bound",
]
