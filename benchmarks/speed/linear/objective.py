r"""The one formula that everybody is valued by, in float64.

.. math:: P(w) = \tfrac12 \lVert w \rVert^2 + C \sum_i ℓ(y_i w^\top x_i),

where every row has a last feature 1: the intercept is penalised, as all contestants are made to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.speed.exact.scoring import loss_of


def objective(w: np.ndarray, X: Any, y: np.ndarray, loss: str, C: float) -> float:
    """Value weights, of which the last is the intercept."""
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (X.shape[1] + 1,):
        raise ValueError(f"`w` must have {X.shape[1] + 1} entries; got shape {w.shape}.")
    margins = y * (X.astype(np.float64) @ w[:-1] + w[-1])
    return 0.5 * float(w @ w) + float(loss_of(loss, C).primal(margins).sum())
