r"""Probabilities of classes, from decisions and their calibrators, in agreement with predictions.

========  ==========================================  =============================================
scheme    columns of decisions                        probabilities of the classes
========  ==========================================  =============================================
binary    one, positive for the second class          the calibrated one and its complement
rest      one per class, against all others           calibrated, then divided by their sum
margins   one score per class, learnt together        the same for a score minus the largest other
pairs     one per pair, positive for the first class  coupled, see :func:`coupled`
========  ==========================================  =============================================

The prediction is the label of the decisions, not of the probabilities. Where the two disagree,
which happens near a boundary, :func:`pooled` makes the predicted class the most probable one.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .arrays import Array
from .calibrators import Calibration, calibrated, fit_calibrators

SCHEMES = ("binary", "rest", "margins", "pairs")
# Probabilities of pairs stay this far from 0 and 1, where the coupling would be singular.
LEAST_OF_PAIR = 1e-7
# Numbers in the matrices that are coupled at a time.
COUPLED_AT_ONCE = 1 << 20


def fit_calibration(
    method: str,
    scheme: str,
    decisions: Array,
    codes: NDArray[np.int64],
    n_classes: int,
    weight: Array,
) -> Calibration:
    """Fit the calibrators of all columns.

    Parameters
    ----------
    method, scheme : str
        See above, and :mod:`.calibrators`.
    decisions : array of shape (n_rows, n_columns)
        Decisions on rows that were not trained on. Of pairs, entries in rows of other classes are
        not looked at.
    codes : array of int of shape (n_rows,)
        Class of every row.
    n_classes : int
        Number of classes.
    weight : array of shape (n_rows,)
        Weights of the rows.
    """
    if scheme == "binary":
        return fit_calibrators(method, scheme, decisions, codes[:, None] == 1, weight[:, None])
    # Every column keeps away from certainty, and their distances add up: on digits, Platt's own
    # row per column gives pairs a log loss of 0.136, this share of it 0.074.
    prior = 2.0 / n_classes
    if scheme == "pairs":
        return fit_calibrators(
            method, scheme, *_rows_of_pairs(decisions, codes, n_classes, weight), prior
        )
    columns = leads(decisions) if scheme == "margins" else decisions
    positive = codes[:, None] == np.arange(n_classes)
    return fit_calibrators(method, scheme, columns, positive, weight[:, None], prior)


def class_probabilities(
    calibration: Calibration, decisions: Array, predicted: NDArray[np.intp], n_classes: int
) -> Array:
    """Return the probabilities of all classes, (n_rows, n_classes), in agreement with predictions.

    Parameters
    ----------
    calibration : dict
        What :func:`fit_calibration` returned.
    decisions : array of shape (n_rows, n_columns)
        Decisions.
    predicted : array of int of shape (n_rows,)
        Classes that the decisions predict.
    n_classes : int
        Number of classes.
    """
    scheme = calibration["scheme"]
    columns = leads(decisions) if scheme == "margins" else decisions
    found = calibrated(calibration, columns)
    if scheme == "binary":
        found = np.hstack([1.0 - found, found])
    elif scheme == "pairs":
        found = coupled(found, n_classes)
    else:
        total = found.sum(axis=1, keepdims=True)
        found = np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / n_classes)
    return pooled(found, predicted)


def leads(scores: Array) -> Array:
    """Return each class's score minus the largest of the others."""
    first = scores.argmax(axis=1)
    rows = np.arange(len(scores))
    best = scores[rows, first]
    others = scores.copy()
    others[rows, first] = -np.inf
    lead = scores - best[:, None]
    lead[rows, first] = best - others.max(axis=1)
    return np.asarray(lead)


def coupled(pairwise: Array, n_classes: int) -> Array:
    r"""Couple the probabilities of pairs.

    With :math:`r_{ij}` the probability of class i in the pair of i and j, minimises

    .. math:: \sum_i \sum_{j \ne i} (r_{ji}\,p_i - r_{ij}\,p_j)^2, \qquad \sum_i p_i = 1,

    whose solution has no negative :math:`p_i`: the second method of T.-F. Wu, C.-J. Lin and
    R. C. Weng, "Probability estimates for multi-class classification by pairwise coupling", JMLR 5,
    2004. The linear equations are solved directly.

    Parameters
    ----------
    pairwise : array of shape (n_rows, n_pairs)
        :math:`r_{ij}` for i < j, in lexicographic order.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of shape (n_rows, n_classes)
    """
    out = np.empty((len(pairwise), n_classes))
    i, j = np.array(list(combinations(range(n_classes), 2))).T
    step = max(1, COUPLED_AT_ONCE // n_classes**2)
    for start in range(0, len(pairwise), step):
        r = np.clip(pairwise[start : start + step], LEAST_OF_PAIR, 1.0 - LEAST_OF_PAIR)
        matrix = np.zeros((len(r), n_classes + 1, n_classes + 1))
        matrix[:, i, j] = matrix[:, j, i] = -r * (1.0 - r)
        against = np.zeros((len(r), n_classes, n_classes))  # r_ji at (i, j)
        against[:, i, j], against[:, j, i] = 1.0 - r, r
        diagonal = np.arange(n_classes)
        matrix[:, diagonal, diagonal] = (against**2).sum(axis=2)
        matrix[:, :n_classes, n_classes] = matrix[:, n_classes, :n_classes] = 1.0
        right = np.zeros((len(r), n_classes + 1, 1))
        right[:, n_classes] = 1.0
        found = np.maximum(np.linalg.solve(matrix, right)[:, :n_classes, 0], 0.0)
        out[start : start + step] = found / found.sum(axis=1, keepdims=True)
    return out


def pooled(probability: Array, predicted: NDArray[np.intp]) -> Array:
    """Make the predicted class the most probable one.

    Where another class is at least as probable, the predicted class and the most probable ones
    share the mean of their probabilities: of all distributions that agree with the prediction, the
    one at the least Euclidean distance. The predicted class then gets one unit in the last place
    more than its equals.
    """
    rows = np.arange(len(probability))
    others = probability.copy()
    others[rows, predicted] = -np.inf
    wrong = np.flatnonzero(others.max(axis=1) >= probability[rows, predicted])
    if wrong.size == 0:
        return probability
    out = probability.copy()
    own, others = probability[wrong, predicted[wrong]], others[wrong]
    descending = -np.sort(-others, axis=1)[:, :-1]  # the last is that of the predicted class
    sharing = np.arange(2, descending.shape[1] + 2)
    mean = (own[:, None] + np.cumsum(descending, axis=1)) / sharing
    # Another class joins as long as it is above the mean of those before it.
    before = np.hstack([own[:, None], mean[:, :-1]])
    joins = np.maximum(np.count_nonzero(descending > before, axis=1), 1)
    level = mean[np.arange(wrong.size), joins - 1]
    out[wrong] = np.minimum(probability[wrong], level[:, None])
    out[wrong, predicted[wrong]] = np.nextafter(level, 1.0)
    return out


def _rows_of_pairs(
    decisions: Array, codes: NDArray[np.int64], n_classes: int, weight: Array
) -> tuple[Array, NDArray[np.bool_], Array]:
    """Bring the rows of each pair to the top of its column; the rest of it has no weight."""
    pairs = list(combinations(range(n_classes), 2))
    counts = np.bincount(codes, minlength=n_classes)
    height = max((int(counts[i] + counts[j]) for i, j in pairs), default=0)
    shape = (height, len(pairs))
    column, positive, weights = np.zeros(shape), np.zeros(shape, dtype=np.bool_), np.zeros(shape)
    members = [np.flatnonzero(codes == code) for code in range(n_classes)]
    for k, (i, j) in enumerate(pairs):
        rows = np.concatenate([members[i], members[j]])
        column[: rows.size, k] = decisions[rows, k]
        positive[: members[i].size, k] = True
        weights[: rows.size, k] = weight[rows]
    return column, positive, weights
