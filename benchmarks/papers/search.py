"""One small search of C and gamma on training rows, the same for every method of a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

C_GRID = (1.0, 8.0, 64.0)
GAMMA_GRID = (2.0**-5, 2.0**-3, 0.5, 2.0, 8.0, 32.0)
FIT_ROWS, HOLD_OUT_ROWS = 4_000, 8_000


def choose(
    make: Callable[[float, float], Any],
    X: Any,
    y: np.ndarray,
    C_grid: Sequence[float] = C_GRID,
    gamma_grid: Sequence[float] = GAMMA_GRID,
) -> dict[str, Any]:
    """Return the smallest C within one standard error of the best, with the best gamma for it.

    Each pair is fitted on at most 4,000 of the rows (at most 70 % of them) and scored on at most
    8,000 others; the standard error is that of the best score on so many rows.
    """
    order = np.random.default_rng(0).permutation(len(y))
    cut = min(FIT_ROWS, int(0.7 * len(y)))
    fit, hold_out = order[:cut], order[cut : cut + HOLD_OUT_ROWS]
    tried: list[dict[str, float]] = []
    for C in sorted(C_grid):
        for gamma in sorted(gamma_grid):
            model = make(C, gamma).fit(X[fit], y[fit])
            accuracy = float(np.mean(model.predict(X[hold_out]) == y[hold_out]))
            tried.append({"C": C, "gamma": gamma, "accuracy": accuracy})
    best = max(each["accuracy"] for each in tried)
    error = (best * (1.0 - best) / len(hold_out)) ** 0.5
    smallest = min(each["C"] for each in tried if each["accuracy"] >= best - error)
    fitting = (each for each in tried if each["C"] == smallest)
    chosen = max(fitting, key=lambda each: each["accuracy"])  # of equals the smallest gamma
    return {**chosen, "fit_rows": len(fit), "hold_out_rows": len(hold_out), "tried": tried}
