"""Linear fits for several values of C, each from the solution of its neighbour."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..core.progress import FitProgress
from ..linear.problem import LossConstants
from .linear_fit import LinearFit
from .path import checked_values
from .training_set import training_set


def fit_path(estimator: Any, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Any]:
    """Return fitted copies of a linear machine, one for each of ``Cs``."""
    values, name = checked_values(estimator, Cs), type(estimator).__name__
    models = [clone(estimator).set_params(C=C) for C in values.tolist()]
    first = models[0]
    first._check_parameters()
    X, y = first._checked_training_data(X, y)
    training = training_set(X, y, sample_weight, pairwise=False, estimator=name)
    seed, columns = first._seed(), dict(vars(first))
    training, validation = first._validation(training, X, None, None, seed)
    inputs = replace(first._inputs(training), validation=validation)
    neighbour = None
    for k in np.argsort(values, kind="stable"):
        model = models[k]
        for attribute in ("n_features_in_", "feature_names_in_"):  # what the checked data told
            if attribute in columns:
                setattr(model, attribute, columns[attribute])
        if model.verbose:
            print(f"[{name}] C={model.C:g}")
        constants = LossConstants.of(model._loss(), model.C)
        with FitProgress(f"{name}, C={model.C:g}", model.tol) as progress:
            fit = LinearFit(replace(inputs, constants=constants), model._settings(seed, progress))
            fit.neighbour, fit.keep_duals = neighbour, True
            model._run(fit, training.classes)
        fit.neighbour = None  # its arrays are no longer needed
        neighbour = fit
    return models
