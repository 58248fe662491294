"""Fits for several values of C, each from the solution of its neighbour.

The dual of a larger ``C`` is searched from the best multiple of the last solution: along that ray
lie the last duals as they are and the last duals grown with ``C``, which is where those at their
bound go. Its margins are multiples too, so that a start costs no kernel value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..core.arrays import Array
from ..core.progress import FitProgress
from ..core.training_set import training_set
from ..kernel.divide.driver import EXACT_ROWS
from ..kernel.problem import Duals


def fit_path(estimator: Any, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Any]:
    """Return fitted copies of a kernel machine, one for each of ``Cs``."""
    values, name = checked_values(estimator, Cs), type(estimator).__name__
    models = [clone(estimator).set_params(C=C) for C in values.tolist()]
    first = models[0]
    first._check_parameters()
    X, y = first._checked_training_data(X, y)
    training = training_set(X, y, sample_weight, pairwise=first._pairwise, estimator=name)
    refuse_division(estimator, len(training.codes))
    seed, columns = first._seed(), dict(vars(first))
    kernel, rows = first._kernel_and_rows(training.X, training.weights)
    neighbours: list[Duals] | None = None
    for k in np.argsort(values, kind="stable"):
        model = models[k]
        for attribute in ("n_features_in_", "feature_names_in_"):  # which validation has set
            if attribute in columns:
                setattr(model, attribute, columns[attribute])
        if model.verbose:
            print(f"[{name}] C={model.C:g}")
        problems = model._pose(training, kernel, rows)
        with FitProgress(f"{name}, C={model.C:g}", model.tol) as progress:
            fit = model._fit_exactly(training, problems, seed, progress, neighbours)
        neighbours = [each.iterate for each in fit.solved]
    return models


def checked_values(estimator: Any, Cs: ArrayLike) -> Array:
    """Return values of ``C`` as an array, if a path over them makes sense."""
    if getattr(estimator, "lam", None) is not None:
        raise ValueError(
            f"A path is over C, which `lam` replaces; got lam={estimator.lam!r}. Set lam=None."
        )
    return positive_values(Cs, "Cs")


def positive_values(values: Any, name: str) -> Array:
    """Return numbers as an array, if all are positive and finite."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array([np.nan])
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(
            f"`{name}` must be a list of one or more positive finite numbers; got {values!r}."
        )
    return array


def refuse_division(estimator: Any, n_rows: int) -> None:
    """Raise ValueError if the strategy divides so many rows."""
    if estimator.strategy == "exact" or (estimator.strategy == "auto" and n_rows <= EXACT_ROWS):
        return
    raise ValueError(
        "Neighbouring values of C start from each other's exact solutions, but "
        f"strategy={estimator.strategy!r} divides these {n_rows} rows. Set strategy='exact', or "
        "pass fewer rows."
    )
