"""The classes that a model file may name. A name that is not here is never looked up anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from .calibration import check_calibration
from .checks import (
    check_gossip,
    check_linear_machine,
    check_linear_regressor,
    check_multiclass_odm,
    check_multiclass_svm,
    demand,
    is_integer,
    required,
)
from .kernel_machine import check_kernel_machine, check_kernel_regressor, check_one_class
from .random_features import check_random_features
from .tables import check_automatic, check_preprocessor

# Parameters that a search may look for beside C.
BESIDE_C = ("gamma", "upsilon", "theta", "epsilon")


def _search_of(check_model: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a check of a fitted search, and of the model that it has trained."""

    def check(estimator: Any) -> None:
        check_model(estimator)
        searched = {name for name in BESIDE_C if hasattr(estimator, f"{name}s")}
        scores = required(estimator, "scores_")
        demand(isinstance(scores, np.ndarray) and scores.ndim == 3, "scores_", "three-dimensional")
        gammas = required(estimator, "gammas_") if "gamma" in searched else None
        if gammas is not None:
            _check_values(gammas, "gammas_")
            each = len(scores) > 0 and len(scores) % gammas.size == 0
            demand(each, "scores_", "of as many settings for every gamma")
        _check_results(estimator, len(scores), searched)
        for name in searched & set(estimator.best_params_):
            value, allowed = required(estimator, f"{name}_"), _allowed(estimator, name)
            demand(isinstance(value, float) and value in allowed, f"{name}_", str(allowed))

    return check


def _allowed(search: Any, name: str) -> Interval:
    """Return the interval of a parameter of what is searched for."""
    constraints = search._searched._parameter_constraints[name]
    return next(each for each in constraints if isinstance(each, Interval))


def _check_results(estimator: Any, n_settings: int, beside_C: set[str]) -> None:
    """Demand a table of one row per setting and value of C, and a choice among its rows."""
    Cs = required(estimator, "Cs_")
    _check_values(Cs, "Cs_")
    shape = (n_settings, Cs.size)
    scores = required(estimator, "scores_")
    right = isinstance(scores, np.ndarray) and scores.dtype == np.float64 and scores.ndim == 3
    demand(right and scores.shape[:2] == shape, "scores_", f"numbers of shape {shape} by folds")
    n_rows = shape[0] * shape[1]
    results = required(estimator, "cv_results_")
    columns: list[Any] = list(results.values()) if isinstance(results, dict) else [None]
    listed = all(
        (isinstance(column, np.ndarray) and column.ndim == 1) or isinstance(column, list)
        for column in columns
    )
    equal = listed and {len(column) for column in columns} == {n_rows}
    demand(equal, "cv_results_", f"a dictionary of arrays of {n_rows} entries")
    index = required(estimator, "best_index_")
    demand(is_integer(index) and 0 <= index < n_rows, "best_index_", "a row of `cv_results_`")
    for name in ("C_", "best_score_"):
        demand(isinstance(required(estimator, name), float), name, "a number")
    demand(estimator.C_ > 0, "C_", "positive")
    best = required(estimator, "best_params_")
    named = isinstance(best, dict) and all(isinstance(value, float) for value in best.values())
    known = named and set(best) <= {"C", *beside_C} and "C" in best
    demand(known, "best_params_", "parameters of the search")


def _check_values(values: Any, name: str) -> None:
    reals = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
    demand(reals and values.size > 0, name, "an array of numbers")
    demand(bool(np.all(np.isfinite(values) & (values > 0))), name, "positive and finite")


def _check_index_base(estimator: Any) -> None:
    base = estimator.index_base_
    demand(is_integer(base) and base in (0, 1), "index_base_", "0 or 1")


# Name in the file: check of a fitted estimator of the class.
ESTIMATORS: dict[str, Callable[[Any], None]] = {
    "ODMClassifier": check_kernel_machine,
    "ODMClassifierCV": _search_of(check_kernel_machine),
    "SVMClassifier": check_kernel_machine,
    "SVMClassifierCV": _search_of(check_kernel_machine),
    "ODMRegressor": check_kernel_regressor,
    "ODMRegressorCV": _search_of(check_kernel_regressor),
    "QuantileSVMRegressor": check_kernel_regressor,
    "SVMRegressor": check_kernel_regressor,
    "SVMRegressorCV": _search_of(check_kernel_regressor),
    "LinearODMClassifier": check_linear_machine,
    "LinearODMClassifierCV": _search_of(check_linear_machine),
    "LinearSVMClassifier": check_linear_machine,
    "LinearSVMClassifierCV": _search_of(check_linear_machine),
    "LinearODMRegressor": check_linear_regressor,
    "LinearODMRegressorCV": _search_of(check_linear_regressor),
    "LinearQuantileSVMRegressor": check_linear_regressor,
    "LinearSVMRegressor": check_linear_regressor,
    "LinearSVMRegressorCV": _search_of(check_linear_regressor),
    "MulticlassODMClassifier": check_multiclass_odm,
    "MulticlassSVMClassifier": check_multiclass_svm,
    "GossipClassifier": check_gossip,
    "OneClassSVM": check_one_class,
    "RandomFeatures": check_random_features,
    "TablePreprocessor": check_preprocessor,
    "AutoClassifier": check_automatic,
}

# Fitted attribute that any class may have: its check, of the whole estimator. What else an
# attribute needs to be saved is a name that ends in an underscore and plain data.
STATE_CHECKS: dict[str, Callable[[Any], None]] = {
    "calibration_": check_calibration,
    "index_base_": _check_index_base,
}


def known() -> list[str]:
    """Return the names of the classes of this library that a file may hold."""
    import widemargin  # not at the top: the estimators themselves import `save`

    return [name for name in ESTIMATORS if name in widemargin.__all__]


def estimator_class(name: str) -> type[Any]:
    """Return the registered class called `name`."""
    import widemargin

    cls: type[Any] = getattr(widemargin, name)
    return cls


def check_fitted(estimator: Any) -> None:
    """Raise ValueError, saying why, if the fitted attributes of `estimator` do not fit together."""
    ESTIMATORS[type(estimator).__name__](estimator)


def check_shared_state(estimator: Any) -> None:
    """Raise ValueError if an attribute that any class may have is wrong."""
    for name, check in STATE_CHECKS.items():
        if name in vars(estimator):
            check(estimator)
