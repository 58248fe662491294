r"""Weston and Watkins's problem solved another way, to check errors that differ from the print.

The hinge is rounded off over a width that falls step by step; L-BFGS minimises each smooth
objective from where the last one ended. It shares no code with the library and uses no dual.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

# Widths over which the hinge is rounded off, and iterations allowed for each.
WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
ITERATIONS = 1_000


def weston_watkins(
    X: Any, codes: np.ndarray, classes: int, C: float, max_time: float
) -> tuple[np.ndarray, float]:
    """Return weights of shape (classes, features) and their objective; the best that was found."""
    X = X.astype(np.float64)
    turned = sp.csr_matrix(X.T) if sp.issparse(X) else X.T
    every, features = np.arange(len(codes)), X.shape[1]
    began = time.perf_counter()

    def smooth(flat: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the rounded objective and its gradient; the hinge itself at width 0."""
        W = flat.reshape(features, classes)
        scores = np.asarray(X @ W)
        violation = np.maximum(1.0 + scores - scores[every, codes][:, None], 0.0)
        violation[every, codes] = 0.0
        if width > 0:
            inside = np.minimum(violation, width)
            loss = float(np.sum(inside * (violation - 0.5 * inside))) / width
            slope = inside / width
        else:
            loss, slope = float(violation.sum()), (violation > 0).astype(np.float64)
        slope[every, codes] = -slope.sum(axis=1)
        gradient = W + C * np.asarray(turned @ slope)
        return 0.5 * float(flat @ flat) + C * loss, gradient.ravel()

    flat = np.zeros(features * classes)
    best, lowest = flat, smooth(flat, 0.0)[0]
    options = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS, "maxcor": 30, "ftol": 1e-12}
    for width in WIDTHS:
        found = minimize(smooth, flat, (width,), "L-BFGS-B", jac=True, options=options)
        flat = np.asarray(found.x)
        value = smooth(flat, 0.0)[0]
        if value < lowest:
            best, lowest = flat, value
        if time.perf_counter() - began > max_time:
            break
    return np.ascontiguousarray(best.reshape(features, classes).T), lowest
