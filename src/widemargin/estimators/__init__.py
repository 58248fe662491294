"""The scikit-learn classes."""

from .kernel import ODMClassifier, SVMClassifier
from .kernel_cv import ODMClassifierCV, SVMClassifierCV
from .linear import LinearODMClassifier, LinearSVMClassifier

__all__ = [
    "LinearODMClassifier",
    "LinearSVMClassifier",
    "ODMClassifier",
    "ODMClassifierCV",
    "SVMClassifier",
    "SVMClassifierCV",
]
