"""The scikit-learn classes."""

from .kernel import ODMClassifier, SVMClassifier

__all__ = ["ODMClassifier", "SVMClassifier"]
