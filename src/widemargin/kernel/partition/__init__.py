"""Ways to divide a training set into parts.

All have the form of :class:`Division`. A training set is divided by starting from one part that
holds all of it; folding and re-clustering parts towards the root have the same form.
"""

from .cluster_tree import ClusterTree
from .clusters import Clusters
from .division import Divided, Division, fetch, together
from .lonely_rows import BLIND, lonely_share
from .nearest_group import NearestGroup
from .strata import InputSpaceStrata, LandmarkStrata, RandomParts

__all__ = [
    "BLIND",
    "ClusterTree",
    "Clusters",
    "Divided",
    "Division",
    "InputSpaceStrata",
    "LandmarkStrata",
    "NearestGroup",
    "RandomParts",
    "fetch",
    "lonely_share",
    "together",
]
