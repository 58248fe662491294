"""Fits for several values of C, each from the solution of its neighbour."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..core.arrays import Array
from ..core.training_set import COLUMNS
from ..kernel.divide.driver import EXACT_ROWS


class FitsPaths:
    """An estimator that is fitted for several values of ``C`` at a time."""

    def fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any = None) -> list[Self]:
        """Train one model for each of several values of ``C``.

        Costs less than as many fits: the data are prepared once, and the problems are solved in
        ascending order of ``C``, each from the last solution. Every model is solved to ``tol`` as
        by :meth:`fit`. This estimator itself is left as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or their kernel matrix, as for :meth:`fit`.
        y : array-like of shape (n_samples,)
            Class labels, or targets.
        Cs : array-like of shape (n_values,)
            Values of ``C``, in any order.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies ``C`` row by row.

        Returns
        -------
        list of n_values estimators
            Fitted copies of this one, in the order of ``Cs``. ``max_time`` is for each of them.
        """
        return self._fit_path(X, y, Cs, sample_weight)

    @abstractmethod
    def _fit_path(self, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> list[Self]:
        """Train the models."""


@dataclass(frozen=True)
class Path:
    """Copies of an estimator, one for each value of ``C``, and the training set they share."""

    models: list[Any]  # in the order of the values given
    ascending: list[Any]  # the same in ascending order of ``C``
    X: Any  # the rows given, checked
    training: Any  # a TrainingSet or RegressionSet

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, Cs: ArrayLike, sample_weight: Any) -> Path:
        """Check parameters and data once for all values."""
        values = checked_values(estimator, Cs)
        models = [clone(estimator).set_params(C=C) for C in values.tolist()]
        first = models[0]
        first._check_parameters()
        X, training = first._training_set(X, y, sample_weight)
        columns = {each: vars(first)[each] for each in COLUMNS if each in vars(first)}
        for model in models:
            vars(model).update(columns)
        return cls(models, [models[k] for k in np.argsort(values, kind="stable")], X, training)

    def labelled(self) -> Iterator[tuple[str, Any]]:
        """Go through the models in ascending order, each with a label for messages."""
        for model in self.ascending:
            name = type(model).__name__
            if model.verbose:
                print(f"[{name}] C={model.C:g}")
            yield f"{name}, C={model.C:g}", model


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
