"""Ways to divide a training set into parts, one small file each.

All have the form of :class:`Division`. A training set is divided by starting from one part that
holds all of it; folding and re-clustering parts on the way up have the same form.
"""

from .division import Divided, Division, fetch, send, together
from .kernel_kmeans import Clusters
from .landmarks import LandmarkStrata
from .nearest_group import NearestGroup
from .preserving import InputSpaceStrata
from .random_parts import RandomParts

__all__ = [
    "Clusters",
    "Divided",
    "Division",
    "InputSpaceStrata",
    "LandmarkStrata",
    "NearestGroup",
    "RandomParts",
    "fetch",
    "send",
    "together",
]
