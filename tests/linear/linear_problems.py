"""Small linear problems, with the answer of an outside solver."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oracle import solve_with_clarabel
from widemargin.core.budget import Budget
from widemargin.core.losses import Hinge, Loss, LossConstants, MarginDistribution, SquaredHinge
from widemargin.linear.history import LinearHistory
from widemargin.linear.problem import LinearProblem

LOSSES: dict[str, Loss] = {
    "odm": MarginDistribution(upsilon=0.5, theta=0.2),
    "squared_hinge": SquaredHinge(),
    "hinge": Hinge(),
}
SMOOTH = ("odm", "squared_hinge")


class Case(NamedTuple):
    """What a problem is made of."""

    loss: str = "odm"
    sparse: bool = False
    dtype: str = "float64"
    weighted: bool = False
    constant: float = 1.0
    n_rows: int = 90
    n_features: int = 6
    C: float = 1.0
    threads: int = 1


# Each thing that a solver could get wrong, once with each of two losses' worth of others.
CASES = [
    Case(sparse=sparse, dtype=dtype, weighted=weighted, constant=constant)
    for sparse, dtype, weighted, constant in [
        (False, "float64", False, 1.0),
        (False, "float32", True, 0.0),
        (True, "float64", True, 2.0),
        (True, "float32", False, 1.0),
    ]
]


class Run(NamedTuple):
    """What a solver is given beside a problem and a start."""

    budget: Budget
    history: LinearHistory


def run_of(listener: Any = None, **limits: Any) -> Run:
    """Begin a run with these limits."""
    return Run(Budget(**limits), LinearHistory(listener=listener))


def problem_of(case: Case) -> LinearProblem:
    """Make overlapping classes whose rows have very different lengths."""
    random = np.random.default_rng(3)
    X, signal = rows_and_signal(case, random)
    signal += 0.3 * random.normal(size=case.n_rows) + 0.2
    label = np.where(signal > 0, 1, -1).astype(np.int8)
    return posed(case, X, label, LOSSES[case.loss], random)


def rows_and_signal(case: Case, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Make rows of very different lengths, and a linear function of them."""
    shape = (case.n_rows, case.n_features)
    X = random.normal(size=shape) * (random.random(case.n_rows) + 0.1)[:, None]
    X[random.random(shape) < 0.5] = 0.0
    return X, X @ random.normal(size=case.n_features)


def posed(
    case: Case,
    X: np.ndarray,
    label: np.ndarray,
    loss: Loss,
    random: np.random.Generator,
    target: np.ndarray | None = None,
) -> LinearProblem:
    """Pose a problem on rows in the case's form, some weighted."""
    X = X.astype(case.dtype)
    weight = random.integers(1, 4, case.n_rows).astype(np.float64) if case.weighted else None
    return LinearProblem(
        sp.csr_matrix(X) if case.sparse else X,
        label,
        LossConstants.of(loss, case.C),
        weight=weight,
        constant=case.constant,
        threads=case.threads,
        target=target,
    )


def dense(problem: LinearProblem) -> np.ndarray:
    """Return the rows in float64, the constant feature last."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    X = X.astype(np.float64)
    if problem.constant == 0:
        return X
    return np.hstack([X, np.full((len(X), 1), problem.constant)])


@cache
def optimum(case: Case) -> float:
    """Ask Clarabel for the objective."""
    problem = problem_of(case)
    X = dense(problem)
    return solve_with_clarabel(X @ X.T, problem.label, case.loss, case.C, problem.weight).objective
