"""LIBLINEAR on all rows in one place, and at every site alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from .divided_problem import HEADER_BYTES, VALUE_BYTES, DividedProblem
from .outcome import Outcome, Stopwatch

MAX_ITER = 1_000


def model(X: Any, y: np.ndarray, weight: np.ndarray, lam: float, seed: int = 0) -> np.ndarray:
    """Solve the problem of some rows in the dual."""
    if len(np.unique(y)) == 1:
        # It wants two classes; a row of the other one, mirrored, has the same margin.
        sign = np.where(np.arange(len(y)) == 0, -1.0, 1.0)
        X, y = sp.diags_array(sign, format="csr") @ X, sign * y
    C = 1.0 / (lam * weight.sum())
    solver = LinearSVC(loss="hinge", C=C, fit_intercept=False, max_iter=MAX_ITER, random_state=seed)
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
