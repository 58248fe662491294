"""Rows with classes and bounds, posed in one block of a local engine and solved."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.core.blocks import RowBlock
from widemargin.core.budget import Budget
from widemargin.core.history import CERTIFIED, History
from widemargin.core.outcome import Solution
from widemargin.core.rows import canonical
from widemargin.engines import LocalEngine
from widemargin.multiclass.problem import MulticlassObjective, MulticlassProblem, StoredWeights
from widemargin.multiclass.solvers import solve


@dataclass
class Case:
    """A problem whose parts tests may change before they solve it."""

    X: Any
    codes: np.ndarray
    n_classes: int
    formulation: str
    bound: np.ndarray
    constant: float = 0.0
    threads: int = 1
    theta: float = 0.0
    upsilon: float = 1.0

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def all_features(self) -> np.ndarray:
        """Rows as dense float64 ones, the constant feature last if there is one."""
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        constant = [np.full(len(self.codes), self.constant)] if self.constant else []
        return np.column_stack([X, *constant]).astype(np.float64)

    @property
    def fixed_loss(self) -> float:
        return self.posed().in_memory.fixed_loss

    def posed(self) -> MulticlassProblem:
        objective = MulticlassObjective(
            self.X.shape[1],
            self.n_classes,
            self.formulation,
            1.0,
            constant=self.constant,
            theta=self.theta,
            upsilon=self.upsilon,
        )
        block = RowBlock("all", self.X, self.codes, self.bound)
        return MulticlassProblem.of_block(objective, LocalEngine(self.threads), block)


def case_of(X, codes, n_classes, formulation, C, constant=1.0, *, sparse, dtype, threads) -> Case:
    given = canonical(sp.csr_matrix(X.astype(dtype)) if sparse else X.astype(dtype))
    bound = np.full(len(codes), float(C))
    return Case(given, codes, n_classes, formulation, bound, constant, threads)


def solved(
    case: Case, name: str, start: Any = None, history: History | None = None, **budget: Any
) -> Solution[Any]:
    """Solve a case, from multipliers or from zero."""
    first = None if start is None else StoredWeights(None, start)
    history = History(CERTIFIED) if history is None else history
    return solve(name, case.posed(), Budget(**budget), history, first)
