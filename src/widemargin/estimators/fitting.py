"""Solve one binary problem: choose the solver, treat indefinite kernels, polish small sets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..certificates import Certificate
from ..losses import Array
from ..problem import KernelProblem, extreme_eigenvalues
from ..resources import single_threaded_blas
from ..solvers import SOLVERS, Monitor, Outcome, choose
from ..solvers.polish import POLISH_ROWS, polish

# Eigenvalues this far below zero, relative to the largest, are rounding and not indefiniteness.
INDEFINITE = 1e-6
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
    """

    net_dual: Array
    certificate: Certificate
    outcome: Outcome
    iterations: int
    lowest_eigenvalue: float = 0.0


def fit_binary(
    problem: KernelProblem, start: Array, solver: str, monitor: Monitor
) -> FittedProblem:
    """Solve a problem to the monitor's tolerance, small ones to rounding.

    An indefinite kernel has no convex problem and no duality. Adding −2 λ_min to the diagonal of
    Q makes one whose solution is found reliably (that direction keeps its weight, with its sign
    turned); the certificate of that other problem is not reported. Eigenvalues that are negative
    by rounding alone are lifted too, but then it is the problem as meant, and certified.
    """
    name = monitor.solver = choose(solver, problem, monitor.memory)
    if problem.n_rows <= POLISH_ROWS and problem.X.dtype == np.float32:
        # Costs nothing here, and the last digits need it.
        problem = replace(problem, X=problem.X.astype(np.float64))
    lowest = 0.0
    if not problem.kernel.positive_semidefinite:
        with single_threaded_blas():  # the shift must not depend on BLAS threads
            lowest, largest = extreme_eigenvalues(problem)
        problem = replace(problem, shift=max(0.0, -2.0 * lowest))
        if lowest > -INDEFINITE * abs(largest):
            lowest = 0.0
    small = problem.n_rows <= POLISH_ROWS and problem.dense_bytes <= monitor.memory
    small = small and name != "newton"
    allowed = monitor.max_iter
    if small:
        monitor.max_iter = min(allowed, DESCENT_BEFORE_POLISH)
    try:
        solution = SOLVERS[name](problem, start, monitor)
    finally:
        monitor.max_iter = allowed
    out_of_iterations = solution.outcome is Outcome.ITERATIONS and solution.iterations >= allowed
    if small and not out_of_iterations and solution.outcome is not Outcome.TIME:
        solution = polish(problem, solution, monitor)
    certificate = Certificate(np.nan, np.nan) if lowest < 0 else solution.certificate
    return FittedProblem(
        solution.net_dual, certificate, solution.outcome, solution.iterations, lowest
    )


def warn_of_outcomes(results: list[FittedProblem], tol: float, estimator: str) -> None:
    """Say what did not converge, or carries no certificate; once for all binary problems."""
    lowest = min(r.lowest_eigenvalue for r in results)
    if lowest < 0:
        warnings.warn(
            f"The kernel matrix is indefinite (lowest eigenvalue about {lowest:.3g}), so there is "
            "no duality gap to certify the solution; `relative_gap_` is NaN. The diagonal was "
            f"shifted by {-2 * lowest:.3g} for training. Use a positive semi-definite kernel "
            "(rbf, laplacian, linear, poly with coef0 >= 0) for a certificate.",
            ConvergenceWarning,
            stacklevel=3,
        )
    failed = [r for r in results if not r.outcome.converged]
    if failed:
        worst = max(failed, key=lambda r: np.nan_to_num(r.certificate.relative_gap))
        count = f" in {len(failed)} of {len(results)} binary problems" if len(results) > 1 else ""
        warnings.warn(
            f"{estimator} did not converge{count}: relative gap "
            f"{worst.certificate.relative_gap:.3g}, wanted tol={tol:g}. {worst.outcome.value}",
            ConvergenceWarning,
            stacklevel=3,
        )
