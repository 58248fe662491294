r"""Stochastic variance-reduced gradients.

Stages of :mod:`.stages` on all rows: a threaded pass, then :math:`T` steps in this thread on rows
drawn without replacement. For smooth losses. A stage costs ``n_rows`` + :math:`T` evaluations of a
row's gradient; memory is three numbers per row and :math:`T` row numbers.

Reference: Johnson and Zhang (2013); departures in :mod:`.stages` and native/linear_svrg.hpp.
"""

from __future__ import annotations

import numpy as np

from ... import _native
from ...core.arrays import Array
from ..monitor import LinearMonitor
from ..problem import Evaluation, LinearProblem
from ..solution import LinearSolution
from .stages import descend, safe_step, smoothness

# T over the number of rows.
STEPS_PER_ROW = 1.0


def solve(
    problem: LinearProblem,
    w: Array,
    monitor: LinearMonitor,
    dual: Array | None = None,
    *,
    steps_per_row: float = STEPS_PER_ROW,
    step_factor: float = 1.0,
) -> LinearSolution:
    """Minimise the objective from ``w``; the duals implied at the end go to ``dual``.

    ``steps_per_row`` is T / n_rows, ``step_factor`` multiplies the step that the data give.
    """
    stages = WholeSet(problem, np.empty(problem.n_rows) if dual is None else dual, steps_per_row)
    return descend(stages, w, monitor, safe_step(stages.total, step_factor))


class WholeSet:
    """Stages on rows in memory."""

    def __init__(self, problem: LinearProblem, dual: Array, steps_per_row: float) -> None:
        self.problem, self.dual = problem, dual
        self.smoothness = smoothness(problem)
        self.total = float(self.smoothness.sum())
        self.steps = max(1, round(steps_per_row * problem.n_rows))

    @property
    def evaluations(self) -> float:
        """Gradients of single rows evaluated so far."""
        return self.problem.evaluations

    def evaluate(self, w: Array) -> Evaluation:
        """Pass over all rows."""
        return self.problem.evaluate(w, dual=self.dual)

    def walk(self, w: Array, v: Array, step: float, seed: int) -> Array:
        """Take the steps from ``w``."""
        order = _native.draw_rows(self.smoothness, self.steps, seed)
        self.problem.evaluations += self.steps
        last, total, averaged_from = w.copy(), np.zeros_like(w), self.steps // 2
        self.problem.native.svrg_steps(
            order, self.smoothness, self.total, self.dual, v, step, averaged_from, last, total
        )
        return total / (self.steps - averaged_from)
