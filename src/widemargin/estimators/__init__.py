"""The scikit-learn classes."""

from .gossip import GossipClassifier
from .kernel import ODMClassifier, SVMClassifier
from .kernel_cv import ODMClassifierCV, SVMClassifierCV
from .linear import LinearODMClassifier, LinearSVMClassifier
from .linear_cv import LinearODMClassifierCV, LinearSVMClassifierCV
from .multiclass_svm import MulticlassSVMClassifier

__all__ = [
    "GossipClassifier",
    "LinearODMClassifier",
    "LinearODMClassifierCV",
    "LinearSVMClassifier",
    "LinearSVMClassifierCV",
    "MulticlassSVMClassifier",
    "ODMClassifier",
    "ODMClassifierCV",
    "SVMClassifier",
    "SVMClassifierCV",
]
