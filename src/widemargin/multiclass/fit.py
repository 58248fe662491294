"""The multi-class fit: from a posed problem to fitted attributes, on any engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import Fit
from ..core.history import History, Listener
from ..core.outcome import Solution
from .gather import columns_of, solve
from .problem import ClassWeights, MulticlassObjective, MulticlassProblem


def multiclass_fit(
    name: str,
    problem: MulticlassProblem,
    solver: str,
    budget: Budget,
    listener: Listener | None = None,
    start: ClassWeights | None = None,
) -> Fit[ClassWeights]:
    """Prepare the fit of all classes.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problem : MulticlassProblem
        The problem.
    solver : str
        The solver that :func:`widemargin.multiclass.gather.choose` returned.
    budget : Budget
        Limits of the fit.
    listener : callable, optional
        Called for every iteration.
    start : ClassWeights, optional
        Earlier solution to start from; left out if it is of another number of rows or classes.
    """
    shape = (problem.n_rows, problem.objective.n_classes)
    fitting = None if start is None or start.duals.shape != shape else start

    def solve_all(_: int, budget: Budget, history: History) -> Solution[ClassWeights]:
        return solve(solver, problem, budget, history, fitting)

    history = History.of(columns_of(solver, problem), budget, listener)
    return Fit(name, 1, solve_all, budget, history)


def is_usable(fit: Fit[ClassWeights]) -> bool:
    """Return whether an interrupt left a model, and not only a beginning at zero."""
    iterate = fit.iterate(0)
    return iterate is not None and bool(abs(iterate.weights).max() > 0)


def fitted_attributes(
    fit: Fit[ClassWeights], weights: Any, objective: MulticlassObjective, solver: str
) -> dict[str, Any]:
    """Return the fitted attributes, given the weights and the solver that was chosen."""
    found = fit.attributes()
    found["solver_"] = found["solver_"] or solver  # an interrupt leaves no solution
    return {**weight_attributes(weights, objective), **found}


def weight_attributes(weights: Any, objective: MulticlassObjective) -> dict[str, Any]:
    """Return the attributes that predict.

    Two classes have one row of weights, as in scikit-learn: the difference of both. Those of one
    against the rest mirror each other; half the difference is the binary machine that each is.
    """
    if objective.n_classes == 2:
        weights = weights[1:2] - weights[0:1]
        if objective.formulation == "ovr":
            weights = 0.5 * weights
    n_features, constant = objective.n_features, objective.constant
    coef, rest = weights[:, :n_features], weights[:, n_features:]
    if sp.issparse(weights):
        coef, rest = sp.csr_array(coef), rest.toarray()
        coef.eliminate_zeros()
        coef.sort_indices()
        non_zero = coef.nnz
    else:
        coef = np.ascontiguousarray(coef)
        non_zero = np.count_nonzero(coef)
    intercept: Array = constant * rest[:, 0] if constant else np.zeros(len(rest))
    return {
        "coef_": coef,
        "intercept_": intercept + 0.0,  # no -0.0
        "density_": float(non_zero / (coef.shape[0] * n_features)),
    }
