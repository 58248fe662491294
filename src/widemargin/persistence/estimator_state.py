"""Estimators as parameters and fitted attributes, and built again from these.

Classes of this library (`registry`) keep the attributes that end in an underscore and those that
they list in ``_persisted_private``; steps of scikit-learn (`known_steps`) keep all they have.
Either way an estimator is checked before it is written and after it is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..gossip import Topology
from ..gossip.graphs import is_sequence
from . import known_steps, registry
from .step_checks import check_step

# What to save instead of an estimator of scikit-learn that wraps another one.
_INSTEAD = {
    "GridSearchCV": "Save its `best_estimator_`.",
    "RandomizedSearchCV": "Save its `best_estimator_`.",
    "HalvingGridSearchCV": "Save its `best_estimator_`.",
    "HalvingRandomSearchCV": "Save its `best_estimator_`.",
    "CalibratedClassifierCV": "Use calibrate='sigmoid' of the classifier, and save that.",
}
_NOT_KEPT = {"engine": "local", "checkpoint": None}


def name_of(estimator: Any, place: str = "") -> str:
    """Return the name of an estimator's class in a file; TypeError if no file can hold it."""
    name = type(estimator).__name__
    if name in registry.known() and type(estimator) is registry.estimator_class(name):
        return name
    step = known_steps.step_name(estimator)
    if step is not None:
        return step
    kind = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
    what = f"{f'`{place}` is' if place else 'This is'} a {kind}"
    if name in _INSTEAD and kind.startswith("sklearn."):
        raise TypeError(f"{_INSTEAD[name]} {what}, which a model file does not hold.")
    raise TypeError(
        f"{what}, but a model file holds no code, and so only estimators of widemargin and the "
        "steps of scikit-learn that the user guide lists (scalers, encoders, imputers, "
        "ColumnTransformer, …). Use one of these, apply the step before the pipeline, or keep the "
        "whole model with pickle or joblib, which run code when they load."
    )


def parts_of_estimator(estimator: Any, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the fitted attributes to write."""
    params = estimator.get_params(deep=False)
    for key, value in params.items():
        if isinstance(value, np.random.RandomState | np.random.Generator):
            params[key] = None
    if name in known_steps.STEPS:
        return known_steps.without_places(name, params), known_steps.state_of(estimator)
    if not isinstance(params.get("cv"), int):
        params = {key: None if key == "cv" else value for key, value in params.items()}
    params = _without_locations(params)
    if "topology" in params and hasattr(estimator, "topology_"):
        params["topology"] = _links_for_graph(params["topology"], estimator.topology_)
    fitted = {key: value for key, value in vars(estimator).items() if _is_saved(key, estimator)}
    return params, fitted


def built_estimator(name: str, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """Return the estimator that parameters and attributes of a file describe.

    Raises ValueError, TypeError or AttributeError if they do not fit the class or each other.
    """
    if name in known_steps.STEPS:
        return _built_step(name, params, fitted)
    estimator = registry.estimator_class(name)(**_without_locations(params))
    for key, value in fitted.items():
        if not _is_saved(key, estimator):
            raise ValueError(f"`{key}` is no fitted attribute")
        setattr(estimator, key, value)
    check_estimator_state(estimator, name)
    return estimator


def _built_step(name: str, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    try:
        step = known_steps.named(name)(**known_steps.without_places(name, params))
        for key, value in fitted.items():
            known_steps.check_state_name(step, key)
            setattr(step, key, value)
        check_estimator_state(step, name)
    except ValueError:
        raise
    except Exception as error:
        # What a parameter of a wrong kind leads to depends on where scikit-learn uses it.
        raise ValueError(f"{error} ({type(error).__name__})") from error
    return step


def check_estimator_state(estimator: Any, name: str) -> None:
    """Raise ValueError if an estimator's parameters or fitted attributes cannot be right."""
    if hasattr(estimator, "_parameter_constraints"):  # FeatureUnion has none
        estimator._validate_params()
    if is_fitted(estimator):
        check = check_step if name in known_steps.STEPS else registry.check_fitted
        check(estimator)
        registry.check_shared_state(estimator)


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator is fitted; one without a state of its own always is."""
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError, AttributeError, IndexError):
        return False
    return True


def is_known(name: str) -> bool:
    """Whether this version can build the class that a file calls `name`."""
    return name in known_steps.STEPS or name in registry.known()


def version_note(header: dict[str, Any]) -> str:
    """Return words about the scikit-learn of a file, if it is another than this one."""
    written = header.get("sklearn_version")
    if written is None or written.split(".")[:2] == sklearn.__version__.split(".")[:2]:
        return ""
    return (
        f". The file was written with scikit-learn {written}, this is {sklearn.__version__}: load "
        "it with that version, or fit and save the model again"
    )


def _is_saved(name: str, estimator: Any) -> bool:
    public = name.endswith("_") and not name.startswith("_")
    return public or name in getattr(estimator, "_persisted_private", ())


def _without_locations(params: dict[str, Any]) -> dict[str, Any]:
    """Replace the engine and the checkpoint folder by their defaults.

    They say nothing about the model, and a file of unknown origin should not choose a folder that
    a later fit writes to.
    """
    return {key: _NOT_KEPT.get(key, value) for key, value in params.items()}


def _links_for_graph(topology: Any, fitted: Topology) -> Any:
    """Return graphs of networkx, which a file cannot hold, as the matrices of their links."""
    if hasattr(topology, "is_directed"):
        return fitted.matrices()[0]
    if is_sequence(topology):
        pairs = zip(topology, fitted.matrices(), strict=True)
        return [matrix if hasattr(each, "is_directed") else each for each, matrix in pairs]
    return topology
