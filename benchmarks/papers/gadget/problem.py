r"""Rows divided among the sites of a network, and what all of them together minimise.

.. math:: \frac\lambda2 \lVert w \rVert^2
          + \frac{\sum_i v_i \max(0, 1 - y_i w^\top x_i)}{\sum_i v_i}

The last feature is constant: its weight is the intercept, penalised as the others are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

# Below this share of values that are not zero, sparse rows are smaller and faster.
SPARSE = 0.4
VALUE_BYTES, INDEX_BYTES, LABEL_BYTES = 8, 4, 1
# Bytes of a message beside its contents, as in the library: sender, number, length and a check.
HEADER_BYTES = 32
# The library's defaults of the ODM loss.
UPSILON, THETA = 0.5, 0.2


@dataclass(frozen=True)
class DividedProblem:
    """Training rows by site, test rows, and the network.

    Attributes
    ----------
    X, X_test : array or CSR matrix
        Rows with the constant feature, double precision.
    y, y_test : array
        Labels, -1 and 1.
    weight : array
        Weight of each training row, v.
    site : array
        Site of each training row, 0 to n_sites - 1.
    mixing : array of shape (n_sites, n_sites)
        Doubly stochastic weights of the network; zero where there is no link.
    lam : float
        λ.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    site: np.ndarray
    X_test: Any
    y_test: np.ndarray
    mixing: np.ndarray
    lam: float

    @property
    def n_sites(self) -> int:
        """Sites of the network."""
        return len(self.mixing)

    @property
    def size(self) -> int:
        """Length of a model."""
        return int(self.X.shape[1])

    @cached_property
    def rows(self) -> list[np.ndarray]:
        """Rows of each site."""
        return [np.flatnonzero(self.site == each) for each in range(self.n_sites)]

    @cached_property
    def neighbours(self) -> list[np.ndarray]:
        """Neighbours of each site."""
        linked = self.mixing - np.diag(np.diag(self.mixing)) > 0
        return [np.flatnonzero(row) for row in linked]

    @property
    def links(self) -> int:
        """Directed links."""
        return sum(len(each) for each in self.neighbours)

    def pooled(self) -> DividedProblem:
        """Return the same rows at one site."""
        return replace(self, site=np.zeros_like(self.site), mixing=np.ones((1, 1)))

    def objective(self, models: np.ndarray, loss: str = "hinge") -> np.ndarray:
        """Return the objective of every model, one in a row."""
        margins = self.y[:, None] * (self.X @ models.T)
        mean = self.weight @ LOSSES[loss](margins) / self.weight.sum()
        return np.asarray(0.5 * self.lam * np.sum(models * models, axis=1) + mean)

    def row_bytes(self, rows: np.ndarray) -> int:
        """Return what it takes to send some rows with their labels, sparse or dense."""
        dense = len(rows) * self.size * VALUE_BYTES
        if sp.issparse(self.X):
            stored = int(np.sum(np.diff(self.X.indptr)[rows]))
            dense = min(dense, stored * (VALUE_BYTES + INDEX_BYTES))
        return dense + len(rows) * LABEL_BYTES


def hinge(margins: np.ndarray) -> np.ndarray:
    """Return the loss of an SVM."""
    return np.maximum(0.0, 1.0 - margins)


def margin_distribution(margins: np.ndarray) -> np.ndarray:
    """Return the loss of ODM."""
    short, long = 1.0 - THETA - margins, margins - 1.0 - THETA
    return 0.5 * (np.maximum(0.0, short) ** 2 + UPSILON * np.maximum(0.0, long) ** 2)


LOSSES = {"hinge": hinge, "odm": margin_distribution}


def divided(
    X: Any,
    y: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    *,
    site: np.ndarray,
    mixing: np.ndarray,
    lam: float,
    weight: np.ndarray | None = None,
) -> DividedProblem:
    """Bring rows into the form of the problem; the larger label is 1."""
    largest = np.max(y)
    weight = np.ones(len(y)) if weight is None else weight
    signs, signs_test = (np.where(each == largest, 1.0, -1.0) for each in (y, y_test))
    X, X_test = _with_constant(X), _with_constant(X_test)
    return DividedProblem(X, signs, weight, site, X_test, signs_test, mixing, lam)


def even_sites(rows: int, n_sites: int, seed: int) -> np.ndarray:
    """Deal rows at random; sizes differ by at most one."""
    return np.random.default_rng(seed).permutation(np.arange(rows) % n_sites)


def skewed_sites(y: np.ndarray, n_sites: int, seed: int) -> np.ndarray:
    """Cut the rows, in order of their labels, into equal parts: most sites have one class only."""
    rows = np.random.default_rng(seed).permutation(len(y))
    rows = rows[np.argsort(y[rows], kind="stable")]
    site = np.empty(len(y), dtype=np.int64)
    site[rows] = np.arange(len(y)) * n_sites // len(y)
    return site


def _with_constant(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    if sp.issparse(X) or np.count_nonzero(X) < SPARSE * X.size:
        return sp.hstack([sp.csr_matrix(X, dtype=np.float64), ones], format="csr")
    return np.hstack([X.astype(np.float64), ones])


@dataclass(frozen=True)
class Outcome:
    """What a method returns: decisions of every site, and what they cost.

    Attributes
    ----------
    decisions : array of shape (n_test_rows, n_sites)
        The signs are the predictions.
    models : array of shape (n_sites, size) or None
        Weights of every site; None for a method that has no weights.
    rounds, messages, bytes_sent : int
        Sums over all sites.
    seconds : float
        Sum over all sites, without predicting the test rows.
    stopped : bool
        Whether its own rule ended it, rather than time or rounds.
    facts : dict
        Other results, by name.
    """

    decisions: np.ndarray
    models: np.ndarray | None
    rounds: int
    messages: int
    bytes_sent: int
    seconds: float
    stopped: bool
    facts: dict[str, Any] = field(default_factory=dict)

    def of_sites(self, sites: Sequence[int]) -> Outcome:
        """Return the same with the decisions and models of some sites only."""
        models = None if self.models is None else self.models[list(sites)]
        return replace(self, decisions=self.decisions[:, list(sites)], models=models)

    def accuracy(self, problem: DividedProblem) -> np.ndarray:
        """Return the share of test rows that every site gets right."""
        right = np.where(self.decisions > 0, 1.0, -1.0) == problem.y_test[:, None]
        return np.asarray(right.mean(axis=0))

    def recall(self, problem: DividedProblem, label: float = 1.0) -> np.ndarray:
        """Return the share of a class's test rows that every site finds."""
        found = np.where(self.decisions > 0, 1.0, -1.0)[problem.y_test == label] == label
        return np.asarray(found.mean(axis=0))

    def balanced_accuracy(self, problem: DividedProblem) -> np.ndarray:
        """Return the mean recall of both classes at every site."""
        return 0.5 * (self.recall(problem, 1.0) + self.recall(problem, -1.0))


class Stopwatch:
    """Seconds since it was made, without those spent on watching."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._began

    def skip(self, seconds: float) -> None:
        """Leave out some seconds."""
        self._began += seconds
