"""The scikit-learn classes."""

from .auto import AutoClassifier
from .gossip import GossipClassifier
from .kernel import ODMClassifier, SVMClassifier
from .linear import LinearODMClassifier, LinearSVMClassifier
from .multiclass_odm import MulticlassODMClassifier
from .multiclass_svm import MulticlassSVMClassifier
from .random_features import RandomFeatures
from .search import (
    LinearODMClassifierCV,
    LinearSVMClassifierCV,
    ODMClassifierCV,
    SVMClassifierCV,
)

__all__ = [
    "AutoClassifier",
    "GossipClassifier",
    "LinearODMClassifier",
    "LinearODMClassifierCV",
    "LinearSVMClassifier",
    "LinearSVMClassifierCV",
    "MulticlassODMClassifier",
    "MulticlassSVMClassifier",
    "ODMClassifier",
    "ODMClassifierCV",
    "RandomFeatures",
    "SVMClassifier",
    "SVMClassifierCV",
]
