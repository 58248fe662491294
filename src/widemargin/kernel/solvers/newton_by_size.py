"""Newton's method: dense where the matrix is small, by conjugate gradients elsewhere."""

from __future__ import annotations

from ...core.arrays import Array
from ..problem import KernelProblem
from . import newton, newton_cg
from .monitor import Monitor
from .solution import KernelSolution

# ODM on ijcnn1, cod-rna and covtype, C of 1 and 32: at this many rows the dense method took 0.4 to
# 1 times the CPU time of conjugate gradients, at 3,000 rows 1 to 2.3 times.
DENSE_ROWS = 2000


def solve(
    problem: KernelProblem, start: Array, monitor: Monitor, margin: Array | None = None
) -> KernelSolution:
    """Solve from ``start``, with its ``margin`` if known."""
    dense = problem.n_rows <= DENSE_ROWS and problem.dense_bytes <= monitor.memory
    if dense:
        return newton.solve(problem, start, monitor, margin)
    return newton_cg.solve(problem, start, monitor, margin)
