"""Solve the problem of one part, from what its level was given."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...core.arrays import Array
from ...core.outcome import Outcome
from ..problem import KernelProblem
from ..samples import Part, PartReport
from ..solvers.binary import FittedProblem, fit_binary
from ..solvers.monitor import Listener, Monitor
from .methods import Method

# What descent has not solved in the first number of working sets Newton solves sooner, up to the
# second number of rows. ODM, 1,500 rows and 32 times their weight: cod-rna 100 ms against 302 by
# descent alone, ijcnn1 81 against 107.
STEPS_BEFORE_NEWTON, NEWTON_PART_ROWS = 40, 2000

# Levels above the root are solved to the first number times `tol`, and to the second at most. At
# 1e-3 and at 1e-2 accuracies differed by at most .001, up or down (ijcnn1, cod-rna, skin_nonskin,
# a9a and susy_30k); the former took up to 1.5 times the time.
TIMES_TOL, MOST_TOL = 10.0, 1e-2


@dataclass(frozen=True)
class PartSettings:
    """What the solves of a level have in common.

    Attributes
    ----------
    total : float
        Weight of all training rows.
    tol, max_iter, solver, seed
        As the estimator has them; see ``level_tol``.
    memory : int
        Bytes for each part.
    threads : int
        Threads for each part.
    root : bool
        Whether the part is the whole set.
    deadline : float or None
        When to stop, as :func:`time.time` tells it.
    stopping : callable or None
        Asked now and then whether to give up.
    listener : callable or None
        Told of iterations; at the root only, where there is one part in the main thread.
    """

    total: float
    tol: float
    max_iter: int
    solver: str
    seed: int
    memory: int
    threads: int
    root: bool
    deadline: float | None = None
    stopping: Callable[[], bool] | None = None
    listener: Listener | None = None

    @property
    def level_tol(self) -> float:
        """Relative gap for the parts of the level."""
        return level_tol(self.tol, self.root)


def level_tol(tol: float, root: bool) -> float:
    """Return the relative gap that parts are solved to: ``tol`` at the root, looser above it."""
    return tol if root else max(tol, min(TIMES_TOL * tol, MOST_TOL))


def solve_part(part: Part, method: Method, settings: PartSettings) -> Part:
    """Solve a part from the duals it was given; the result has a report."""
    factor = method.weight(settings.total, part.mass)
    problem = part.samples().problem(factor, settings.threads)
    carried = part.net_dual
    if settings.root and method.refine and np.any(carried):
        carried = _refined(problem, carried, method, settings)
    start, margin = method.start(problem, carried)
    result = _solve(problem, start, margin, settings)
    certificate = result.certificate
    report = PartReport(
        certificate.primal,
        certificate.dual,
        result.iterations,
        result.outcome.name,
        result.solver,
        moved=float(np.abs(result.net_dual - start).sum()),
        size=float(np.abs(result.net_dual).sum()),
        lowest_eigenvalue=result.lowest_eigenvalue,
    )
    return replace(part, net_dual=result.net_dual, report=report)


def _solve(
    problem: KernelProblem, start: Array, margin: Array | None, settings: PartSettings
) -> FittedProblem:
    left = None if settings.deadline is None else max(1e-3, settings.deadline - time.time())
    monitor = Monitor(
        tol=settings.level_tol,
        max_iter=settings.max_iter,
        max_time=left,
        memory=settings.memory,
        seed=settings.seed,
        listener=settings.listener,
        stopping=settings.stopping,
    )
    if settings.solver != "auto" or settings.root:
        return fit_binary(
            problem,
            start,
            settings.solver,
            monitor,
            margin=margin,
            last_digits=settings.root,
            merge=False,  # copies were merged before the rows were divided
        )
    return _descent_or_newton(problem, start, margin, monitor)


def _descent_or_newton(
    problem: KernelProblem, start: Array, margin: Array | None, monitor: Monitor
) -> FittedProblem:
    """Descend, and let dense Newton finish a small part that a few steps of descent do not.

    Most parts need a handful of steps. Those whose rows weigh much (small copies of a large set)
    and whose labels are noisy need hundreds, where Newton takes a third of the time.
    """
    small = problem.n_rows <= NEWTON_PART_ROWS and problem.dense_bytes <= monitor.memory
    allowed = monitor.max_iter
    if small and problem.terms.smooth:
        monitor.max_iter = min(allowed, STEPS_BEFORE_NEWTON)
    quick = partial(fit_binary, monitor=monitor, last_digits=False, merge=False)
    result = quick(problem, start, "blocks", margin=margin)
    if result.outcome is not Outcome.ITERATIONS or result.iterations >= allowed:
        return result
    monitor.max_iter = allowed
    return quick(problem, result.net_dual, "newton", margin=result.margin)


def _refined(
    problem: KernelProblem, carried: Array, method: Method, settings: PartSettings
) -> Array:
    """Solve the rows with a dual alone; the others stay at zero."""
    rows = np.flatnonzero(carried)
    if rows.size == problem.n_rows:
        return carried
    alone = problem.only(rows)
    start, margin = method.start(alone, carried[rows])
    result = _solve(alone, start, margin, replace(settings, root=False, listener=None))
    refined = np.zeros_like(carried)
    refined[rows] = result.net_dual
    return refined


def timed_out(report: PartReport | None) -> bool:
    """Whether a part was stopped before its solver was done."""
    return report is None or report.outcome == Outcome.TIME.name
