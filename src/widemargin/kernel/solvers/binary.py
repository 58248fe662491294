"""Solve one binary problem: choose the solver, treat indefinite kernels, polish small sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Certificate, Outcome, Solution
from ...core.resources import single_threaded_blas
from ..duplicates import merge_duplicates
from ..problem import Duals, KernelProblem, extreme_eigenvalues
from . import block_descent, finished_descent, newton, newton_cg, newton_to_tolerance
from .polish import POLISH_ROWS, polish

AnyProblem = TypeVar("AnyProblem", bound=KernelProblem)
Solver = Callable[[KernelProblem, Duals, Budget, History], Solution[Duals]]

# Up to this many rows dense Newton costs little and ends exact to rounding.
NEWTON_ROWS = 1000
# A linear kernel of up to this many features has no larger rank, and Newton's preconditioner is
# exact: two or three steps where descent takes thousands (5,000 rows, 20 features, C = 100).
LINEAR_FEATURES = 1000
# ODM on ijcnn1, cod-rna and covtype, C of 1 and 32: at this many rows dense Newton took 0.4 to 1
# times the CPU time of conjugate gradients, at 3,000 rows 1 to 2.3 times. A Newton that stops at
# the tolerance has the same limit.
DENSE_ROWS = 2000
# Eigenvalues this far below zero, relative to the largest, are rounding and not indefiniteness.
INDEFINITE = 1e-6
# A small problem that descent has not solved by then is better solved by dense algebra.
DESCENT_BEFORE_POLISH = 50


def solve_newton(
    problem: KernelProblem, start: Duals, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve by Newton's method: dense where the matrix is small, else by conjugate gradients."""
    solve = newton.solve if _dense(problem, budget) else newton_cg.solve
    return solve(problem, start, budget, history)


def _dense(problem: KernelProblem, budget: Budget) -> bool:
    return problem.n_rows <= DENSE_ROWS and problem.dense_bytes <= budget.memory


SOLVERS: dict[str, Solver] = {
    "blocks": finished_descent.solve,
    "coordinate": block_descent.solve_without_blocks,
    "newton": solve_newton,
}


def choose(name: str, problem: KernelProblem, memory: int) -> str:
    """Resolve ``"auto"`` and refuse what a solver cannot do.

    Newton for problems whose loss has curvature everywhere it is positive (ODM, squared hinge), if
    they are small and ``memory`` allows, or the kernel is linear, of low rank; block descent
    otherwise.
    """
    if name == "auto":
        small = problem.n_rows <= NEWTON_ROWS and problem.dense_bytes <= memory
        low_rank = problem.kernel.name == "linear" and problem.X.shape[1] <= LINEAR_FEATURES
        return "newton" if problem.terms.smooth and (small or low_rank) else "blocks"
    if name == "newton" and not problem.terms.smooth:
        raise ValueError(
            "solver='newton' needs a loss with curvature (ODM or loss='squared_hinge'); got the "
            "hinge loss. Use solver='blocks' or 'auto'."
        )
    return name


def made_convex(problem: AnyProblem, memory: int) -> tuple[AnyProblem, float]:
    """Return a convex problem, and the lowest eigenvalue of the kernel matrix if it is indefinite.

    An indefinite kernel has no convex problem and no duality. Adding −2 λ_min to the diagonal of
    Q makes one whose solution is found reliably (that direction keeps its weight, with its sign
    turned); the certificate of that other problem is not to be reported. Eigenvalues that are
    negative by rounding alone are shifted too, but then it is the problem as meant, and the lowest
    is given as zero.
    """
    if problem.kernel.positive_semidefinite:
        return problem, 0.0
    with single_threaded_blas():  # the shift must not depend on BLAS threads
        lowest, largest = extreme_eigenvalues(problem, memory)
    shifted = replace(problem, shift=max(0.0, -2.0 * lowest))
    return shifted, 0.0 if lowest > -INDEFINITE * abs(largest) else lowest


def solve_binary(
    problem: KernelProblem,
    start: Duals,
    solver: str,
    budget: Budget,
    history: History,
    *,
    last_digits: bool = True,
    merge: bool = True,
) -> Solution[Duals]:
    """Solve a problem to the budget's tolerance, and with ``last_digits`` small ones to rounding.

    Copies of rows are merged for the solve if there are many and ``merge`` allows it; the duals
    that come back are those of all rows.
    """
    merged = merge_duplicates(problem) if merge else None
    if merged is None:
        return _solve(problem, start, solver, budget, history, last_digits)
    margin = None if start.margin is None else start.margin[merged.first]
    start = Duals(merged.merge(start.net_dual), margin)
    try:
        solution = _solve(merged.problem, start, solver, budget, history, last_digits)
    finally:
        if history.latest is not None:
            history.latest = Duals(merged.spread(history.latest.net_dual))
    found = solution.iterate
    margin = None if found.margin is None else found.margin[merged.group]  # of all copies alike
    return replace(
        solution, iterate=replace(found, net_dual=merged.spread(found.net_dual), margin=margin)
    )


def _solve(
    problem: KernelProblem,
    start: Duals,
    solver: str,
    budget: Budget,
    history: History,
    last_digits: bool,
) -> Solution[Duals]:
    """Choose the solver and solve; a problem that was not convex is not certified."""
    name = choose(solver, problem, budget.memory)
    if last_digits and problem.n_rows <= POLISH_ROWS and problem.X.dtype == np.float32:
        # Costs nothing here, and the last digits need it.
        problem = replace(problem, X=problem.X.astype(np.float64))
    given = problem
    problem, lowest = made_convex(problem, budget.memory)
    if problem is not given:
        start = Duals(start.net_dual)  # its margins were those of another problem
    solve = SOLVERS[name]
    if name == "newton" and not last_digits and _dense(problem, budget):
        solve = newton_to_tolerance.solve
    small = problem.n_rows <= POLISH_ROWS and problem.dense_bytes <= budget.memory
    if small and last_digits and name != "newton":
        few = replace(budget, max_iter=min(budget.max_iter, DESCENT_BEFORE_POLISH))
        solution = solve(problem, start, few, history)
        spent = solution.outcome is Outcome.ITERATIONS and solution.iterations >= budget.max_iter
        if not spent and solution.outcome is not Outcome.TIME:
            solution = polish(problem, solution, budget, history)
    else:
        solution = solve(problem, start, budget, history)
    return replace(
        solution,
        iterate=replace(solution.iterate, lowest_eigenvalue=lowest),
        certificate=Certificate(np.nan, np.nan) if lowest < 0 else solution.certificate,
        solver=name,
    )
