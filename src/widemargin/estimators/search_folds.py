"""Folds of a cross-validation, and the scores of a path of C on each of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.losses import NO_WEIGHT

Scorer = Callable[[Any, Any, Any], float]


@dataclass(frozen=True)
class Folds:
    """Checked data and their splits.

    Attributes
    ----------
    X, y : array or CSR matrix, array
        Rows as given, and their labels.
    weight : array of shape (n_rows,)
        Sample weights.
    splits : list of (array, array)
        Training and test rows of every fold.
    pairwise : bool
        Whether X is a matrix of kernel values.
    scorer : callable or None
        ``scorer(model, X, y)``; None is the weighted accuracy.
    """

    X: Any
    y: NDArray[Any]
    weight: Array
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    pairwise: bool
    scorer: Scorer | None

    def rows(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Any:
        """Return rows of X; of a kernel matrix, only the given columns of them."""
        return self.X[np.ix_(rows, columns)] if self.pairwise else self.X[rows]

    def trained(self, fold: int) -> NDArray[np.int64]:
        """Return the training rows of positive weight."""
        train = self.splits[fold][0]
        return train[self.weight[train] > NO_WEIGHT]

    def score(self, model: Any, fold: int) -> float:
        """Score a model on the test rows of a fold."""
        train, test = self.splits[fold]
        X, y = self.rows(test, train), self.y[test]
        if self.scorer is not None:
            return float(self.scorer(model, X, y))
        weight = self.weight[test]
        return float(model.score(X, y, sample_weight=weight)) if weight.any() else np.nan

    def check(self, estimator: str) -> None:
        """Raise ValueError if a fold cannot be trained on or scored."""
        for k, (train, test) in enumerate(self.splits):
            trained = self.trained(k)
            if len(np.unique(self.y[trained])) < 2:
                raise ValueError(
                    f"{estimator} needs rows of at least two classes in the training part of every "
                    f"fold; fold {k} has {len(train)} training rows of fewer than two. Use fewer "
                    "folds, or a stratified `cv`."
                )
            if len(test) == 0 or not self.weight[test].any():
                raise ValueError(
                    f"{estimator} needs test rows of positive weight in every fold; fold {k} has "
                    "none. Use fewer folds."
                )


@dataclass(frozen=True)
class FoldScores:
    """Scores and times in seconds, each of shape (n_Cs, n_folds)."""

    score: Array
    fit_seconds: Array
    score_seconds: Array


def scores_by_paths(classifier: Any, Cs: Array, folds: Folds) -> FoldScores:
    """Fit a path of C on every fold and score its models."""
    shape = (len(Cs), len(folds.splits))
    result = FoldScores(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for fold, (train, _) in enumerate(folds.splits):
        began = time.perf_counter()
        models = classifier.fit_path(
            folds.rows(train, train), folds.y[train], Cs, folds.weight[train]
        )
        result.fit_seconds[:, fold] = (time.perf_counter() - began) / len(Cs)
        for c, model in enumerate(models):
            began = time.perf_counter()
            result.score[c, fold] = folds.score(model, fold)
            result.score_seconds[c, fold] = time.perf_counter() - began
    return result
