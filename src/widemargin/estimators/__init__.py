"""The scikit-learn classes."""

from .kernel import ODMClassifier, SVMClassifier
from .kernel_cv import ODMClassifierCV, SVMClassifierCV

__all__ = ["ODMClassifier", "ODMClassifierCV", "SVMClassifier", "SVMClassifierCV"]
