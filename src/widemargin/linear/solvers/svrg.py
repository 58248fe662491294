r"""Stochastic variance-reduced gradients, with stages that ``dsvrg`` and ``sampled_svrg`` share.

A stage is a pass over all rows, which gives the gradient at its start and the certificate, then
:math:`T` cheap steps on single rows (native/linear/svrg.hpp), drawn without replacement. The next
stage starts from the mean of the last :math:`T/2` iterates: a mean does not jitter, so that steps
may be longer. It costs ``n_rows`` + :math:`T` evaluations of a row's gradient; memory is three
numbers per row and :math:`T` row numbers. For smooth losses.

Row i's loss is :math:`L_i`-smooth with :math:`L_i = \kappa_i \lVert x_i \rVert^2`, where
:math:`\kappa_i` is the loss's steepest curvature times the row's weight. Rows are drawn in
proportion to it, and the step is

.. math:: \eta = \frac{1}{1 + \sum_i L_i} .

A stage after which the objective is higher is undone, and the steps are halved from then on.

Reference: Johnson and Zhang (2013). Departures: the mean, the draw and the step above; those of
native/linear/svrg.hpp.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ... import _native
from ...core.arrays import Array
from ...core.budget import Budget
from ...core.outcome import Outcome, Solution
from ..history import LinearHistory
from ..problem import Evaluation, LinearProblem

# T over the number of rows.
STEPS_PER_ROW = 1.0
# After so many halvings it is not the step that keeps the objective from falling.
MOST_HALVINGS = 30


def solve(
    problem: LinearProblem,
    w: Array,
    budget: Budget,
    history: LinearHistory,
    dual: Array | None = None,
    *,
    steps_per_row: float = STEPS_PER_ROW,
    step_factor: float = 1.0,
) -> Solution[Array]:
    """Minimise the objective from ``w``; the duals implied at the end go to ``dual``.

    ``steps_per_row`` is T / n_rows, ``step_factor`` multiplies the step that the data give.
    """
    stages = WholeSet(problem, np.empty(problem.n_rows) if dual is None else dual, steps_per_row)
    return descend(stages, w, budget, history, safe_step(stages.total, step_factor))


class Stages(Protocol):
    """The two halves of a stage, on rows in one place or on parts."""

    @property
    def evaluations(self) -> float:
        """Gradients of single rows evaluated so far."""
        ...

    def evaluate(self, w: Array) -> Evaluation:
        """Pass over all rows; ``w`` is where the next steps start."""
        ...

    def walk(self, w: Array, v: Array, step: float, seed: int) -> Array:
        """Take steps from ``w``, with v = w − gradient; return the mean of the later iterates."""
        ...


def descend(
    stages: Stages, w: Array, budget: Budget, history: LinearHistory, step: float
) -> Solution[Array]:
    """Run stages until the certificate is within ``tol``."""
    at = stages.evaluate(w)
    outcome, halvings = Outcome.CONVERGED, 0
    while not at.certificate.relative_gap <= budget.tol:  # nor where it is not a number
        if history.iterations >= budget.max_iter:
            outcome = Outcome.ITERATIONS
            break
        history.note(w, at.certificate, stages.evaluations)
        if budget.out_of_time:
            outcome = Outcome.TIME
            break
        new = stages.walk(w, w - at.gradient, step, budget.seed + history.iterations)
        there = stages.evaluate(new)
        if improved(at, there):
            w, at = new, there
            continue
        at = stages.evaluate(w)
        step, halvings = 0.5 * step, halvings + 1
        if halvings > MOST_HALVINGS:
            outcome = Outcome.STALLED
            break
    history.note(w, at.certificate, stages.evaluations, iterations=0)
    return Solution(w, at.certificate, outcome, history.iterations)


def improved(at: Evaluation, there: Evaluation) -> bool:
    """Whether the objective fell, or, where rounding hides that, the gradient shrank."""
    if not np.isfinite(there.objective):
        return False
    noise = 1e-13 * abs(at.objective)
    if there.objective < at.objective - noise:
        return True
    smaller = float(there.gradient @ there.gradient) < float(at.gradient @ at.gradient)
    return there.objective <= at.objective + noise and smaller


def safe_step(total_smoothness: float, factor: float = 1.0) -> float:
    """Return ``factor`` times the step above; below 1, or nothing of ``w`` would be left."""
    return float(np.clip(factor / (1.0 + total_smoothness), 1e-300, 0.5))


class WholeSet:
    """Stages on rows in memory."""

    def __init__(self, problem: LinearProblem, dual: Array, steps_per_row: float) -> None:
        self.problem, self.dual = problem, dual
        self.smoothness = problem.smoothness()
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
