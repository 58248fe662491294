r"""Stages of variance-reduced steps: what ``svrg``, ``dsvrg`` and ``csvrg`` share.

A stage is a pass over all rows, which gives the gradient at its start and the certificate, then
:math:`T` cheap steps on single rows (native/linear_svrg.hpp). The next stage starts from the mean
of the last :math:`T/2` iterates: a mean does not jitter, so that steps may be longer.

Row i's loss is :math:`L_i`-smooth with :math:`L_i = \kappa_i \lVert x_i \rVert^2`, where
:math:`\kappa_i` is the loss's steepest curvature times the row's weight. Rows are drawn in
proportion to it, and the step is

.. math:: \eta = \frac{1}{1 + \sum_i L_i} .

Nobody is asked for one. A stage after which the objective is higher is undone, and the steps are
halved from then on.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...core.arrays import Array
from ...core.outcome import Outcome
from ..monitor import LinearMonitor
from ..problem import Evaluation, LinearProblem
from ..solution import LinearSolution

# After so many halvings it is not the step that keeps the objective from falling.
MOST_HALVINGS = 30


class Stages(Protocol):
    """The two halves of a stage, wherever the rows are."""

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


def descend(stages: Stages, w: Array, monitor: LinearMonitor, step: float) -> LinearSolution:
    """Run stages until the certificate is within ``tol``."""
    at = stages.evaluate(w)
    outcome, halvings = Outcome.CONVERGED, 0
    while not at.certificate.relative_gap <= monitor.tol:  # nor where it is not a number
        if monitor.iterations >= monitor.max_iter:
            outcome = Outcome.ITERATIONS
            break
        if monitor.record(at.certificate, stages.evaluations, w):
            outcome = Outcome.TIME
            break
        new = stages.walk(w, w - at.gradient, step, monitor.seed + monitor.iterations)
        there = stages.evaluate(new)
        if improved(at, there):
            w, at = new, there
            continue
        at = stages.evaluate(w)
        step, halvings = 0.5 * step, halvings + 1
        if halvings > MOST_HALVINGS:
            outcome = Outcome.STALLED
            break
    monitor.record(at.certificate, stages.evaluations, w, iterations=0)
    return LinearSolution(w, at.certificate, outcome, monitor.iterations)


def improved(at: Evaluation, there: Evaluation) -> bool:
    """Whether the objective fell, or, where rounding hides that, the gradient shrank."""
    if not np.isfinite(there.objective):
        return False
    noise = 1e-13 * abs(at.objective)
    if there.objective < at.objective - noise:
        return True
    smaller = float(there.gradient @ there.gradient) < float(at.gradient @ at.gradient)
    return there.objective <= at.objective + noise and smaller


def smoothness(problem: LinearProblem) -> Array:
    """Return Lᵢ of every row."""
    if not problem.constants.smooth:
        raise ValueError(
            "Variance-reduced solvers need a loss with a continuous derivative (ODM's, or the "
            "squared hinge); got the hinge. Use the solvers 'newton', 'dual' or 'pegasos' for it."
        )
    curvature = problem.constants.steepest * problem.squared_norms
    return curvature if problem.weight is None else curvature * problem.weight


def safe_step(total_smoothness: float, factor: float = 1.0) -> float:
    """Return ``factor`` times the step above; below 1, or nothing of ``w`` would be left."""
    return float(np.clip(factor / (1.0 + total_smoothness), 1e-300, 0.5))
