r"""Newton's method in the precision of the data, no further than ``tol``: for parts.

The step is that of :mod:`~widemargin.kernel.solvers.newton`, on the rows the loss penalises. Their
system is evaluated and factorised at each step, in float32 where the data are float32, and nothing
else of Q is kept; margins are float64. The duals of a step, moved into the loss's domain, are
certified with their own margins, and the first within ``tol`` are the solution. Where rounding
leaves no lower primal, the dense method in float64 goes on.

A step costs :math:`O(|A|^3/3)` and :math:`|A|^2 + M|A|` kernel values, memory is
:math:`O(|A|^2)`. On parts of 1,500 rows of cod-rna (C = 32, each row weighing 32 times that) it
took a third of the time of the dense method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History
from ...core.outcome import Outcome, Solution
from ...core.resources import single_threaded_blas
from ...core.unlocked_lapack import solve_positive_definite
from ..problem import Duals, KernelProblem, record_iteration
from . import newton
from .newton import exact_line_search, penalised_side

# A primal must fall by this share to count as lower.
ROUNDING = 1e-9


def solve(
    problem: KernelProblem, start: Duals, budget: Budget, history: History
) -> Solution[Duals]:
    """Solve from ``start``."""
    with single_threaded_blas():  # the number of BLAS threads must not change the result
        net_dual, margin = np.array(start.net_dual, dtype=np.float64), start.margin
        if margin is None:
            margin = problem.margins(net_dual)
        return _solve(problem, net_dual, margin, budget, history)


def _solve(
    problem: KernelProblem, net_dual: Array, margin: Array, budget: Budget, history: History
) -> Solution[Duals]:
    terms = problem.terms
    lowest = np.inf
    for step in range(1, budget.max_iter + 1):
        wanted = _newton_point(problem, margin)
        if wanted is None:
            break
        wanted_margin = problem.margins(wanted)
        feasible, feasible_margin = terms.nearest(wanted), wanted_margin
        if not np.array_equal(feasible, wanted):
            feasible_margin = wanted_margin + problem.margins(feasible - wanted)
        certificate = problem.certificate(feasible, feasible_margin)
        record_iteration(history, problem, step, certificate.primal, certificate.dual)
        converged = certificate.relative_gap <= budget.tol
        if converged or budget.out_of_time:
            outcome = Outcome.CONVERGED if converged else Outcome.TIME
            return Solution(Duals(feasible, feasible_margin), certificate, outcome, step)
        change, margin_change = wanted - net_dual, wanted_margin - margin
        t = exact_line_search(terms, net_dual, margin, change, margin_change)
        net_dual, margin = net_dual + t * change, margin + t * margin_change
        history.latest = Duals(net_dual)
        primal = 0.5 * float(net_dual @ margin) + float(np.sum(terms.primal(margin)))
        if not primal < lowest * (1 - ROUNDING):
            break
        lowest = primal
    return newton.solve(problem, Duals(terms.nearest(net_dual)), budget, history)


def _newton_point(problem: KernelProblem, margin: Array) -> Array | None:
    """Solve the optimality conditions for the rows penalised at ``margin``; None if rounding fails.

    With the labels on the right-hand side, the matrix is that of the kernel itself.
    """
    terms, side = problem.terms, penalised_side(problem.terms, margin)
    rows = np.flatnonzero(side)
    net_dual = np.zeros_like(margin)
    if rows.size == 0:
        return net_dual
    low, label = side[rows] > 0, problem.label[rows]
    curvature = np.where(low, terms.below[rows], terms.above[rows]) + problem.shift
    target = label * terms.at(rows).wanted(low)
    coef = _solve_system(problem, rows, curvature, target)
    if coef is None:
        return None
    net_dual[rows] = label * coef
    return net_dual


def _solve_system(
    problem: KernelProblem, rows: NDArray[np.int64], curvature: Array, target: Array
) -> NDArray[Any] | None:
    """Solve (K + diag ``curvature``) x = ``target`` by Cholesky's method, in place."""
    matrix = problem.kernel.block(problem.rows, problem.rows, rows, rows, problem.threads)
    matrix.ravel()[:: rows.size + 1] += curvature.astype(matrix.dtype)
    return solve_positive_definite(matrix, target)
