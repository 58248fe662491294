"""The grid of a search, its results, and the choice among them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ..core.arrays import Array
from ..kernel.kernels import resolve_gamma
from .path import positive_values

# Ends of the values of C that a number of them stands for.
SMALLEST_C, LARGEST_C = 1e-2, 1e3
# Values of gamma, and the ratio of neighbouring ones, around "scale".
GAMMAS, GAMMA_RATIO = 5, 4.0
# Kernels that have a width.
WITH_GAMMA = ("rbf", "laplacian", "poly", "sigmoid")
# Scores closer than this differ by the rounding of their means only.
SAME_SCORE = 1e-12


def values_of_C(Cs: Any) -> Array:
    """Return the values of C to try, ascending."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool):
        if int(Cs) < 1:
            raise ValueError(f"`Cs` must be at least one value; got {Cs!r}.")
        return np.geomspace(SMALLEST_C, LARGEST_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    return np.unique(positive_values(Cs, "Cs"))


def values_of_gamma(gammas: Any, kernel: Any, X: Any, weights: Array) -> Array | None:
    """Return the values of gamma to try, ascending; None for a kernel that has no gamma."""
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
        return np.asarray(resolve_gamma("scale", X, weights) * GAMMA_RATIO**powers)
    if not isinstance(gammas, str) and np.ndim(gammas) == 1:
        named = [g for g in gammas if isinstance(g, str) and g in ("scale", "auto")]
        if named:
            gammas = [
                resolve_gamma(g, X, weights) if isinstance(g, str) and g in named else g
                for g in gammas
            ]
    return np.unique(positive_values(gammas, "gammas"))


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
    """Return the row to take: the best mean score; of several the smallest C, then the first."""
    mean: NDArray[np.float64] = table["mean_test_score"]
    best = np.flatnonzero(mean >= np.nanmax(mean) - SAME_SCORE)
    return int(min(best, key=lambda k: (table["param_C"][k], k)))
