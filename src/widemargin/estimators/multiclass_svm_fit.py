"""From a training set to a multi-class problem, and from its solution to fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.certificates import Certificate
from ..engines import Engine
from ..multiclass.posed import Posed
from ..multiclass.solvers import (
    MulticlassMonitor,
    MulticlassProblem,
    MulticlassSolution,
    choose,
    solve,
)
from .training_set import TrainingSet, class_weights, in_own_order

# Stored values up to which a copy of the rows, in an order of their own, costs nothing to speak of.
# Solvers visit rows in an order drawn at random: theirs is then one that only the seed decides.
SMALL = 1 << 20


def settled(training: TrainingSet, apart: NDArray[np.int64] | None = None) -> TrainingSet:
    """Make small sets independent of the order in which rows were given, and of copies."""
    stored = training.X.nnz if sp.issparse(training.X) else training.X.size
    return in_own_order(training, apart) if stored <= SMALL else training


def problem_of(
    training: TrainingSet,
    formulation: str,
    C: float,
    class_weight: Any,
    constant: float,
    threads: int,
) -> MulticlassProblem:
    """Pose the problem of a training set."""
    return MulticlassProblem(
        training.X,
        training.codes,
        len(training.classes),
        formulation,
        np.ascontiguousarray(C * training.weights * class_weights(class_weight, training)),
        constant,
        threads,
    )


class MulticlassFit:
    """One fit, and what it leaves when it ends or is interrupted.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    monitor : MulticlassMonitor
        Budgets and progress.
    solver : str
        Name of the solver, or 'auto'.
    memory : int
        Bytes for what solvers keep beside the rows.

    Attributes
    ----------
    solver : str
        Name of the solver that was taken.
    posed : MulticlassProblem or Posed
        The problem, with or without its rows.
    weights, duals
        What the solver found; None before.
    certificate : Certificate or None
        None after an interrupt: weights have moved on since the last one.
    """

    posed: MulticlassProblem | Posed

    def __init__(
        self, problem: MulticlassProblem, monitor: MulticlassMonitor, solver: str, memory: int
    ) -> None:
        self.problem = self.posed = problem
        self.monitor, self.memory = monitor, memory
        self.solver = choose(solver, problem, memory)
        self.weights: Any = None
        self.duals: Any = None
        self.certificate: Certificate | None = None

    def run(self, start: tuple[Any, Any] | None, engine: Engine) -> MulticlassSolution:
        """Solve, from an earlier fit's multipliers and weights.

        They are left out if they are of another number of rows or classes.
        """
        duals, weights = (None, None) if start is None else start
        if duals is not None and duals.shape != (self.problem.n_rows, self.problem.n_classes):
            duals = None
        try:
            solution = solve(
                self.solver,
                self.problem,
                self.monitor,
                duals,
                weights=weights,
                memory=self.memory,
                engine=engine,
            )
        except KeyboardInterrupt:
            state = self.monitor.latest
            if state is not None:
                self.weights, self.duals = state.weights(), state.duals()
            raise
        self.weights, self.duals = solution.weights, solution.duals
        self.certificate = solution.certificate
        return solution

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model, and not only a beginning at zero."""
        return self.weights is not None and bool(abs(self.weights).max() > 0)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        nothing = Certificate(np.nan, np.nan)
        certificate = nothing if self.certificate is None else self.certificate
        return {
            **weight_attributes(self.weights, self.posed),
            "dual_gap_": float(certificate.gap),
            "relative_gap_": float(certificate.relative_gap),
            "converged_": bool(certificate.relative_gap <= self.monitor.tol),
            "n_iter_": int(self.monitor.iterations),
            "solver_": self.solver,
            "history_": self.monitor.history(),
        }


def weight_attributes(weights: Any, problem: MulticlassProblem | Posed) -> dict[str, Any]:
    """Return the attributes that predict.

    Two classes have one row of weights, as in scikit-learn: the difference of both. Those of one
    against the rest mirror each other; half the difference is the binary machine that each is.
    """
    if problem.n_classes == 2:
        weights = weights[1:2] - weights[0:1]
        if problem.formulation == "ovr":
            weights = 0.5 * weights
    n_features = problem.n_features
    coef, rest = weights[:, :n_features], weights[:, n_features:]
    if sp.issparse(weights):
        coef, rest = sp.csr_array(coef), rest.toarray()
        coef.eliminate_zeros()
        coef.sort_indices()
        non_zero = coef.nnz
    else:
        coef = np.ascontiguousarray(coef)
        non_zero = np.count_nonzero(coef)
    intercept: Array = problem.constant * rest[:, 0] if problem.constant else np.zeros(len(rest))
    return {
        "coef_": coef,
        "intercept_": intercept + 0.0,  # no -0.0
        "density_": float(non_zero / (coef.shape[0] * n_features)),
    }
