"""What the fitted attributes of a search must look like beside those of its model."""

from __future__ import annotations

from typing import Any

import numpy as np

from .demands import demand, is_integer
from .kernel_machine import check_kernel_machine, required


def check_search(estimator: Any) -> None:
    """Raise ValueError, saying why, if a search could not predict, or its results do not fit."""
    check_kernel_machine(estimator)
    Cs, gammas = required(estimator, "Cs_"), required(estimator, "gammas_")
    _check_values(Cs, "Cs_")
    if gammas is not None:
        _check_values(gammas, "gammas_")
    shape = (1 if gammas is None else gammas.size, Cs.size)
    scores = required(estimator, "scores_")
    right = isinstance(scores, np.ndarray) and scores.dtype == np.float64 and scores.ndim == 3
    demand(right and scores.shape[:2] == shape, "scores_", f"numbers of shape {shape} by folds")
    n_pairs = shape[0] * shape[1]
    results = required(estimator, "cv_results_")
    columns: list[Any] = list(results.values()) if isinstance(results, dict) else [None]
    listed = all(
        (isinstance(column, np.ndarray) and column.ndim == 1) or isinstance(column, list)
        for column in columns
    )
    equal = listed and {len(column) for column in columns} == {n_pairs}
    demand(equal, "cv_results_", f"a dictionary of arrays of {n_pairs} entries")
    index = required(estimator, "best_index_")
    demand(is_integer(index) and 0 <= index < n_pairs, "best_index_", "a row of `cv_results_`")
    for name in ("C_", "best_score_"):
        demand(isinstance(required(estimator, name), float), name, "a number")
    demand(estimator.C_ > 0, "C_", "positive")
    best = required(estimator, "best_params_")
    pair = isinstance(best, dict) and all(isinstance(value, float) for value in best.values())
    demand(pair and set(best) <= {"C", "gamma"} and "C" in best, "best_params_", "a pair")


def _check_values(values: Any, name: str) -> None:
    reals = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
    demand(reals and values.size > 0, name, "an array of numbers")
    demand(bool(np.all(np.isfinite(values) & (values > 0))), name, "positive and finite")
