"""Solvers of the kernel problem, one file each, and the rule that picks one."""

from __future__ import annotations

from collections.abc import Callable

from ...core.arrays import Array
from ...core.outcome import Outcome
from ..problem import KernelProblem
from . import block_descent, clustered_descent, newton_by_size
from .monitor import Monitor
from .solution import KernelSolution

__all__ = ["KernelSolution", "Monitor", "Outcome", "Solver", "choose"]

# Of a start inside the loss's domain, and its margins where they are known.
Solver = Callable[[KernelProblem, Array, Monitor, Array | None], KernelSolution]

SOLVERS: dict[str, Solver] = {
    "blocks": clustered_descent.solve,
    "coordinate": block_descent.solve_without_blocks,
    "newton": newton_by_size.solve,
}

# Up to this many rows dense Newton costs little and ends exact to rounding.
NEWTON_ROWS = 1000
# A linear kernel of up to this many features has no larger rank, and Newton's preconditioner is
# exact: two or three steps where descent takes thousands (5,000 rows, 20 features, C = 100).
LINEAR_FEATURES = 1000


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
