r"""Objectives of weights, and lower bounds from multipliers, in float64.

.. math:: P(W) = \tfrac12 \sum_c \lVert w_c \rVert^2 + C \sum_i \ell(x_i, y_i; W)
          \ge D(\alpha) = \sum \alpha_{ic} - \tfrac12 \sum_c \lVert w_c(\alpha) \rVert^2

The losses are those of :mod:`widemargin.multiclass.problem`, computed here independently. Every row
has a last feature of a constant value, where that is not zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .machines import scores_of

# The sum of weights that counts as zero, relative to the largest of them.
SUM_TO_ZERO = 1e-9


def primal(
    weights: Any, X: Any, codes: np.ndarray, formulation: str, C: float, constant: float = 1.0
) -> float:
    """Value weights of shape (classes, features), or one more with a constant."""
    expected = X.shape[1] + (constant != 0)
    if weights.shape[1] != expected:
        raise ValueError(f"`weights` must have {expected} columns; got shape {weights.shape}.")
    if formulation == "llw":
        total = np.abs(weights.sum(axis=0)).max()
        if total > SUM_TO_ZERO * abs(weights).max() * weights.shape[0]:
            raise ValueError(f"`weights` of 'llw' must sum to zero; got a sum of {total:g}.")
    loss = 0.0
    for rows, scores in scores_of(weights, X, constant):
        loss += _loss(scores, codes[rows], formulation)
    return _half_norm(weights) + C * loss


def _loss(scores: np.ndarray, codes: np.ndarray, formulation: str) -> float:
    every = np.arange(len(codes))
    own = scores[every, codes]
    if formulation in ("ww", "cs"):
        scores = scores - own[:, None]
    wrong = np.maximum(1.0 + scores, 0.0)
    wrong[every, codes] = np.maximum(1.0 - own, 0.0) if formulation == "ovr" else 0.0
    return float(wrong.max(axis=1).sum() if formulation == "cs" else wrong.sum())


def dual(
    multipliers: Any, X: Any, codes: np.ndarray, formulation: str, C: float, constant: float = 1.0
) -> float:
    """Return a lower bound of the objective from multipliers, cut to their bounds first."""
    alpha = sp.csr_array(multipliers, dtype=np.float64)
    alpha.data = np.clip(alpha.data, 0.0, C)
    if formulation == "cs":
        total = np.asarray(alpha.sum(axis=1)).ravel()
        share = np.minimum(1.0, C / np.maximum(total, np.finfo(np.float64).tiny))
        alpha = sp.csr_array(sp.diags_array(share) @ alpha)
    every = np.arange(len(codes))
    sign = sp.csr_array((np.ones(len(codes)), (every, codes)), shape=alpha.shape)
    if formulation in ("ww", "cs"):
        coefficient = sp.diags_array(np.asarray(alpha.sum(axis=1)).ravel()) @ sign - alpha
    elif formulation == "ovr":
        coefficient = 2.0 * alpha.multiply(sign) - alpha
    else:
        coefficient = -alpha
    turned = sp.csr_array(coefficient.T)
    weights = turned @ X.astype(np.float64)
    half = _half_norm(weights)
    if constant:
        last = constant * np.asarray(turned.sum(axis=1)).ravel()
        half += 0.5 * float(last @ last)
    if formulation == "llw":  # centred: less the norm of the mean
        mean = np.asarray(weights.sum(axis=0)).ravel() / weights.shape[0]
        half -= 0.5 * weights.shape[0] * float(mean @ mean)
        if constant:
            half -= 0.5 * weights.shape[0] * float(last.mean() ** 2)
    return float(alpha.sum()) - half


def _half_norm(weights: Any) -> float:
    values = weights.data if sp.issparse(weights) else np.ravel(weights)
    return 0.5 * float(values @ values)
