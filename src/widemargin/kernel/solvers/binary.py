"""Solve one binary problem: choose the solver, treat indefinite kernels, polish small sets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.certificates import Certificate
from ...core.outcome import Outcome
from ...core.resources import single_threaded_blas
from ..duplicates import merge_duplicates
from ..problem import KernelProblem, extreme_eigenvalues
from . import SOLVERS, choose, newton_to_tolerance
from .monitor import Monitor
from .polish import POLISH_ROWS, polish

# Eigenvalues this far below zero, relative to the largest, are rounding and not indefiniteness.
INDEFINITE = 1e-6
# Where the last digits are not asked for, Newton stops at the tolerance up to this many rows.
NEWTON_TO_TOLERANCE_ROWS = 2000
# A small problem that descent has not solved by then is better solved by dense algebra.
DESCENT_BEFORE_POLISH = 50


@dataclass(frozen=True)
class FittedProblem:
    """What the estimator keeps of a solved problem.

    Attributes
    ----------
    net_dual : array of shape (n_rows,)
        The solution.
    certificate : Certificate
        Its gap; NaN where the kernel is indefinite.
    outcome : Outcome
        Why the solver stopped.
    iterations : int
        Of the solver.
    lowest_eigenvalue : float
        Of the kernel matrix if it is indefinite, else 0.
    solver : str
        Name of the solver.
    margin : array of shape (n_rows,) or None
        Q ``net_dual`` of the problem as solved, for starts of neighbouring problems.
    """

    net_dual: Array
    certificate: Certificate
    outcome: Outcome
    iterations: int
    lowest_eigenvalue: float = 0.0
    solver: str = ""
    margin: Array | None = None


def fit_binary(
    problem: KernelProblem,
    start: Array,
    solver: str,
    monitor: Monitor,
    *,
    margin: Array | None = None,
    last_digits: bool = True,
    merge: bool = True,
) -> FittedProblem:
    """Solve a problem to the monitor's tolerance, and with ``last_digits`` small ones to rounding.

    ``margin`` is that of the start, where it is known already. Copies of rows are merged for the
    solve if there are many and ``merge`` says so; the duals that come back are those of all rows.
    """
    merged = merge_duplicates(problem) if merge else None
    if merged is None:
        return _fit(problem, start, solver, monitor, margin, last_digits)
    if margin is not None:
        margin = margin[merged.first]
    try:
        result = _fit(merged.problem, merged.merge(start), solver, monitor, margin, last_digits)
    except KeyboardInterrupt:
        if monitor.latest is not None:
            monitor.latest = merged.spread(monitor.latest)
        raise
    result = replace(result, net_dual=merged.spread(result.net_dual))
    if result.margin is None:
        return result
    return replace(result, margin=result.margin[merged.group])  # copies have equal margins


def _fit(
    problem: KernelProblem,
    start: Array,
    solver: str,
    monitor: Monitor,
    margin: Array | None,
    last_digits: bool,
) -> FittedProblem:
    """Choose the solver and solve.

    An indefinite kernel has no convex problem and no duality. Adding −2 λ_min to the diagonal of
    Q makes one whose solution is found reliably (that direction keeps its weight, with its sign
    turned); the certificate of that other problem is not reported. Eigenvalues that are negative
    by rounding alone are lifted too, but then it is the problem as meant, and certified.
    """
    name = monitor.solver = choose(solver, problem, monitor.memory)
    if last_digits and problem.n_rows <= POLISH_ROWS and problem.X.dtype == np.float32:
        # Costs nothing here, and the last digits need it.
        problem = replace(problem, X=problem.X.astype(np.float64))
    lowest = 0.0
    if not problem.kernel.positive_semidefinite:
        with single_threaded_blas():  # the shift must not depend on BLAS threads
            lowest, largest = extreme_eigenvalues(problem)
        problem = replace(problem, shift=max(0.0, -2.0 * lowest))
        margin = None  # of another problem
        if lowest > -INDEFINITE * abs(largest):
            lowest = 0.0
    small = problem.n_rows <= POLISH_ROWS and problem.dense_bytes <= monitor.memory
    small = small and last_digits and name != "newton"
    solve = SOLVERS[name]
    dense = problem.n_rows <= NEWTON_TO_TOLERANCE_ROWS and problem.dense_bytes <= monitor.memory
    if name == "newton" and dense and not last_digits:
        solve = newton_to_tolerance.solve
    allowed = monitor.max_iter
    if small:
        monitor.max_iter = min(allowed, DESCENT_BEFORE_POLISH)
    try:
        solution = solve(problem, start, monitor, margin)
    finally:
        monitor.max_iter = allowed
    out_of_iterations = solution.outcome is Outcome.ITERATIONS and solution.iterations >= allowed
    if small and not out_of_iterations and solution.outcome is not Outcome.TIME:
        solution = polish(problem, solution, monitor)
    certificate = Certificate(np.nan, np.nan) if lowest < 0 else solution.certificate
    return FittedProblem(
        solution.net_dual,
        certificate,
        solution.outcome,
        solution.iterations,
        lowest,
        name,
        solution.margin,
    )
