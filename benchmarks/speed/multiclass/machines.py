"""Our multi-class machines: fit, predict, density. No other benchmark uses their internals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from widemargin.core.blocks import RowBlock
from widemargin.core.budget import Budget
from widemargin.core.history import CERTIFIED, History
from widemargin.core.outcome import Certificate, Outcome
from widemargin.core.rows import canonical
from widemargin.engines import LocalEngine
from widemargin.multiclass.problem import MulticlassObjective, MulticlassProblem
from widemargin.multiclass.solvers import choose, solve

TITLES = {"ww": "WW", "llw": "LLW", "cs": "CS", "ovr": "OVR"}
# So many scores are computed at a time.
BLOCK_SCORES = 5_000_000


class Machine(NamedTuple):
    """Weights and multipliers of a solution, and how it was found."""

    weights: Any
    duals: Any
    certificate: Certificate
    outcome: Outcome
    iterations: int


def fit(
    X: Any,
    codes: np.ndarray,
    n_classes: int,
    formulation: str,
    C: float,
    *,
    solver: str = "auto",
    constant: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 100_000,
    max_time: float | None = None,
    threads: int = 2,
) -> Machine:
    """Solve one problem; ``constant`` is the value of the feature that stands for an intercept."""
    objective = MulticlassObjective(X.shape[1], n_classes, formulation, float(C), constant=constant)
    block = RowBlock("all", canonical(X), codes.astype(np.int32))
    problem = MulticlassProblem.of_block(objective, LocalEngine(threads), block)
    budget = Budget(tol=tol, max_iter=max_iter, max_time=max_time, seed=0)
    found = solve(choose(solver, problem), problem, budget, History.of(CERTIFIED, budget))
    iterate = found.iterate
    return Machine(
        iterate.weights, iterate.duals, found.certificate, found.outcome, found.iterations
    )


def scores_of(weights: Any, X: Any, constant: float = 0.0) -> Any:
    """Yield the scores of all classes for blocks of rows, as slices and arrays.

    Weights are (classes, features), and one more column where the constant is not zero.
    """
    features = X.shape[1]
    columns = weights[:, :features].T
    columns = columns.tocsr() if sp.issparse(columns) else np.ascontiguousarray(columns)
    last: Any = weights[:, [features]] if constant else np.zeros((weights.shape[0], 1))
    intercept = constant * np.ravel(last.toarray() if sp.issparse(last) else last)
    step = max(1, BLOCK_SCORES // weights.shape[0])
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        found = X[rows].astype(np.float64) @ columns
        yield rows, (found.toarray() if sp.issparse(found) else np.asarray(found)) + intercept


def predict(weights: Any, X: Any, constant: float = 0.0) -> np.ndarray:
    """Return the class with the highest score for every row, the first of equals."""
    blocks = (scores.argmax(axis=1) for _, scores in scores_of(weights, X, constant))
    return np.concatenate(list(blocks))


def density(weights: Any) -> float:
    """Return the share of weights that are not zero."""
    filled = weights.count_nonzero() if sp.issparse(weights) else np.count_nonzero(weights)
    return float(filled) / float(np.prod(weights.shape, dtype=np.int64))
