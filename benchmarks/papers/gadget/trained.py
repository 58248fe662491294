r"""Methods made of LIBLINEAR: pooled rows, every site alone, ASG-SVM and Dist-Eval.

**ASG-SVM** (adaptive selective gossip of rows; Flouri, Beferull-Lozano and Tsakalides 2009): every
site trains on the rows it has and sends the most important ones of both classes to a neighbour
drawn at random, which adds those it lacks. Importance grows as \|1 - y f(x)\| falls: rows at the
margin hold the plane. It ends when the planes of all sites hardly move, several times in a row,
since a neighbour drawn at random may have nothing new. The comparison sends 0.001 % of a site's
rows, which is less than one row in all sets here; at least one row of each class is sent.

**Dist-Eval** (Wang et al. 2010): sites train alone, and a consensus filter averages their decisions
on the test rows,

.. math:: f_i \leftarrow f_i + \beta \sum_j P_{ij} (f_j - f_i)

with β = 1, as in the comparison. It ends when no decision changes by more than ε. What is sent
grows with the number of rows to predict, and has to be sent again for new ones.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from .problem import HEADER_BYTES, VALUE_BYTES, DividedProblem, Outcome, Stopwatch
from .stepping import EPSILON, TIMES

ASG_ROUNDS, DIST_EVAL_ROUNDS = 1_000, 10_000

LIBLINEAR_ITERATIONS = 1_000


def model(X: Any, y: np.ndarray, weight: np.ndarray, lam: float, seed: int = 0) -> np.ndarray:
    """Solve the problem of some rows in the dual."""
    if len(np.unique(y)) == 1:
        # It needs two classes; a mirrored row of the other class has the same margin.
        sign = np.where(np.arange(len(y)) == 0, -1.0, 1.0)
        X, y = sp.diags_array(sign, format="csr") @ X, sign * y
    C = 1.0 / (lam * weight.sum())
    solver = LinearSVC(
        loss="hinge", C=C, fit_intercept=False, max_iter=LIBLINEAR_ITERATIONS, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solver.fit(X, y, sample_weight=weight)
    return np.ravel(solver.coef_)


def alone(problem: DividedProblem, *, seed: int = 0) -> Outcome:
    """Train every site on its own rows; nothing is sent."""
    clock = Stopwatch()
    models = models_of_sites(problem, seed)
    seconds = clock.seconds
    return Outcome(problem.X_test @ models.T, models, 0, 0, 0, seconds, True)


def models_of_sites(problem: DividedProblem, seed: int = 0) -> np.ndarray:
    """Return what every site learns from its own rows."""
    parts = ((problem.X[rows], problem.y[rows], problem.weight[rows]) for rows in problem.rows)
    return np.stack([model(*part, problem.lam, seed) for part in parts])


def pooled(problem: DividedProblem, *, seed: int = 0) -> Outcome:
    """Send all rows to the first site, train there, and send the model back.

    Counted as if every site had a link to the first.
    """
    clock = Stopwatch()
    found = model(problem.X, problem.y, problem.weight, problem.lam, seed)
    seconds = clock.seconds
    models = np.tile(found, (problem.n_sites, 1))
    elsewhere = np.flatnonzero(problem.site != 0)
    others = problem.n_sites - 1
    sent = problem.row_bytes(elsewhere) + others * problem.size * VALUE_BYTES
    sent += 2 * others * HEADER_BYTES
    return Outcome(problem.X_test @ models.T, models, 1, 2 * others, sent, seconds, True)


SHARE = 1e-5


def asg(
    problem: DividedProblem,
    *,
    share: float = SHARE,
    epsilon: float = EPSILON,
    times: int = TIMES,
    max_rounds: int = ASG_ROUNDS,
    max_time: float = np.inf,
    seed: int = 0,
) -> Outcome:
    """Run ASG-SVM until planes move by less than ε of their length, k times."""
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


def dist_eval(
    problem: DividedProblem,
    *,
    beta: float = 1.0,
    epsilon: float = EPSILON,
    max_rounds: int = DIST_EVAL_ROUNDS,
    max_time: float = np.inf,
    seed: int = 0,
) -> Outcome:
    """Run Dist-Eval: train, predict, and agree."""
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
