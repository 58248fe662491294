"""The fit of problems of which some rows have changed, from the solutions that they had."""

from __future__ import annotations

from ..core.budget import Budget
from ..core.history import History
from ..core.outcome import Outcome, Solution
from .carried_duals import CertifiedDuals
from .problem import Duals
from .problems import ExactFit, KernelProblems
from .solvers import resumed_descent


def can_update(problems: KernelProblems, solver: str) -> bool:
    """Whether :class:`UpdateFit` is for these problems.

    Their kernel must be positive semi-definite and not linear, for which there are other solvers.
    """
    kernel = problems.kernel
    return solver in ("auto", "blocks") and kernel.positive_semidefinite and kernel.name != "linear"


class UpdateFit(ExactFit):
    """An exact fit that starts next to its solution.

    ``neighbours`` are the duals to start from, with their margins; NaN where these are not known.
    """

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[Duals]:
        assert self.neighbours is not None
        start = self.neighbours[k]
        if isinstance(start, CertifiedDuals) and start.certificate.relative_gap <= budget.tol:
            return Solution(start, start.certificate, Outcome.CONVERGED, 0, "blocks")
        if not start.net_dual.any():  # a problem that is new
            return super()._solve(k, budget, history)
        problem = self.problems.problem(k, budget.threads)
        return resumed_descent.solve(problem, start, self.solver, budget, history)
