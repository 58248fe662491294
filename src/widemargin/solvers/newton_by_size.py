"""Newton's method: dense where the matrix is small, by conjugate gradients elsewhere."""

from __future__ import annotations

from ..losses import Array
from ..problem import KernelProblem
from . import newton, newton_cg
from .monitor import Monitor
from .outcome import Solution

# Above this many rows conjugate gradients are sooner done.
DENSE_ROWS = 2000


def solve(
    problem: KernelProblem, start: Array, monitor: Monitor, margin: Array | None = None
) -> Solution:
    """Solve from ``start``, with its ``margin`` if known."""
    dense = problem.n_rows <= DENSE_ROWS and problem.dense_bytes <= monitor.memory
    if dense:
        return newton.solve(problem, start, monitor, margin)
    return newton_cg.solve(problem, start, monitor, margin)
