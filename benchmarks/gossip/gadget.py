"""GADGET SVM as printed: a Pegasos step, then Push-Sum, at every site.

In an exchange every site halves its sum and its weight and sends one half to a neighbour drawn at
random (Kempe et al. 2003). Algorithm 3 starts Push-Sum anew in every iteration, from the models of
that iteration with weights of one, so nothing outlives an exchange and a step weighs all sites
alike. How many exchanges an iteration has is not printed; the text says that a site talks to one
neighbour, hence one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .divided_problem import HEADER_BYTES, VALUE_BYTES, DividedProblem
from .local_steps import run
from .norm_rule import NormRule
from .outcome import Outcome

MAX_ROUNDS = 1_000_000


class PushSum:
    """Exchanges with random neighbours."""

    def __init__(self, problem: DividedProblem, exchanges: int, seed: int) -> None:
        self.messages = self.bytes_sent = 0
        self._rng = np.random.default_rng(seed)
        self._message = HEADER_BYTES + (problem.size + 1) * VALUE_BYTES
        self._exchanges, self._neighbours = exchanges, problem.neighbours
        self._degrees = np.array([len(each) for each in problem.neighbours])

    def mix(self, models: np.ndarray) -> np.ndarray:
        """Return sums divided by weights after some exchanges."""
        sums, weights = models, np.ones(len(models))
        for _ in range(self._exchanges):
            chosen = (self._rng.random(len(models)) * self._degrees).astype(int)
            to = [each[which] for each, which in zip(self._neighbours, chosen, strict=True)]
            received = 0.5 * np.eye(len(models))
            received[to, np.arange(len(models))] += 0.5
            sums, weights = received @ sums, received @ weights
            self.messages += len(models)
            self.bytes_sent += len(models) * self._message
        return np.asarray(sums / weights[:, None])


def fit(
    problem: DividedProblem,
    *,
    batch: int | None = 1,
    exchanges: int = 1,
    seed: int = 0,
    rule: NormRule | None = None,
    max_rounds: int = MAX_ROUNDS,
    **settings: Any,
) -> Outcome:
    """Run it until every site has converged once by the rule."""
    exchange = PushSum(problem, exchanges, seed)
    rule = NormRule() if rule is None else rule
    kept = {"batch": batch, "seed": seed, "rule": rule, "max_rounds": max_rounds}
    return run(problem, exchange, **kept, **settings)
