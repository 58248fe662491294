"""Several classes as binary problems, and back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array


@dataclass(frozen=True)
class BinaryTask:
    """Which rows take part in a binary problem, and on which side.

    Attributes
    ----------
    rows : array of int or None
        The rows that take part; None means all.
    label : array
        +1.0 or −1.0 for each of them.
    """

    rows: NDArray[np.int64] | None
    label: Array


def binary_tasks(codes: NDArray[np.int64], n_classes: int, scheme: str) -> list[BinaryTask]:
    """Split a classification into binary problems.

    Two classes are one problem, the second class positive. One-vs-rest gives a problem per class,
    one-vs-one a problem per pair ``(i, j)``, i < j in lexicographic order, class i positive as in
    scikit-learn.
    """
    if n_classes == 2:
        return [BinaryTask(None, np.where(codes == 1, 1.0, -1.0))]
    if scheme == "ovr":
        return [BinaryTask(None, np.where(codes == k, 1.0, -1.0)) for k in range(n_classes)]
    tasks = []
    for i, j in combinations(range(n_classes), 2):
        rows = np.flatnonzero((codes == i) | (codes == j))
        tasks.append(BinaryTask(rows, np.where(codes[rows] == i, 1.0, -1.0)))
    return tasks


def votes(pairwise: Array, n_classes: int) -> Array:
    """Turn one-vs-one decisions into one column per class.

    Each class scores a vote per pair it wins, plus its summed decisions squeezed into
    (−1/3, 1/3), which break ties and never overturn a vote.

    Parameters
    ----------
    pairwise : array of shape (n_rows, n_pairs)
        Decisions, positive for the first class of a pair.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of shape (n_rows, n_classes)
    """
    score = np.zeros((pairwise.shape[0], n_classes))
    confidence = np.zeros_like(score)
    for column, (i, j) in zip(pairwise.T, combinations(range(n_classes), 2), strict=True):
        score[:, i] += column > 0
        score[:, j] += column <= 0
        confidence[:, i] += column
        confidence[:, j] -= column
    return score + confidence / (3.0 * (np.abs(confidence) + 1.0))
