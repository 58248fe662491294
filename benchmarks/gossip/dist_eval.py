r"""Dist-Eval: sites train alone and agree on every prediction (Wang et al. 2010).

A site's decisions on the test rows go to its neighbours, and a consensus filter brings them
together:

.. math:: f_i \leftarrow f_i + \beta \sum_j P_{ij} (f_j - f_i)

with β = 1, as the comparison has it. It ends when no decision changes by more than ε. What is sent
grows with the number of rows to predict, and has to be sent again for new ones.
"""

from __future__ import annotations

import numpy as np

from .divided_problem import HEADER_BYTES, VALUE_BYTES, DividedProblem
from .liblinear import models_of_sites
from .norm_rule import EPSILON
from .outcome import Outcome, Stopwatch

MAX_ROUNDS = 10_000


def fit(
    problem: DividedProblem,
    *,
    beta: float = 1.0,
    epsilon: float = EPSILON,
    max_rounds: int = MAX_ROUNDS,
    max_time: float = np.inf,
    seed: int = 0,
) -> Outcome:
    """Train, predict, and agree."""
    clock = Stopwatch()
    decisions = np.asarray(problem.X_test @ models_of_sites(problem, seed).T)
    step = beta * (problem.mixing - np.eye(problem.n_sites))
    rounds, change = 0, np.inf
    while rounds < max_rounds and change >= epsilon and clock.seconds < max_time:
        rounds += 1
        news = decisions @ step.T
        decisions += news
        change = float(np.max(np.abs(news)))
    messages = rounds * problem.links
    sent = messages * (HEADER_BYTES + len(problem.y_test) * VALUE_BYTES)
    return Outcome(decisions, None, rounds, messages, sent, clock.seconds, change < epsilon)
