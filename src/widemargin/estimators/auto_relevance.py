r"""Weights of features: how much the decisions of a kernel classifier change along each of them.

A kernel measures distances, in which a feature that says nothing counts as much as one that says
everything. Trees ignore such features; a kernel on weighted features can, too. The weight of
feature j is the root mean square of the derivative of the decisions,

.. math:: w_j^2 \propto \sum_k \operatorname{mean}_x (\partial f_k / \partial x_j)^2,

times its weight before, found anew a few times with the features so weighted: the recursive feature
machine of Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural
networks and backpropagation-free machine learning models", Science 383 (2024), with these
departures:

1. Only the diagonal of their matrix: one weight per feature, so that features keep their meaning.
2. The classifier is an SVM with the RBF kernel and fixed parameters.
3. Of many rows, the first ones are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array
from ..kernel.kernels import resolve_gamma
from .kernel import SVMClassifier

# C of the classifier.
RELEVANCE_C = 1.0
# Training rows at most, and of these how many to differentiate at.
MOST_ROWS, MOST_POINTS = 2_000, 500
# With more features, or with fewer rows, all have the same weight.
MOST_FEATURES, FEWEST_ROWS = 1_000, 200


def has_relevance(X: Any) -> bool:
    """Return whether weights can be found for these rows."""
    return bool(2 <= X.shape[1] <= MOST_FEATURES and X.shape[0] >= FEWEST_ROWS)


def weighted(X: Any, features: Array | None) -> Any:
    """Return rows with their features weighted; None leaves them as they are."""
    if features is None:
        return X
    factors = features.astype(X.dtype)
    return (X @ sp.diags_array(factors)).tocsr() if sp.issparse(X) else X * factors


def relevance(
    X: Any,
    y: Any,
    weight: Array,
    settings: dict[str, Any],
    rounds: int,
    start: Array | None = None,
) -> Array:
    """Return the weights of the features, whose mean square is one.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Training rows, in an order whose beginning stands for all.
    y, weight : array of shape (n_rows,)
        Their labels and sample weights.
    settings : dict
        Parameters of the classifier: class weights, seed, threads, memory.
    rounds : int
        Times that weights are found anew.
    start : array of shape (n_features,), optional
        Weights after earlier rounds, to go on from.
    """
    X, y, weight = X[:MOST_ROWS], y[:MOST_ROWS], weight[:MOST_ROWS]
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    found = np.ones(X.shape[1]) if start is None else start
    for _ in range(rounds):
        scaled = X * found
        gamma = resolve_gamma("scale", scaled, weight)
        model = SVMClassifier(
            gamma=gamma, C=RELEVANCE_C, multi_class="ovr", strategy="exact", tol=1e-2, **settings
        )
        model.fit(scaled, y, weight)
        points = slice(MOST_POINTS)
        energy = _squared_derivatives(model, scaled[points], weight[points])
        if not energy.sum() > 0:
            return found
        found = found * np.sqrt(energy)
        found /= np.sqrt(np.mean(found**2))
    return found


def _squared_derivatives(model: Any, points: Array, weight: Array) -> Array:
    """Return the mean square of the derivative along each feature, up to a constant."""
    vectors = np.asarray(model.support_vectors_)
    squares = (points**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1) - 2 * points @ vectors.T
    kernel = np.exp(-model.gamma_ * np.maximum(squares, 0.0))
    share = weight / weight.sum()
    energy = np.zeros(points.shape[1])
    for coef in model.dual_coef_:
        pull = kernel * coef
        slope = points * pull.sum(axis=1)[:, None] - pull @ vectors
        energy += share @ slope**2
    return energy
