"""ASG-SVM: adaptive selective gossip of rows (Flouri, Beferull-Lozano and Tsakalides 2009).

Every site trains on the rows it has, ranks them by importance, and sends the most important ones of
both classes to a neighbour drawn at random, which adds those it lacks. A row is the more important
the nearer it is to its own class's side of the margin, |1 - y f(x)|: those rows hold the plane. It
ends when the planes of all sites hardly move, several times in a row: a neighbour drawn at random
may have nothing new.

The comparison sends 0.001 % of a site's rows, which is less than one row in all sets here; at least
one row of each class is sent.
"""

from __future__ import annotations

import numpy as np

from .divided_problem import HEADER_BYTES, DividedProblem
from .liblinear import model
from .norm_rule import EPSILON, TIMES
from .outcome import Outcome, Stopwatch

SHARE = 1e-5
MAX_ROUNDS = 1_000


def fit(
    problem: DividedProblem,
    *,
    share: float = SHARE,
    epsilon: float = EPSILON,
    times: int = TIMES,
    max_rounds: int = MAX_ROUNDS,
    max_time: float = np.inf,
    seed: int = 0,
) -> Outcome:
    """Train and exchange rows until planes move by less than ε of their length, k times."""
    rng = np.random.default_rng(seed)
    held = list(problem.rows)
    clock = Stopwatch()
    models = np.stack([_trained(problem, rows, seed) for rows in held])
    rounds = messages = sent = still = 0
    while rounds < max_rounds and still < times and clock.seconds < max_time:
        rounds += 1
        mail: list[list[np.ndarray]] = [[] for _ in held]
        for site, neighbours in enumerate(problem.neighbours):
            chosen = selected(problem, held[site], models[site], share)
            mail[int(rng.choice(neighbours))].append(chosen)
            messages += 1
            sent += HEADER_BYTES + problem.row_bytes(chosen)
        before = models.copy()
        for site, letters in enumerate(mail):
            more = np.union1d(held[site], np.concatenate([held[site][:0], *letters]))
            if len(more) > len(held[site]):
                held[site] = more
                models[site] = _trained(problem, more, seed)
        moved = np.linalg.norm(models - before, axis=1)
        calm = np.all(moved <= epsilon * np.linalg.norm(models, axis=1))
        still = still + 1 if calm else 0
    seconds = clock.seconds
    decisions = np.asarray(problem.X_test @ models.T)
    facts = {"rows_held": [len(rows) for rows in held]}
    return Outcome(decisions, models, rounds, messages, sent, seconds, still >= times, facts)


def selected(problem: DividedProblem, rows: np.ndarray, w: np.ndarray, share: float) -> np.ndarray:
    """Return the most important rows of both classes, a share of each but at least one."""
    y = problem.y[rows]
    distance = np.abs(1.0 - y * (problem.X[rows] @ w))
    best = []
    for label in (-1.0, 1.0):
        of_class = np.flatnonzero(y == label)
        count = min(len(of_class), max(1, int(share * len(of_class))))
        best.append(rows[of_class[np.argsort(distance[of_class], kind="stable")[:count]]])
    return np.concatenate(best)


def _trained(problem: DividedProblem, rows: np.ndarray, seed: int) -> np.ndarray:
    return model(problem.X[rows], problem.y[rows], problem.weight[rows], problem.lam, seed)
