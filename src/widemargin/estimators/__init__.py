"""The scikit-learn classes."""

from .auto import AutoClassifier
from .gossip import GossipClassifier
from .kernel import ODMClassifier, SVMClassifier
from .kernel_regression import ODMRegressor, QuantileSVMRegressor, SVMRegressor
from .linear import LinearODMClassifier, LinearSVMClassifier
from .linear_regression import (
    LinearODMRegressor,
    LinearQuantileSVMRegressor,
    LinearSVMRegressor,
)
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
    "LinearODMRegressor",
    "LinearQuantileSVMRegressor",
    "LinearSVMClassifier",
    "LinearSVMClassifierCV",
    "LinearSVMRegressor",
    "MulticlassSVMClassifier",
    "ODMClassifier",
    "ODMClassifierCV",
    "ODMRegressor",
    "QuantileSVMRegressor",
    "RandomFeatures",
    "SVMClassifier",
    "SVMClassifierCV",
    "SVMRegressor",
]
