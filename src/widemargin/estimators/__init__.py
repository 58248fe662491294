"""The scikit-learn classes."""

from .kernel import ODMClassifier, SVMClassifier
from .kernel_cv import ODMClassifierCV, SVMClassifierCV
from .linear import LinearODMClassifier, LinearSVMClassifier
from .linear_cv import LinearODMClassifierCV, LinearSVMClassifierCV

__all__ = [
    "LinearODMClassifier",
    "LinearODMClassifierCV",
    "LinearSVMClassifier",
    "LinearSVMClassifierCV",
    "ODMClassifier",
    "ODMClassifierCV",
    "SVMClassifier",
    "SVMClassifierCV",
]
