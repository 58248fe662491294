r"""Weston and Watkins's problem solved another way, to check errors that differ from the print.

Ascent in the dual, all multipliers of a row at once, in NumPy. It shares no code with the library,
and bounds its own distance from the optimum: the optimum lies between its two objectives.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

TOL = 1e-3
EPOCHS = 10_000
# After an epoch over all rows, so many over those that it moved; then both objectives.
AGAIN = 7


class Solution(NamedTuple):
    """Weights of shape (classes, features), and the objectives that the optimum lies between."""

    weights: np.ndarray
    primal: float
    dual: float


def weston_watkins(
    X: Any, codes: np.ndarray, classes: int, C: float, max_time: float, tol: float = TOL
) -> Solution:
    """Solve the problem until the objectives are within ``tol`` of each other, or time is up."""
    rows = sp.csr_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, np.float64)
    square = np.ravel(rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else (rows**2).sum(1))
    W, multipliers = np.zeros((rows.shape[1], classes)), np.zeros((len(codes), classes))
    best, bound = W, -np.inf
    lowest = objective(rows, codes, W, C)
    rng, began = np.random.default_rng(0), time.perf_counter()
    for _ in range(EPOCHS):
        visited = np.flatnonzero(square)
        for _ in range(1 + AGAIN):
            moved = np.zeros(len(codes), dtype=bool)
            for row in rng.permutation(visited):
                which, x = _stored(rows, row)
                label, size = int(codes[row]), float(square[row])
                moved[row] = improve(W, multipliers[row], which, x, label, size, C)
            visited = np.flatnonzero(moved)
        late = time.perf_counter() - began > max_time
        bound = max(bound, float(multipliers.sum() - 0.5 * np.sum(W * W)))
        value = objective(rows, codes, W, C)
        if value < lowest:
            best, lowest = W.copy(), value
        if late or lowest - bound <= tol * lowest:
            break
    return Solution(np.ascontiguousarray(best.T), lowest, bound)


def improve(
    W: np.ndarray, own: np.ndarray, which: Any, x: np.ndarray, code: int, square: float, C: float
) -> bool:
    r"""Solve the dual for the multipliers of one row, in place; tell whether they changed.

    Without the row, scores are s; with S the sum of its multipliers, the optimum is
    :math:`a_c = \min(C, \max(0, (1 + s_c - s_y) / \lVert x \rVert^2 - S))`. The difference of S and
    the sum of the right side is a line between the points where a multiplier meets a bound.
    """
    scores = x @ W[which] + square * own
    free = (1.0 + scores - (scores[code] - square * own.sum())) / square
    free[code] = -np.inf
    others = np.delete(free, code)
    points = np.concatenate([others, others - C, [0.0, len(others) * C]])
    points = np.unique(np.clip(points, 0.0, len(others) * C))
    excess = points - np.clip(others - points[:, None], 0.0, C).sum(axis=1)
    new = np.clip(free - np.interp(0.0, excess, points), 0.0, C)
    change = own - new
    if not change.any():
        return False
    change[code] = -change.sum()
    W[which] += np.multiply.outer(x, change)
    own[:] = new
    return True


def objective(X: Any, codes: np.ndarray, W: np.ndarray, C: float) -> float:
    """Return the primal objective of weights of shape (features, classes)."""
    scores, every = np.asarray(X @ W), np.arange(len(codes))
    violation = np.maximum(1.0 + scores - scores[every, codes][:, None], 0.0)
    violation[every, codes] = 0.0
    return float(0.5 * np.sum(W * W) + C * violation.sum())


def _stored(X: Any, row: int) -> tuple[Any, np.ndarray]:
    """Return where a row has values, and which."""
    if not sp.issparse(X):
        return slice(None), X[row]
    part = slice(X.indptr[row], X.indptr[row + 1])
    return X.indices[part], X.data[part]
