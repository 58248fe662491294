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
from .multiclass_odm import MulticlassODMClassifier
from .multiclass_svm import MulticlassSVMClassifier
from .one_class import OneClassSVM
from .random_features import RandomFeatures
from .regressor_search import (
    LinearODMRegressorCV,
    LinearSVMRegressorCV,
    ODMRegressorCV,
    SVMRegressorCV,
)
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
    "LinearODMRegressorCV",
    "LinearQuantileSVMRegressor",
    "LinearSVMClassifier",
    "LinearSVMClassifierCV",
    "LinearSVMRegressor",
    "LinearSVMRegressorCV",
    "MulticlassODMClassifier",
    "MulticlassSVMClassifier",
    "ODMClassifier",
    "ODMClassifierCV",
    "ODMRegressor",
    "ODMRegressorCV",
    "OneClassSVM",
    "QuantileSVMRegressor",
    "RandomFeatures",
    "SVMClassifier",
    "SVMClassifierCV",
    "SVMRegressor",
    "SVMRegressorCV",
]
