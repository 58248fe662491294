"""Solve the problem of one part, from what its level was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...core.arrays import Array
from ...core.budget import Budget
from ...core.history import History, Listener
from ...core.outcome import Outcome, Solution
from ..one_class import OneClassProblem
from ..problem import COLUMNS, Duals, KernelProblem
from ..samples import Part, PartReport
from ..solvers import pair_blocks
from ..solvers.binary import solve_binary
from ..solvers.block_descent import WORKING_SET_OF_FEW_ROWS
from ..solvers.finished_descent import PER_WORKING_SET
from .methods import Method

# Descent gets this many working sets; Newton's method then finishes sooner. ODM, 1,500 rows and 32
# times their weight: cod-rna 100 ms against 302 by descent alone, ijcnn1 81 against 107.
STEPS_BEFORE_NEWTON = 40
# Parts with more rows are left to descent.
NEWTON_PART_ROWS = 2000

# Levels other than the root are solved to this multiple of `tol`.
TIMES_TOL = 10.0
# That tolerance is at most this. With 1e-3 instead, accuracies differed by at most .001 in either
# direction (ijcnn1, cod-rna, skin_nonskin, a9a and susy_30k), in up to 1.5 times the time.
MOST_TOL = 1e-2

# Parts that are solved for the root's start alone: to this gap,
START_TOL = 0.1
# and by working sets that take a part's rows so many times,
START_SWEEPS = 2
# or cost this share of the whole kernel matrix, in multiply-adds per value, if that is more.
START_SHARE = 0.04


def level_tol(tol: float, root: bool, printed: bool = False) -> float:
    """Return the relative gap that parts are solved to.

    It is ``tol`` at the root and looser elsewhere, unless the method runs as published.
    """
    return tol if root or printed else max(tol, min(TIMES_TOL * tol, MOST_TOL))


def start_budget(budget: Budget, rows: int, parts: int) -> Budget:
    """Return the limits of a part of ``rows`` rows that is solved for the root's start alone.

    The work is counted and not timed, so that a fit gives the same model every time.
    """
    sweeps = START_SWEEPS * -(-rows // WORKING_SET_OF_FEW_ROWS)
    share = START_SHARE * parts * rows**2 / (PER_WORKING_SET * WORKING_SET_OF_FEW_ROWS**2)
    most = min(budget.max_iter, max(sweeps, int(share)))
    return replace(budget, tol=max(budget.tol, START_TOL), max_iter=most)


def solve_part(
    part: Part,
    method: Method,
    total: float,
    solver: str,
    budget: Budget,
    *,
    root: bool,
    listener: Listener | None = None,
) -> Part:
    """Solve a part from the duals it was given; the result has a report.

    Parameters
    ----------
    part : Part
        The part.
    method : Method
        The row of the table: weight of the rows, start, refinement.
    total : float
        Weight of all training rows.
    solver : str
        Name of the solver, or "auto".
    budget : Budget
        Limits of the part; the tolerance is that of the level.
    root : bool
        Whether the part is the whole set, which is solved to the last digits.
    listener : callable, optional
        Called after every iteration.
    """
    problem = part.samples().problem(method.weight(total, part.mass), budget.threads)
    solver = "coordinate" if method.printed and solver == "auto" else solver
    carried = part.net_dual
    if root and method.refine and np.any(carried):
        carried = _refined(problem, carried, method, solver, budget)
    offset = 0.0
    if isinstance(problem, OneClassProblem):
        start = Duals(carried)
        solution = _solve_one_class(problem, carried, budget, listener)
        assert solution.iterate.margin is not None
        offset = problem.offset(solution.iterate.margin)
    else:
        start = method.start(problem, carried)
        solution = _solve(problem, start, solver, budget, root=root, listener=listener)
    net_dual, certificate = solution.iterate.net_dual, solution.certificate
    report = PartReport(
        certificate.primal,
        certificate.dual,
        solution.iterations,
        solution.outcome.name,
        solution.solver,
        moved=float(np.abs(net_dual - start.net_dual).sum()),
        size=float(np.abs(net_dual).sum()),
        lowest_eigenvalue=solution.iterate.lowest_eigenvalue,
        offset=offset,
    )
    return replace(part, net_dual=net_dual, report=report)


def converges(solve: Callable[[Part], Part], part: Part, _: bool) -> bool:
    """Return whether a part is solved within its budget; the solution is not kept."""
    report = solve(part).report
    return report is not None and report.outcome == Outcome.CONVERGED.name


def _solve(
    problem: KernelProblem,
    start: Duals,
    solver: str,
    budget: Budget,
    *,
    root: bool = False,
    listener: Listener | None = None,
) -> Solution[Duals]:
    """Solve with the solver named, or let dense Newton finish what descent does not.

    Most parts need a handful of steps of descent. Those whose rows weigh much (small copies of a
    large set) and whose labels are noisy need hundreds, where Newton takes a third of the time.
    """
    history = History.of(COLUMNS, budget, listener)
    # Copies were merged before the rows were divided.
    solve = partial(solve_binary, history=history, last_digits=root, merge=False)
    if solver != "auto" or root:
        return solve(problem, start, solver, budget)
    small = problem.n_rows <= NEWTON_PART_ROWS and problem.dense_bytes <= budget.memory
    few = budget
    if small and problem.terms.smooth:
        few = replace(budget, max_iter=min(budget.max_iter, STEPS_BEFORE_NEWTON))
    solution = solve(problem, start, "blocks", few)
    if solution.outcome is not Outcome.ITERATIONS or solution.iterations >= budget.max_iter:
        return solution
    return solve(problem, solution.iterate, "newton", budget)


def _solve_one_class(
    problem: OneClassProblem, carried: Array, budget: Budget, listener: Listener | None
) -> Solution[Duals]:
    """Solve from what was carried; where that is nothing, the solver finds a start of its own."""
    start = carried if np.any(carried) else None
    return pair_blocks.solve(problem, budget, History.of(COLUMNS, budget, listener), start)


def _refined(
    problem: KernelProblem, carried: Array, method: Method, solver: str, budget: Budget
) -> Array:
    """Solve the rows with a dual alone, to the tolerance of parts; the others stay at zero."""
    rows = np.flatnonzero(carried)
    if rows.size == problem.n_rows:
        return carried
    alone = problem.only(rows)
    start = method.start(alone, carried[rows])
    looser = replace(budget, tol=level_tol(budget.tol, root=False, printed=method.printed))
    solution = _solve(alone, start, solver, looser)
    refined = np.zeros_like(carried)
    refined[rows] = solution.iterate.net_dual
    return refined
