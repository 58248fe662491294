"""Margin classifiers and regressors at any scale, kernel and linear, with certified gaps."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names by the module that defines them; imported on first use, so that `import widemargin`
# and `widemargin --help` stay fast.
_PUBLIC = {
    "AutoClassifier": "estimators",
    "GossipClassifier": "estimators",
    "LinearODMClassifier": "estimators",
    "LinearODMClassifierCV": "estimators",
    "LinearODMRegressor": "estimators",
    "LinearODMRegressorCV": "estimators",
    "LinearQuantileSVMRegressor": "estimators",
    "LinearSVMClassifier": "estimators",
    "LinearSVMClassifierCV": "estimators",
    "LinearSVMRegressor": "estimators",
    "LinearSVMRegressorCV": "estimators",
    "MulticlassODMClassifier": "estimators",
    "MulticlassSVMClassifier": "estimators",
    "ODMClassifier": "estimators",
    "ODMClassifierCV": "estimators",
    "ODMRegressor": "estimators",
    "ODMRegressorCV": "estimators",
    "OneClassSVM": "estimators",
    "QuantileSVMRegressor": "estimators",
    "RandomFeatures": "estimators",
    "SVMClassifier": "estimators",
    "SVMClassifierCV": "estimators",
    "SVMRegressor": "estimators",
    "SVMRegressorCV": "estimators",
    "Cascade": "kernel.divide.strategies",
    "Clustered": "kernel.divide.strategies",
    "Preserving": "kernel.divide.strategies",
    "Stratified": "kernel.divide.strategies",
    "ConvergenceDisplay": "inspection",
    "LeaderboardDisplay": "inspection",
    "LevelsDisplay": "inspection",
    "MarginDistributionDisplay": "inspection",
    "NetworkDisplay": "inspection",
    "PartitionDisplay": "inspection",
    "PerformanceProfileDisplay": "inspection",
    "SearchDisplay": "inspection",
    "ShapleyDisplay": "inspection",
    "TablePreprocessor": "tables",
    "load_model": "persistence",
    "save": "persistence",
    "show_versions": "core.versions",
    "to_onnx": "export",
}

__all__ = [
    "AutoClassifier",
    "Cascade",
    "Clustered",
    "ConvergenceDisplay",
    "GossipClassifier",
    "LeaderboardDisplay",
    "LevelsDisplay",
    "LinearODMClassifier",
    "LinearODMClassifierCV",
    "LinearODMRegressor",
    "LinearODMRegressorCV",
    "LinearQuantileSVMRegressor",
    "LinearSVMClassifier",
    "LinearSVMClassifierCV",
    "LinearSVMRegressor",
    "LinearSVMRegressorCV",
    "MarginDistributionDisplay",
    "MulticlassODMClassifier",
    "MulticlassSVMClassifier",
    "NetworkDisplay",
    "ODMClassifier",
    "ODMClassifierCV",
    "ODMRegressor",
    "ODMRegressorCV",
    "OneClassSVM",
    "PartitionDisplay",
    "PerformanceProfileDisplay",
    "Preserving",
    "QuantileSVMRegressor",
    "RandomFeatures",
    "SVMClassifier",
    "SVMClassifierCV",
    "SVMRegressor",
    "SVMRegressorCV",
    "SearchDisplay",
    "ShapleyDisplay",
    "Stratified",
    "TablePreprocessor",
    "__version__",
    "load_model",
    "save",
    "show_versions",
    "to_onnx",
]

if TYPE_CHECKING:
    from .core.versions import show_versions
    from .estimators import (
        AutoClassifier,
        GossipClassifier,
        LinearODMClassifier,
        LinearODMClassifierCV,
        LinearODMRegressor,
        LinearODMRegressorCV,
        LinearQuantileSVMRegressor,
        LinearSVMClassifier,
        LinearSVMClassifierCV,
        LinearSVMRegressor,
        LinearSVMRegressorCV,
        MulticlassODMClassifier,
        MulticlassSVMClassifier,
        ODMClassifier,
        ODMClassifierCV,
        ODMRegressor,
        ODMRegressorCV,
        OneClassSVM,
        QuantileSVMRegressor,
        RandomFeatures,
        SVMClassifier,
        SVMClassifierCV,
        SVMRegressor,
        SVMRegressorCV,
    )
    from .export import to_onnx
    from .inspection import (
        ConvergenceDisplay,
        LeaderboardDisplay,
        LevelsDisplay,
        MarginDistributionDisplay,
        NetworkDisplay,
        PartitionDisplay,
        PerformanceProfileDisplay,
        SearchDisplay,
        ShapleyDisplay,
    )
    from .kernel.divide.strategies import Cascade, Clustered, Preserving, Stratified
    from .persistence import load_model, save
    from .tables import TablePreprocessor


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
