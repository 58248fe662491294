"""The grid of a search, its folds, the table of its results, and the choice of the best."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.utils._param_validation import Interval

from ..core.arrays import Array
from ..core.losses import NO_WEIGHT
from ..core.regression_set import RegressionSet
from ..core.training_set import TrainingSet
from ..kernel.kernels import resolve_gamma
from .path import positive_values

# Range of the values of C that an integer stands for.
SMALLEST_C, LARGEST_C = 1e-2, 1e3
# Number of values of gamma around "scale".
GAMMAS = 5
# Ratio of neighbouring values of gamma.
GAMMA_RATIO = 4.0
# Kernels that have a width.
WITH_GAMMA = ("rbf", "laplacian", "poly", "sigmoid")
# Scores that differ by less than this differ by the rounding of their means only.
SAME_SCORE = 1e-12
Scorer = Callable[[Any, Any, Any], float]
AnySet = TrainingSet | RegressionSet


def values_of_C(Cs: Any, search: Any, training: AnySet) -> Array:
    """Return the values of C to try, ascending."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool):
        if int(Cs) < 1:
            raise ValueError(f"`Cs` must be at least one value; got {Cs!r}.")
        return np.geomspace(SMALLEST_C, LARGEST_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    return np.unique(positive_values(Cs, "Cs"))


def values_of_gamma(gammas: Any, search: Any, training: AnySet) -> list[float] | None:
    """Return the values of gamma to try, ascending; None for a kernel that has no gamma."""
    kernel, data = search.kernel, (training.X, training.weights)
    if not (isinstance(kernel, str) and kernel in WITH_GAMMA):
        if gammas is not None:
            name = kernel if isinstance(kernel, str) else "a function"
            raise ValueError(
                f"`gammas` must be None where the kernel has no gamma (kernel={name!r}); got "
                f"{gammas!r}."
            )
        return None
    gammas = GAMMAS if gammas is None else gammas
    if isinstance(gammas, Integral) and not isinstance(gammas, bool):
        if int(gammas) < 1:
            raise ValueError(f"`gammas` must be at least one value; got {gammas!r}.")
        powers = np.arange(int(gammas)) - (int(gammas) - 1) / 2
        return [float(resolve_gamma("scale", *data) * ratio) for ratio in GAMMA_RATIO**powers]
    if not isinstance(gammas, str) and np.ndim(gammas) == 1:
        named = [isinstance(g, str) and g in ("scale", "auto") for g in gammas]
        if any(named):
            gammas = [
                resolve_gamma(g, *data) if is_name else g
                for g, is_name in zip(gammas, named, strict=True)
            ]
    return [float(gamma) for gamma in np.unique(positive_values(gammas, "gammas"))]


def values_within(name: str, given: Any, search: Any, training: AnySet) -> list[float]:
    """Return the values to try, ascending, of a parameter that is a number in an interval."""
    interval = search._searched._parameter_constraints[name][0]
    try:
        values = np.unique(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if np.ndim(given) > 1 or values.size == 0 or not all(v in interval for v in values.tolist()):
        raise ValueError(
            f"`{name}s` must be one or more numbers in {_shown(interval)}; got {given!r}."
        )
    return [float(value) for value in values]


def _shown(interval: Interval) -> str:
    left = "[" if interval.closed in ("left", "both") else "("
    right = "]" if interval.closed in ("right", "both") else ")"
    end = "∞" if interval.right is None else f"{interval.right:g}"
    return f"{left}{interval.left:g}, {end}{right}"


# By parameter of a search: the parameter of the estimator that it holds values of, and the
# function that returns these for a search and its training set.
AXES: dict[str, tuple[str, Callable[[Any, Any, AnySet], Any]]] = {
    "Cs": ("C", values_of_C),
    "gammas": ("gamma", values_of_gamma),
    "upsilons": ("upsilon", partial(values_within, "upsilon")),
    "thetas": ("theta", partial(values_within, "theta")),
    "epsilons": ("epsilon", partial(values_within, "epsilon")),
}


def results_table(
    Cs: Array,
    settings: list[dict[str, float]],
    scores: Array,
    fit_seconds: Array,
    score_seconds: Array,
) -> dict[str, Any]:
    """Return scores and times in the form of :class:`sklearn.model_selection.GridSearchCV`.

    All arrays are of shape (n_settings, n_Cs, n_folds); a row of the table is one setting with one
    value of C.
    """
    n_folds = scores.shape[-1]
    params = [{"C": C, **each} for each in settings for C in Cs.tolist()]
    table: dict[str, Any] = {}
    for name, seconds in (("fit", fit_seconds), ("score", score_seconds)):
        per_pair = seconds.reshape(-1, n_folds)
        table[f"mean_{name}_time"] = per_pair.mean(axis=1)
        table[f"std_{name}_time"] = per_pair.std(axis=1)
    for name in params[0]:
        table[f"param_{name}"] = np.array([each[name] for each in params])
    table["params"] = params
    by_fold = scores.reshape(-1, n_folds)
    for k in range(n_folds):
        table[f"split{k}_test_score"] = by_fold[:, k].copy()
    mean = by_fold.mean(axis=1)
    table["mean_test_score"] = mean
    table["std_test_score"] = by_fold.std(axis=1)
    table["rank_test_score"] = rankdata(
        -np.round(mean / SAME_SCORE) * SAME_SCORE, method="min"
    ).astype(np.int32)
    return table


def best_row(table: dict[str, Any]) -> int:
    """Return the row of the best mean score; among equals the smallest C, then the first."""
    mean: NDArray[np.float64] = table["mean_test_score"]
    best = np.flatnonzero(mean >= np.nanmax(mean) - SAME_SCORE)
    return int(min(best, key=lambda k: (table["param_C"][k], k)))


@dataclass(frozen=True)
class Folds:
    """Checked data and their splits."""

    # Rows as given, and their labels or targets.
    X: Any
    y: NDArray[Any]
    weight: Array  # (n_rows,): sample weights
    # Training and test rows of every fold.
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    pairwise: bool  # whether X is a matrix of kernel values
    scorer: Scorer | None  # ``scorer(model, X, y)``; None is that of the model, weighted

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

    def check(self, search: Any) -> None:
        """Raise ValueError if a fold cannot be trained on or scored."""
        name, classifies = type(search).__name__, is_classifier(search)
        for k, (train, test) in enumerate(self.splits):
            trained = self.trained(k)
            if classifies and len(np.unique(self.y[trained])) < 2:
                raise ValueError(
                    f"{name} needs rows of at least two classes in the training part of every "
                    f"fold; fold {k} has {len(train)} training rows of fewer than two. Use fewer "
                    "folds, or a stratified `cv`."
                )
            if len(trained) == 0:
                raise ValueError(
                    f"{name} needs training rows of positive weight in every fold; fold {k} has "
                    "none. Use fewer folds."
                )
            if len(test) == 0 or not self.weight[test].any():
                raise ValueError(
                    f"{name} needs test rows of positive weight in every fold; fold {k} has "
                    "none. Use fewer folds."
                )


def needs_probabilities(scorer: Scorer | None) -> bool:
    """Return whether a scorer asks a model for probabilities, or may do so."""
    if scorer is None:
        return False
    methods = getattr(scorer, "_response_method", "predict_proba")  # unknown of a user's function
    return "predict_proba" in methods and "decision_function" not in methods


@dataclass(frozen=True)
class FoldScores:
    """Scores and times in seconds, each of shape (n_Cs, n_folds)."""

    score: Array
    fit_seconds: Array
    score_seconds: Array


def scores_by_paths(machine: Any, Cs: Array, folds: Folds) -> FoldScores:
    """Fit a path of C on every fold and score its models."""
    shape = (len(Cs), len(folds.splits))
    result = FoldScores(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    for fold, (train, _) in enumerate(folds.splits):
        began = time.perf_counter()
        models = machine.fit_path(folds.rows(train, train), folds.y[train], Cs, folds.weight[train])
        result.fit_seconds[:, fold] = (time.perf_counter() - began) / len(Cs)
        for c, model in enumerate(models):
            began = time.perf_counter()
            result.score[c, fold] = folds.score(model, fold)
            result.score_seconds[c, fold] = time.perf_counter() - began
    return result
