"""The scikit-learn classes."""

from .auto import AutoClassifier
from .gossip import GossipClassifier
from .kernel import ODMClassifier, SVMClassifier
from .linear import LinearODMClassifier, LinearSVMClassifier
from .multiclass_svm import MulticlassSVMClassifier
from .one_class import OneClassSVM
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
    "MulticlassSVMClassifier",
    "ODMClassifier",
    "ODMClassifierCV",
    "OneClassSVM",
    "RandomFeatures",
    "SVMClassifier",
    "SVMClassifierCV",
]
