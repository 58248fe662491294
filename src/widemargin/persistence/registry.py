"""The classes that a model file may name. A name that is not here is never looked up anywhere."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from .gossip import check_gossip
from .kernel_machine import check_kernel_machine
from .linear_machine import check_linear_machine
from .multiclass_svm import check_multiclass_svm
from .search import check_linear_search, check_search

# Name in the file: (module, what a fitted estimator of the class must satisfy). Modules are named
# and not imported here because the estimators themselves import `save`.
ESTIMATORS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "ODMClassifier": ("widemargin", check_kernel_machine),
    "ODMClassifierCV": ("widemargin", check_search),
    "SVMClassifier": ("widemargin", check_kernel_machine),
    "SVMClassifierCV": ("widemargin", check_search),
    "LinearODMClassifier": ("widemargin", check_linear_machine),
    "LinearODMClassifierCV": ("widemargin", check_linear_search),
    "LinearSVMClassifier": ("widemargin", check_linear_machine),
    "LinearSVMClassifierCV": ("widemargin", check_linear_search),
    "MulticlassSVMClassifier": ("widemargin", check_multiclass_svm),
    "GossipClassifier": ("widemargin", check_gossip),
}


def estimator_class(name: str) -> type[Any]:
    """Return the registered class called `name`."""
    module, _ = ESTIMATORS[name]
    cls: type[Any] = getattr(import_module(module), name)
    return cls


def check_fitted(estimator: Any) -> None:
    """Raise ValueError, saying why, if the fitted attributes of `estimator` do not fit together."""
    _, check = ESTIMATORS[type(estimator).__name__]
    check(estimator)
