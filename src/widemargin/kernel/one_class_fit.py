"""The fit of a one-class machine: its single problem, solved and accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.fit import Fit
from ..core.history import History
from ..core.outcome import Solution
from .one_class import OneClassProblem
from .problem import Duals
from .problems import warn_of_indefinite
from .solvers.pair_blocks import solve


class OneClassFit(Fit[Duals]):
    """A fit that solves the one-class problem as a whole.

    Parameters
    ----------
    name : str
        Name of the estimator, for messages.
    problem : OneClassProblem
        The problem.
    budget : Budget
        Its limits.
    history : History
        The record, of the columns in :data:`.problem.COLUMNS`.
    """

    def __init__(
        self, name: str, problem: OneClassProblem, budget: Budget, history: History
    ) -> None:
        super().__init__(name, 1, self._solve, budget, history)
        self.problem = problem

    def _solve(self, k: int, budget: Budget, history: History) -> Solution[Duals]:
        return solve(self.problem, budget, history)

    def model(self) -> tuple[Array, float]:
        """Return duals and offset; of where an interrupt left them, if one did.

        The offset is a little below the best one, so that rows on the border are inliers by more
        than rounding.
        """
        duals = self.iterate(0)
        assert duals is not None
        margin = self.problem.margins(duals.net_dual) if duals.margin is None else duals.margin
        return duals.net_dual, self.problem.offset(margin) - self.problem.border

    def attributes(self) -> dict[str, Any]:
        """Return the attributes that describe how the fit went; the start is an iteration."""
        attributes = super().attributes()
        return attributes | {
            "n_iter_": max(1, attributes["n_iter_"]),
            "strategy_": "exact",
            "level_": 0,
        }

    def warn(self, left_out: Sequence[int] = ()) -> None:
        """Warn if the problem is not solved to the tolerance, or has no certificate."""
        warn_of_indefinite(min(each.iterate.lowest_eigenvalue for each in self.solved))
        super().warn(left_out)
