r"""Newton's method for the coefficients of a basis, wherever the rows are.

With the expansion :math:`g = \sum_b \beta_b\,\kappa(z_b, \cdot)` on a basis that is given, the
problem of the machine itself,

.. math:: \min_\beta \tfrac12 \beta^\top K \beta + \sum_i \ell_i(y_i\,g(x_i)),

has as many unknowns as there are basis points. Gradients are those of all rows; the Hessian is that
of up to ``HESSIAN_ROWS`` rows per basis point, drawn anew at every step among those where the loss
is curved, and a line search makes up for it. The corner of a hinge is rounded over an interval, of
several widths in turn. The result is never worse than the start.

:mod:`.basis_refit` passes over rows in this process; ``spark.kernel.row_passes`` over rows on a
cluster. This module keeps three square matrices of the basis, and no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ...core.arrays import Array
from ...core.losses import LossTerms
from ..cholesky import CholeskyFactor, damped_cholesky
from .normal_equations import mirror

HESSIAN_ROWS = 20
# With the first alone, a hinge's objective ended up to 2 % higher where points were many.
HINGE_WIDTHS = (0.5, 0.1)
MOST_STEPS = 20
# A step that promises to lower the objective by this share of it is the last.
TOL = 1e-4

# Told of every step: how many there were, and the objective before it.
Report = Callable[[int, float], None]


class RowPasses(Protocol):
    """Passes over the rows of one binary problem.

    ``width`` is that of the interval over which a hinge is rounded; None is the loss itself.
    """

    smooth: bool  # whether the loss has second derivatives, and is not rounded

    def loss(self, coef: Array) -> float:
        """Sum the loss of all rows."""
        ...

    def loss_and_pull(self, coef: Array, width: float | None) -> tuple[float, Array]:
        """Sum the loss of all rows and, at the basis, kernel values with what margins imply."""
        ...

    def add_curvature(self, coef: Array, width: float | None, normal: Array) -> None:
        """Add the Hessian of the loss, by a sample of rows, at and below the diagonal.

        :meth:`loss_and_pull` has been called with the same coefficients and width.
        """
        ...

    def moved(
        self, coef: Array, direction: Array, width: float | None, slope: float, bend: float
    ) -> Array:
        """Return the best coefficients along a direction, given slope and bend of the norm."""
        ...


def minimise(
    passes: RowPasses,
    corner: Array,
    coef: Array,
    *,
    widths: Sequence[float] = HINGE_WIDTHS,
    report: Report | None = None,
) -> tuple[Array, int, bool]:
    """Return coefficients, the number of Newton steps, and whether these sufficed.

    Parameters
    ----------
    passes : RowPasses
        The rows.
    corner : array of shape (n_basis, n_basis)
        Kernel matrix of the basis.
    coef : array of shape (n_basis,)
        Coefficients to start from.
    widths : sequence of float
        Intervals over which a hinge is rounded, in turn.
    report : callable, optional
        Told of every step.
    """
    first, at_first, steps, done = coef, _objective(passes, corner, coef), 0, True
    for width in [None] if passes.smooth else widths:
        done = False
        for _ in range(MOST_STEPS):
            pull = corner @ coef
            loss, sums = passes.loss_and_pull(coef, width)
            gradient = pull - sums
            direction = -_factor(passes, corner, coef, width).solve(gradient)
            promised = -0.5 * float(gradient @ direction)
            objective = 0.5 * float(coef @ pull) + loss
            if promised <= TOL * objective:
                done = True
                break
            if report is not None:
                report(steps, objective)
            bend = float(direction @ corner @ direction)
            coef = passes.moved(coef, direction, width, float(direction @ pull), bend)
            steps += 1
    better = _objective(passes, corner, coef) <= at_first
    return coef if better else first, steps, done


def _objective(passes: RowPasses, corner: Array, coef: Array) -> float:
    return 0.5 * float(coef @ corner @ coef) + passes.loss(coef)


def _factor(passes: RowPasses, corner: Array, coef: Array, width: float | None) -> CholeskyFactor:
    normal = corner.copy()
    passes.add_curvature(coef, width, normal)
    mirror(normal)
    ridge = 1e-12 * float(normal.diagonal().max())
    return damped_cholesky(normal, np.full(len(normal), ridge))


def rounded(terms: LossTerms, width: float | None) -> LossTerms:
    """Return a loss with second derivatives: one whose corners are rounded over an interval.

    A hinge is rounded around its corner; the two corners of an absolute loss, which may be in one
    place, on their outer sides.
    """
    if width is None:
        return terms
    if terms.two_sided:
        return replace(terms, below=width / terms.bound, above=width / -terms.floor)
    return replace(terms, lower_margin=terms.lower_margin + width / 2, below=width / terms.bound)


def curvature_of(terms: LossTerms, margin: Array) -> Array:
    """Return the second derivative of the loss at margins."""
    short = terms.lower - margin
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (short > 0) & (short < terms.bound * terms.below)
        curvature = np.where(below, 1.0 / terms.below, 0.0)
        if terms.two_sided:
            excess = margin - terms.upper
            above = (excess > 0) & (excess < -terms.floor * terms.above)
            curvature = np.where(above, 1.0 / terms.above, curvature)
    return curvature
