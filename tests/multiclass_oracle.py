"""Outside opinions on multi-class problems: quadratic programmes for Clarabel, losses in NumPy.

Shares no line with the library. The primal is solved, with the weights of all classes one after the
other as the unknowns and one slack per loss:

    minimise ½Σ‖w_c‖² + Σ C·slack   subject to   slack ≥ 0,  1 − margin ≤ slack

and, for Lee, Lin and Wahba's formulation, Σ_c w_c = 0.
"""

from __future__ import annotations

import clarabel  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]


def losses(scores: Array, codes: npt.NDArray[np.int64], formulation: str) -> Array:
    """Return the loss of every row, given the scores of all classes."""
    rows = np.arange(len(codes))
    if formulation in ("ww", "cs"):
        short = np.maximum(0.0, 1.0 - scores[rows, codes][:, None] + scores)
        short[rows, codes] = 0.0
        return short.max(axis=1) if formulation == "cs" else short.sum(axis=1)
    short = np.maximum(0.0, 1.0 + scores)
    short[rows, codes] = np.maximum(0.0, 1.0 - scores[rows, codes]) * (formulation == "ovr")
    return np.asarray(short.sum(axis=1))


def objective(
    W: Array, X: Array, codes: npt.NDArray[np.int64], bound: Array, formulation: str
) -> float:
    """Return the primal objective at weights of the shape (classes, features)."""
    return float(0.5 * np.sum(W**2) + bound @ losses(X @ W.T, codes, formulation))


def optimum(
    X: Array, codes: npt.NDArray[np.int64], n_classes: int, bound: Array, formulation: str
) -> float:
    """Return the optimal objective, by Clarabel."""
    n, d = X.shape
    n_slacks = n if formulation == "cs" else n * n_classes
    rows, right = [], []
    for i in range(n):
        for c in range(n_classes):
            slack = i if formulation == "cs" else i * n_classes + c
            if c == codes[i] and formulation != "ovr":
                continue
            row = np.zeros((n_classes, d))  # margin = row · w
            if formulation in ("ww", "cs"):
                row[codes[i]] = X[i]
                row[c] = -X[i]
            else:
                row[c] = X[i] if c == codes[i] else -X[i]
            slacks = np.zeros(n_slacks)
            slacks[slack] = -1.0
            rows.append(np.concatenate([-row.ravel(), slacks]))  # −margin − slack ≤ −1
            right.append(-1.0)
    positive = np.hstack([np.zeros((n_slacks, n_classes * d)), -np.eye(n_slacks)])
    A = np.vstack([np.array(rows), positive])
    b = np.concatenate([right, np.zeros(n_slacks)])
    cones = [clarabel.NonnegativeConeT(len(b))]
    if formulation == "llw":
        total = np.hstack([np.tile(np.eye(d), n_classes), np.zeros((d, n_slacks))])
        A, b = np.vstack([total, A]), np.concatenate([np.zeros(d), b])
        cones = [clarabel.ZeroConeT(d), *cones]
    P = sparse.csc_matrix(np.diag(np.concatenate([np.ones(n_classes * d), np.zeros(n_slacks)])))
    cost = np.zeros(n_slacks)
    cost = bound if formulation == "cs" else np.repeat(bound, n_classes)
    q = np.concatenate([np.zeros(n_classes * d), cost])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), b, cones, settings).solve()
    assert "Solved" in str(solution.status)
    return float(solution.obj_val)
