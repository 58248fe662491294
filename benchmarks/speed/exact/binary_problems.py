"""The binary problems that a fitted classifier solved, with its coefficients on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class BinaryProblem:
    """One binary problem and the model of it.

    Attributes
    ----------
    rows : array of int
        Training rows that take part.
    label, coef : arrays of shape (len(rows),)
        Label ±1; label times net dual.
    free_intercept : float
        Intercept that nothing penalises; zero if there is none.
    has_free_intercept : bool
        Whether there is one.
    constant : float
        Added to the kernel: 1 where the intercept is penalised.
    """

    rows: np.ndarray
    label: np.ndarray
    coef: np.ndarray
    free_intercept: float = 0.0
    has_free_intercept: bool = False
    constant: float = 0.0


def problems_of(model: Any, y: np.ndarray) -> Iterator[BinaryProblem]:
    """Take a fitted SVC, or one of ours, apart."""
    classes, dual_coef = model.classes_, _dense(model.dual_coef_)
    everything = np.arange(len(y))
    ours = not hasattr(model, "shrinking")
    pairs = list(combinations(range(len(classes)), 2))
    for number in range(len(dual_coef) if ours else len(pairs)):
        if len(classes) == 2:
            rows, label, on_support = everything, _sign(y == classes[1]), dual_coef[0]
        elif ours and model.multi_class == "ovr":
            rows, label, on_support = everything, _sign(y == classes[number]), dual_coef[number]
        else:
            i, j = pairs[number]
            rows = np.flatnonzero((y == classes[i]) | (y == classes[j]))
            label = _sign(y[rows] == classes[i])
            on_support = (
                dual_coef[number] if ours else _of_pair(dual_coef, y[model.support_], classes, i, j)
            )
        coef = np.zeros(len(y))
        coef[model.support_] = on_support
        if ours:
            constant = 1.0 if model.fit_intercept else 0.0
            yield BinaryProblem(rows, label, coef[rows], constant=constant)
        else:
            intercept = float(np.ravel(model.intercept_)[number])
            yield BinaryProblem(rows, label, coef[rows], intercept, True)


def _of_pair(
    dual_coef: np.ndarray, support_label: np.ndarray, classes: np.ndarray, i: int, j: int
) -> np.ndarray:
    """Find a pair's coefficients in LIBSVM's layout.

    A support vector has one coefficient for every class but its own, in the order of the classes:
    that of pair (i, j), i < j, is in row j − 1 for vectors of class i and in row i for those of j.
    """
    first, second = support_label == classes[i], support_label == classes[j]
    return np.asarray(np.where(first, dual_coef[j - 1], np.where(second, dual_coef[i], 0.0)))


def _sign(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)
