r"""Pegasos steps at every site, and an exchange after each of them.

Step t of a site is

.. math:: w \leftarrow \Bigl(1 - \frac1{t + t_0}\Bigr) w + \frac1{\lambda (t + t_0)} \cdot
          \frac1b \sum_{i \in \text{batch}} v_i \, [y_i w^\top x_i < 1] \, y_i x_i

The paper's Eqn. 4 has the sign of the second term turned; its Eqn. 5 is this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .problem import DividedProblem, Outcome, Stopwatch

EPSILON = 1e-3
TIMES = 3
MAX_ROUNDS = 1_000_000


class NormRule:
    """The paper's stopping rule: a site has converged when ‖w‖ hardly changes several times.

    A site has converged when ‖w‖ changed by less than ε in each of k iterations, and the network
    when every site has converged once. A site continues and may leave that state again. The paper
    also writes that weight vectors "do not change more than" ε, and that "the norm of the weight
    vector" is below it; the difference of norms is what it writes in its case study.

    Parameters
    ----------
    epsilon : float
        ε, not relative to the norm.
    times : int
        k; the paper takes 3 in its tables, and tries 4, 8 and 10.

    Attributes
    ----------
    first : array
        First round in which each site converged; 0 where it did not.
    models : array
        Its model then.
    entered : array
        Number of times it converged.
    """

    def __init__(self, epsilon: float = EPSILON, times: int = TIMES) -> None:
        self.epsilon, self.times = epsilon, times
        self.first = np.zeros(0, dtype=np.int64)
        self.entered = np.zeros(0, dtype=np.int64)
        self.models = np.zeros((0, 0))
        self._calm = np.zeros(0, dtype=np.int64)
        self._norms = np.zeros(0)

    def start(self, models: np.ndarray) -> None:
        """Begin with the models of all sites."""
        sites = len(models)
        self.first, self.entered, self._calm = (np.zeros(sites, dtype=np.int64) for _ in range(3))
        self.models = models.copy()
        self._norms = np.linalg.norm(models, axis=1)

    def update(self, number: int, models: np.ndarray) -> bool:
        """Look at the models after a round; True when every site has converged once."""
        norms = np.linalg.norm(models, axis=1)
        small = np.abs(norms - self._norms) < self.epsilon
        self._calm = np.where(small, self._calm + 1, 0)
        self._norms = norms
        there = self._calm == self.times
        if there.any():
            self.entered += there
            new = there & (self.first == 0)
            self.first[new] = number
            self.models[new] = models[new]
        return bool(np.all(self.first > 0))

    def stopped_models(self, models: np.ndarray) -> np.ndarray:
        """Return what every site had when it converged, or has now if it never did."""
        return np.where((self.first > 0)[:, None], self.models, models)


class Exchange(Protocol):
    """The exchange between two steps; it counts messages and bytes."""

    messages: int
    bytes_sent: int

    def mix(self, models: np.ndarray) -> np.ndarray:
        """Return the models of all sites after the exchange."""


class Silence:
    """No exchange."""

    messages = 0
    bytes_sent = 0

    def mix(self, models: np.ndarray) -> np.ndarray:
        """Return the models unchanged."""
        return models


# Gets the round, the models and the bytes sent so far; True ends the run. Not timed.
Watch = Callable[[int, np.ndarray, int], bool]


def run(
    problem: DividedProblem,
    exchange: Exchange,
    *,
    batch: int | None = 1,
    seed: int = 0,
    rule: NormRule | None = None,
    max_rounds: int,
    max_time: float = np.inf,
    shift: float = 0.0,
    average: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Step and exchange until a rule, the watch, the rounds or the time end it.

    Parameters
    ----------
    problem : DividedProblem
        Rows and network.
    exchange : Exchange
        What happens after each step.
    batch : int or None
        Rows per step, b, drawn with replacement; None takes all rows of a site. The paper divides
        the rows into batches once, and draws one of those.
    seed : int
        Draws the batches.
    rule : NormRule, optional
        Ends the run, and selects the models of the sites.
    max_rounds, max_time : int, float
        Limits.
    shift : float
        :math:`t_0`; zero in the paper, so that the first step has length 1/λ.
    average : bool
        Return the mean of the iterates in which the t-th weighs t, instead of the last one.
    watch : callable, optional
        Called after every round with the models that the run would return.
    """
    rng = np.random.default_rng(seed)
    rows = _RowsOfSites(problem)
    models = np.zeros((problem.n_sites, problem.size))
    mean = models.copy()
    if rule is not None:
        rule.start(models)
    clock, number, stopped = Stopwatch(), 0, False
    while number < max_rounds and not stopped and clock.seconds < max_time:
        number += 1
        share = 1.0 / (number + shift)
        pulls = rows.pulls(models, batch, rng)
        models = (1.0 - share) * models + share / problem.lam * pulls
        models = exchange.mix(models)
        if average:
            mean += 2.0 / (number + 1.0) * (models - mean)
        given = mean if average else models
        if rule is not None:
            stopped = rule.update(number, given)
        if watch is not None:
            began = time.perf_counter()
            stopped = watch(number, given, exchange.bytes_sent) or stopped
            clock.skip(time.perf_counter() - began)
    seconds = clock.seconds
    given = mean if average else models
    if rule is not None:
        given = rule.stopped_models(given)
    facts: dict[str, Any] = {} if rule is None else {"first": rule.first.tolist()}
    decisions = np.asarray(problem.X_test @ given.T)
    counts = (number, exchange.messages, exchange.bytes_sent)
    return Outcome(decisions, given, *counts, seconds, stopped, facts)


class _RowsOfSites:
    """The rows of all sites, those of one site side by side."""

    def __init__(self, problem: DividedProblem) -> None:
        order = np.concatenate(problem.rows)
        self._X, self._pull = problem.X[order], problem.weight[order] * problem.y[order]
        self._y = problem.y[order]
        self._sizes = np.array([len(rows) for rows in problem.rows])
        ends = np.cumsum(self._sizes)
        self._starts = ends - self._sizes
        self._parts = [slice(*each) for each in zip(self._starts, ends, strict=True)]
        self._own = [self._X[part] for part in self._parts]

    def pulls(self, models: np.ndarray, batch: int | None, rng: np.random.Generator) -> np.ndarray:
        """Return, per site, the mean of v y x over a batch's rows short of their margin."""
        if batch is None or batch >= self._sizes.max():
            return self._pulls_of_all(models)
        sites = len(models)
        drawn = (rng.random((sites, batch)) * self._sizes[:, None]).astype(int)
        rows = (self._starts[:, None] + drawn).ravel()
        X, y, pull = self._X[rows], self._y[rows], self._pull[rows] / batch
        if not sp.issparse(X):
            X = X.reshape(sites, batch, -1)
            short = y.reshape(sites, batch) * np.einsum("sbd,sd->sb", X, models) < 1.0
            return np.einsum("sb,sbd->sd", pull.reshape(sites, batch) * short, X)
        # One product for all sites: every stored value meets the weight of its own site.
        row = np.repeat(np.arange(len(rows)), np.diff(X.indptr))
        weight = models.size // sites * (row // batch) + X.indices
        margins = y * np.bincount(row, X.data * models.ravel()[weight], len(rows))
        values = X.data * (pull * (margins < 1.0))[row]
        return np.bincount(weight, values, models.size).reshape(models.shape)

    def _pulls_of_all(self, models: np.ndarray) -> np.ndarray:
        pulls = np.empty_like(models)
        for site, (part, X) in enumerate(zip(self._parts, self._own, strict=True)):
            short = self._y[part] * (X @ models[site]) < 1.0
            pulls[site] = X.T @ (self._pull[part] * short) / max(1, X.shape[0])
        return pulls
