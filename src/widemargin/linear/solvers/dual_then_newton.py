"""Coordinate descent in the dual, and Newton's method where that is slow.

For more weights than a Hessian is kept for. Small ``C``: descent is done in twenty epochs, an order
of magnitude sooner than conjugate gradients. Large ``C`` on many rows: descent takes hundreds, and
Newton's few steps, from where descent has come to, are sooner; not where there are more weights
than rows, as in text (20 Newsgroups, C = 100: 400 epochs take a fifth of Newton's time).
"""

from __future__ import annotations

from ...core.arrays import Array
from ...core.outcome import Outcome
from ..monitor import LinearMonitor
from ..problem import LinearProblem
from ..solution import LinearSolution
from . import dual as coordinate_descent
from . import newton

# 200,000 x 50,000 sparse rows, ODM, C = 100: Newton takes as long as so many epochs from scratch.
EPOCHS_BEFORE_NEWTON = 60


def solve(
    problem: LinearProblem, w: Array, monitor: LinearMonitor, dual: Array | None = None
) -> LinearSolution:
    """Descend in the dual from ``dual``, then take Newton steps if the loss is smooth."""
    newton_may_help = problem.constants.smooth and problem.n_rows > problem.size
    allowed = EPOCHS_BEFORE_NEWTON * problem.n_rows if newton_may_help else float("inf")
    found = coordinate_descent.solve(problem, w, monitor, dual, most_evaluations=allowed)
    tired = found.outcome is Outcome.ITERATIONS and found.iterations < monitor.max_iter
    return newton.solve(problem, found.w, monitor, dual) if tired else found
