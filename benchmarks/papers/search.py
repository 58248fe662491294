"""A small grid search on training rows, the same for every method of a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

C_GRID = (1.0, 8.0, 64.0)
GAMMA_GRID = (2.0**-5, 2.0**-3, 0.5, 2.0, 8.0, 32.0)
FIT_ROWS, HOLD_OUT_ROWS = 4_000, 8_000


def choose(
    make: Callable[..., Any],
    X: Any,
    y: np.ndarray,
    C_grid: Sequence[float] = C_GRID,
    gamma_grid: Sequence[float] = GAMMA_GRID,
) -> dict[str, Any]:
    """Return the smallest C within one standard error of the best, with the best gamma for it."""
    return choose_from(make, X, y, {"C": C_grid, "gamma": gamma_grid})


def choose_from(
    make: Callable[..., Any],
    X: Any,
    y: np.ndarray,
    grid: Mapping[str, Sequence[float]],
    standard_errors: float = 1.0,
    rows: tuple[int, int] = (FIT_ROWS, HOLD_OUT_ROWS),
) -> dict[str, Any]:
    """Return the smallest C that is near enough to the best, with the best other values for it.

    Parameters
    ----------
    make : callable
        Makes a classifier from one value for each name of the grid.
    X, y : arrays
        Training rows.
    grid : mapping of str to sequence
        Values to try, ``C`` among them.
    standard_errors : float
        Distance from the best score that is near enough, in standard errors of the best score.
    rows : pair of int
        How many rows are fitted at most (and at most 70 % of all), and how many others are scored.
    """
    order = np.random.default_rng(0).permutation(len(y))
    cut = min(rows[0], int(0.7 * len(y)))
    fit, hold_out = order[:cut], order[cut : cut + rows[1]]
    tried: list[dict[str, float]] = []
    for values in product(*(sorted(each) for each in grid.values())):
        settings = dict(zip(grid, values, strict=True))
        model = make(**settings).fit(X[fit], y[fit])
        accuracy = float(np.mean(model.predict(X[hold_out]) == y[hold_out]))
        tried.append({**settings, "accuracy": accuracy})
    best = max(each["accuracy"] for each in tried)
    error = (best * (1.0 - best) / len(hold_out)) ** 0.5
    near = [each for each in tried if each["accuracy"] >= best - standard_errors * error]
    smallest = min(each["C"] for each in near)
    fitting = (each for each in near if each["C"] == smallest)
    chosen = max(fitting, key=lambda each: each["accuracy"])  # of equals the smallest values
    return {**chosen, "fit_rows": len(fit), "hold_out_rows": len(hold_out), "tried": tried}
