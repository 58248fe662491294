"""The grid of a search, the table of its results, and the choice of the best."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ..core.arrays import Array
from ..core.training_set import TrainingSet
from ..kernel.kernels import resolve_gamma
from .path import positive_values

# Range of the values of C that an integer stands for.
SMALLEST_C, LARGEST_C = 1e-2, 1e3
# Values of gamma, and the ratio of neighbouring ones, around "scale".
GAMMAS, GAMMA_RATIO = 5, 4.0
# Kernels that have a width.
WITH_GAMMA = ("rbf", "laplacian", "poly", "sigmoid")
# Scores that differ by less than this differ by the rounding of their means only.
SAME_SCORE = 1e-12


def values_of_C(Cs: Any, search: Any, training: TrainingSet) -> Array:
    """Return the values of C to try, ascending."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool):
        if int(Cs) < 1:
            raise ValueError(f"`Cs` must be at least one value; got {Cs!r}.")
        return np.geomspace(SMALLEST_C, LARGEST_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    return np.unique(positive_values(Cs, "Cs"))


def values_of_gamma(gammas: Any, search: Any, training: TrainingSet) -> list[float] | None:
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


def values_of_upsilon(upsilons: Any, search: Any, training: TrainingSet) -> list[float]:
    """Return the values of υ to try, ascending."""
    return _values_within(upsilons, "upsilons", "(0, 1]")


def values_of_theta(thetas: Any, search: Any, training: TrainingSet) -> list[float]:
    """Return the values of θ to try, ascending."""
    return _values_within(thetas, "thetas", "[0, 1)")


def _values_within(given: Any, name: str, interval: str) -> list[float]:
    try:
        values = np.unique(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    above = values > 0 if interval.startswith("(") else values >= 0
    below = values <= 1 if interval.endswith("]") else values < 1
    if np.ndim(given) > 1 or values.size == 0 or not np.all(above & below):
        raise ValueError(f"`{name}` must be one or more numbers in {interval}; got {given!r}.")
    return [float(value) for value in values]


# By parameter of a search: the parameter of the classifier that it holds values of, and the
# function that returns these for a search and its training set.
AXES: dict[str, tuple[str, Callable[[Any, Any, TrainingSet], Any]]] = {
    "Cs": ("C", values_of_C),
    "gammas": ("gamma", values_of_gamma),
    "upsilons": ("upsilon", values_of_upsilon),
    "thetas": ("theta", values_of_theta),
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
