r"""The coefficients of a basis that are best on training rows, however many there are.

With the expansion :math:`g = \sum_b \beta_b\,\kappa(z_b, \cdot)` on a basis that is given, the
problem of the machine itself,

.. math:: \min_\beta \tfrac12 \beta^\top K \beta + \sum_i \ell_i(y_i\,g(x_i)),

has as many unknowns as there are basis points. It is solved by Newton's method from the
coefficients of the compressed model. Gradients are those of all rows, which pass by in blocks; the
Hessian is that of up to ``HESSIAN_ROWS`` rows per basis point, drawn anew at every step among those
where the loss is curved, and an exact line search makes up for it. The corner of a hinge is rounded
over an interval, of each of ``HINGE_WIDTHS`` in turn. The result is never worse than the start.

A step costs two kernel values per row and basis point and :math:`O(b^3)` multiply-adds; memory is
:math:`O(b^2)` and some numbers per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.losses import Loss, LossTerms
from ...core.resources import single_threaded_blas
from ...core.rows import Rows, as_rows
from ..cholesky import CholeskyFactor, damped_cholesky
from ..kernels import FLOAT32_ROUNDING, Kernel, rounding_of_distances
from ..problems import BinaryTasks
from .normal_equations import add_squares, mirror

HESSIAN_ROWS = 50
# With the first alone, a hinge's objective ended up to 2 % higher where points were many.
HINGE_WIDTHS = (0.5, 0.1)
MOST_STEPS = 20
# A step that promises to lower the objective by this share of it is the last.
TOL = 1e-4
# Rows that pass by at a time; numbers of rows in one piece of a sum.
BLOCK_ROWS, PIECE = 1 << 16, 1 << 20
BLOCK_BYTES = 1 << 26
# The line search ends at this share of the first slope.
LINE_TOL, LINE_STEPS = 0.01, 10


@dataclass(frozen=True)
class RowsToFit:
    """Training rows with the binary problems they pose."""

    X: Any  # (n_rows, n_features): dense, also mapped from a file, or CSR
    tasks: BinaryTasks
    weights: Array  # (n_rows,): weight of each row's loss
    loss: Loss


@dataclass(frozen=True)
class Refit:
    """Coefficients that were fitted to rows."""

    coef: Array  # (n_problems, n_basis)
    n_iter: int  # Newton steps of the problem with most of them
    converged: bool


def refit(
    kernel: Kernel,
    basis: Any,
    coef: Array,
    intercept: Array,
    rows: RowsToFit,
    seed: int,
    threads: int,
) -> Refit:
    """Fit the coefficients of a basis to training rows.

    Parameters
    ----------
    kernel : Kernel
        Without constant.
    basis : array or CSR matrix of shape (n_basis, n_features)
        Basis points.
    coef : array of shape (n_problems, n_basis)
        Coefficients to start from.
    intercept : array of shape (n_problems,)
        Constants of the decisions, which stay.
    rows : RowsToFit
        The rows.
    seed : int
        Seed of the rows that the Hessian is drawn from.
    threads : int
        Threads; the result does not depend on them.
    """
    single = rows.X.dtype == basis.dtype == np.float32
    single = single and rounding_of_distances(kernel, basis) <= FLOAT32_ROUNDING
    dtype = np.dtype(np.float32 if single else np.float64)
    out, n_iter, converged = coef.copy(), 0, True
    with single_threaded_blas():
        for k in range(len(coef)):
            task = rows.tasks[k]
            weights = rows.weights if task.rows is None else rows.weights[task.rows]
            problem = _BasisProblem(
                kernel,
                as_rows(basis, dtype),
                rows.X,
                task.rows,
                task.label,
                rows.loss.terms(weights),
                dtype,
                threads,
            )
            random = np.random.default_rng([seed, k])
            out[k], steps, done = problem.solve(coef[k], float(intercept[k]), random)
            n_iter, converged = max(n_iter, steps), converged and done
    return Refit(out, n_iter, converged)


def _smoothed(terms: LossTerms) -> list[LossTerms]:
    """Return losses with second derivatives that lead to a loss: itself, if it has them."""
    if terms.smooth:
        return [terms]
    return [
        replace(terms, lower_margin=terms.lower_margin + width / 2, below=width / terms.bound)
        for width in HINGE_WIDTHS
    ]


class _BasisProblem:
    """One binary problem on a basis."""

    def __init__(
        self,
        kernel: Kernel,
        basis: Rows,
        X: Any,
        chosen: NDArray[np.int64] | None,
        label: Array,
        terms: LossTerms,
        dtype: np.dtype[Any],
        threads: int,
    ) -> None:
        self.kernel, self.basis, self.X, self.chosen = kernel, basis, X, chosen
        self.label, self.terms, self.dtype, self.threads = label, terms, dtype, threads
        self.corner = kernel.block(basis, basis, threads=threads).astype(np.float64)

    def solve(
        self, coef: Array, intercept: float, random: np.random.Generator
    ) -> tuple[Array, int, bool]:
        """Return coefficients, the number of Newton steps, and whether these sufficed."""
        margin = self.margins(coef) + self.label * intercept
        first, at_first, steps, done = coef, self._objective(coef, margin), 0, True
        for terms in _smoothed(self.terms):
            coef, more, done = self._descend(terms, coef, margin, random)
            steps += more
        better = self._objective(coef, margin) <= at_first
        return coef if better else first, steps, done

    def _descend(
        self, terms: LossTerms, coef: Array, margin: Array, random: np.random.Generator
    ) -> tuple[Array, int, bool]:
        """Take Newton steps for a smooth loss; margins change in place."""
        for step in range(MOST_STEPS):
            pull = self.corner @ coef
            dual, loss = _duals(terms, margin)
            gradient = pull - self._sums(dual * self.label)
            direction = -self._hessian(terms, margin, random).solve(gradient)
            promised = -0.5 * float(gradient @ direction)
            if promised <= TOL * (0.5 * float(coef @ pull) + loss):
                return coef, step, True
            change = self.margins(direction)
            bend = float(direction @ self.corner @ direction)
            length = _line_minimum(terms, margin, change, float(direction @ pull), bend)
            coef = coef + length * direction
            margin += length * change
        return coef, MOST_STEPS, False

    def _objective(self, coef: Array, margin: Array) -> float:
        return 0.5 * float(coef @ self.corner @ coef) + _duals(self.terms, margin)[1]

    def margins(self, coef: Array) -> Array:
        """Evaluate an expansion at all rows, times their labels."""
        out = np.empty(len(self.label))
        for here, rows in self._blocks():
            out[here] = self.kernel.product(rows, self.basis, coef[None], threads=self.threads)[0]
        out *= self.label
        return out

    def _sums(self, values: Array) -> Array:
        """Sum kernel values with all rows, at the basis."""
        total = np.zeros(self.basis.count)
        for here, rows in self._blocks():
            total += self.kernel.product(
                self.basis, rows, values[None, here], threads=self.threads
            )[0]
        return total

    def _blocks(self) -> Iterator[tuple[slice, Rows]]:
        for first in range(0, len(self.label), BLOCK_ROWS):
            here = slice(first, first + BLOCK_ROWS)
            X = self.X[here] if self.chosen is None else self.X[self.chosen[here]]
            yield here, as_rows(X, self.dtype)

    def _hessian(
        self, terms: LossTerms, margin: Array, random: np.random.Generator
    ) -> CholeskyFactor:
        """Factorise the Hessian of a sample of rows, weighed up to all of them."""
        curvature = np.concatenate(
            [
                _curvature(terms.at(here), margin[here]).astype(np.float32)
                for here in _pieces(len(margin))
            ]
        )
        curved = np.flatnonzero(curvature)
        total, most = curved.size, HESSIAN_ROWS * self.basis.count
        if total > most:
            curved = np.sort(random.choice(curved, most, replace=False))
        share = total / max(1, curved.size)
        normal = self.corner.copy()
        step = max(1, BLOCK_BYTES // (self.dtype.itemsize * self.basis.count))
        for first in range(0, curved.size, step):
            rows = curved[first : first + step]
            given = rows if self.chosen is None else self.chosen[rows]
            block = as_rows(self.X[given], self.dtype)
            values = self.kernel.block(block, self.basis, threads=self.threads)
            add_squares(normal, values, share * curvature[rows].astype(np.float64), self.threads)
        mirror(normal)
        # Squares are summed in the precision of the values.
        rounding = float(np.finfo(self.dtype).eps) * float(normal.diagonal().max())
        return damped_cholesky(normal, np.full(len(normal), rounding))


def _pieces(n_rows: int) -> Iterator[slice]:
    """Cut rows into pieces, so that temporary arrays stay small."""
    return (slice(first, first + PIECE) for first in range(0, n_rows, PIECE))


def _duals(terms: LossTerms, margin: Array) -> tuple[Array, float]:
    """Return what margins imply: duals, and the loss of all rows."""
    dual, loss = np.empty_like(margin), 0.0
    for here in _pieces(len(margin)):
        own = terms.at(here)
        dual[here] = own.implied_dual(margin[here])
        loss += float(own.primal(margin[here]).sum())
    return dual, loss


def _curvature(terms: LossTerms, margin: Array) -> Array:
    """Return the second derivative of the loss at margins."""
    short = terms.lower_margin - margin
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (short > 0) & (short < terms.bound * terms.below)
        curvature = np.where(below, 1.0 / terms.below, 0.0)
        if np.isfinite(terms.upper_margin):
            curvature = np.where(margin > terms.upper_margin, 1.0 / terms.above, curvature)
    return curvature


def _line_minimum(
    terms: LossTerms, margin: Array, change: Array, slope: float, bend: float
) -> float:
    """Minimise the objective along a direction, given slope and bend of its norm.

    The slope rises along the way; Newton steps look for its zero, within the bracket known so far.
    """

    def slope_and_bend(length: float) -> tuple[float, float]:
        first, second = slope + length * bend, bend
        for here in _pieces(len(margin)):
            own, there, way = terms.at(here), margin[here] + length * change[here], change[here]
            first -= float(own.implied_dual(there) @ way)
            second += float(_curvature(own, there) @ (way * way))
        return first, second

    low, high, length = 0.0, np.inf, 1.0
    start, _ = slope_and_bend(0.0)
    for _ in range(LINE_STEPS):
        here, rise = slope_and_bend(length)
        if abs(here) <= LINE_TOL * abs(start):
            break
        low, high = (length, high) if here < 0 else (low, length)
        ahead = length - here / rise if rise > 0 else np.inf
        inside = low < ahead < high
        length = ahead if inside else 0.5 * (low + high) if np.isfinite(high) else 2.0 * length
    return length
