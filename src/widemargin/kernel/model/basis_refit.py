r"""The coefficients of a basis that are best on training rows, however many there are.

:mod:`.basis_newton` says how; here rows pass by in blocks, in this process. A step costs two kernel
values per row and basis point and :math:`O(b^3)` multiply-adds; memory is :math:`O(b^2)` and some
numbers per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.blocks import bytes_of
from ...core.losses import Loss, LossTerms
from ...core.resources import single_threaded_blas
from ...core.rows import Rows, as_rows
from ..kernels import FLOAT32_ROUNDING, Kernel, rounding_of_distances
from ..problems import BinaryTasks
from .basis_newton import HESSIAN_ROWS, HINGE_WIDTHS, curvature_of, minimise, rounded
from .normal_equations import add_squares, rows_of_block

# Rows that pass by at a time, and the largest share of the memory that a copy of them may take.
BLOCK_ROWS, ROWS_SHARE = 1 << 16, 4
# Numbers of rows in one piece of a sum.
PIECE = 1 << 20
# The line search ends at this share of the first slope.
LINE_TOL, LINE_STEPS = 0.01, 10


@dataclass(frozen=True)
class RowsToFit:
    """Training rows with the binary problems they pose."""

    X: Any  # (n_rows, n_features): dense, also mapped from a file, or CSR
    tasks: BinaryTasks
    weights: Array  # (n_rows,): weight of each row's loss
    loss: Loss
    target: Array | None = None  # (n_rows,): targets of a regression
    unit: float = 1.0  # size of margins, or of residuals


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
    memory: int,
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
    memory : int
        Bytes that copies of rows and blocks of kernel values may take.
    """
    single = rows.X.dtype == basis.dtype == np.float32
    single = single and rounding_of_distances(kernel, basis) <= FLOAT32_ROUNDING
    dtype = np.dtype(np.float32 if single else np.float64)
    out, n_iter, converged = coef.copy(), 0, True
    precise = as_rows(basis, np.float64)  # rounding must not make the matrix indefinite
    corner = kernel.block(precise, precise, threads=threads)
    with single_threaded_blas():
        for k in range(len(coef)):
            task = rows.tasks[k]
            terms = replace(rows.loss.terms(rows.weights), offset=rows.target)
            passes = _RowsHere(
                kernel,
                as_rows(basis, dtype),
                rows.X,
                task.rows,
                task.label,
                terms if task.rows is None else terms.at(task.rows),
                float(intercept[k]),
                np.random.default_rng([seed, k]),
                dtype,
                threads,
                memory,
            )
            out[k], steps, done = minimise(
                passes, corner, coef[k], widths=[rows.unit * width for width in HINGE_WIDTHS]
            )
            n_iter, converged = max(n_iter, steps), converged and done
    return Refit(out, n_iter, converged)


class _RowsHere:
    """Passes over the rows of one binary problem, whose margins are kept."""

    def __init__(
        self,
        kernel: Kernel,
        basis: Rows,
        X: Any,
        chosen: NDArray[np.int64] | None,
        label: Array,
        terms: LossTerms,
        intercept: float,
        random: np.random.Generator,
        dtype: np.dtype[Any],
        threads: int,
        memory: int,
    ) -> None:
        row_bytes = bytes_of(X) * dtype.itemsize / X.dtype.itemsize / X.shape[0]
        self.rows_at_once = int(min(BLOCK_ROWS, max(1, memory // ROWS_SHARE / max(1, row_bytes))))
        self.step = rows_of_block(basis.count, memory)
        self.kernel, self.basis, self.X, self.chosen = kernel, basis, X, chosen
        self.label, self.terms, self.dtype, self.threads = label, terms, dtype, threads
        self.intercept, self.random, self.smooth = intercept, random, terms.smooth
        self._of: Array | None = None
        self._margin = np.empty(0)

    def loss(self, coef: Array) -> float:
        """Sum the loss of all rows."""
        return _duals(self.terms, self._margins_of(coef))[1]

    def loss_and_pull(self, coef: Array, width: float | None) -> tuple[float, Array]:
        """Sum the loss of all rows and, at the basis, kernel values with what margins imply."""
        dual, loss = _duals(rounded(self.terms, width), self._margins_of(coef))
        return loss, self._sums(dual * self.label)

    def moved(
        self, coef: Array, direction: Array, width: float | None, slope: float, bend: float
    ) -> Array:
        """Return the best coefficients along a direction, and keep their margins."""
        margin, change = self._margins_of(coef), self.margins(direction)
        length = _line_minimum(rounded(self.terms, width), margin, change, slope, bend)
        margin += length * change
        self._of = coef + length * direction
        return self._of

    def _margins_of(self, coef: Array) -> Array:
        if coef is not self._of:
            self._margin = self.margins(coef) + self.label * self.intercept
            self._of = coef
        return self._margin

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
        for first in range(0, len(self.label), self.rows_at_once):
            here = slice(first, first + self.rows_at_once)
            X = self.X[here] if self.chosen is None else self.X[self.chosen[here]]
            yield here, as_rows(X, self.dtype)

    def add_curvature(self, coef: Array, width: float | None, normal: Array) -> None:
        """Add the Hessian of a sample of rows, weighed up to all of them."""
        terms, margin = rounded(self.terms, width), self._margins_of(coef)
        curvature = np.concatenate(
            [
                curvature_of(terms.at(here), margin[here]).astype(np.float32)
                for here in _pieces(len(margin))
            ]
        )
        curved = np.flatnonzero(curvature)
        total, most = curved.size, HESSIAN_ROWS * self.basis.count
        if total > most:
            curved = np.sort(self.random.choice(curved, most, replace=False))
        share = total / max(1, curved.size)
        for first in range(0, curved.size, self.step):
            rows = curved[first : first + self.step]
            given = rows if self.chosen is None else self.chosen[rows]
            block = as_rows(self.X[given], self.dtype)
            values = self.kernel.block(block, self.basis, threads=self.threads).astype(np.float64)
            add_squares(normal, values, share * curvature[rows].astype(np.float64), self.threads)


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
            second += float(curvature_of(own, there) @ (way * way))
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
