"""Newton's method: dense where the matrix is small, by conjugate gradients elsewhere."""

from __future__ import annotations

from ..losses import Array
from ..problem import KernelProblem
from . import newton, newton_cg
from .monitor import Monitor
from .outcome import Solution

# ODM on ijcnn1, cod-rna and covtype, C=1 and 32, CPU time of dense over conjugate gradients: 0.4 to 1
# at this many rows, 1 to 2.3 at 3,000.
DENSE_ROWS = 2000


def solve(
    problem: KernelProblem, start: Array, monitor: Monitor, margin: Array | None = None
) -> Solution:
    """Solve from ``start``, with its ``margin`` if known."""
    dense = problem.n_rows <= DENSE_ROWS and problem.dense_bytes <= monitor.memory
    if dense:
        return newton.solve(problem, start, monitor, margin)
    return newton_cg.solve(problem, start, monitor, margin)
