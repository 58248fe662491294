"""Passes over rows on a cluster, for the coefficients of a basis.

Parts keep rows and nothing else: every pass computes the margins it needs from the coefficients, so
that a part which was lost can be made again. What comes back is as long as the basis, and a sample
of rows for the Hessian, which is summed on the cluster too, a panel of its columns at a time; the
driver holds its square and never all rows.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.blocks import bytes_of
from ...core.losses import Loss, LossTerms
from ...core.resources import single_threaded_blas
from ...core.rows import as_rows
from ...engines.spark import SparkEngine, SparkParts
from ...kernel.kernels import Kernel
from ...kernel.model.basis_newton import HESSIAN_ROWS, curvature_of, rounded
from ...kernel.model.normal_equations import PANEL, panel_of, panels
from .drawn_rows import DrawnRows
from .support import stacked

# Lengths along a direction at which one pass asks for the slope; it rises, nearly in lines.
LENGTHS = np.array([0.0, *np.exp2(np.arange(-8.0, 0.0)), 0.75, 1.0, 1.25, 1.5, 2.0, 4.0, 8.0])
BLOCK_BYTES = 1 << 26
# Rows for the Hessian that pass through the driver.
SAMPLE_BYTES = 1 << 27


@dataclass(frozen=True)
class PosedOnBasis:
    """A binary problem on a basis, but for its rows."""

    kernel: Kernel  # constant included
    basis: Any  # in the form of the rows
    positive: int  # the class that is positive
    loss: Loss
    stands_for: float  # rows of the training set for each that was drawn
    threads: int

    def labels(self, rows: DrawnRows) -> Array:
        """Return +1 for rows of the positive class, −1 for the others."""
        return np.where(rows.codes == self.positive, 1.0, -1.0)

    def terms(self, rows: DrawnRows, width: float | None) -> LossTerms:
        """Return the loss of rows, rounded if it is a hinge."""
        return rounded(self.loss.terms(self.stands_for * rows.weight), width)

    def margins(self, rows: DrawnRows, coefs: Array) -> Array:
        """Evaluate expansions at rows, times their labels."""
        values = self.kernel.product(
            as_rows(rows.X), as_rows(self.basis), coefs, threads=self.threads
        )
        return values * self.labels(rows)


class PullSums(NamedTuple):
    """What parts add up at some coefficients."""

    loss: float
    pull: Any  # kernel values with what margins imply, at the basis; 0.0 if not asked for
    sample: tuple[tuple[Any, Array], ...] = ()  # curved rows, and the weights of their squares

    def plus(self, other: PullSums) -> PullSums:
        """Add the sums of other rows."""
        return PullSums(self.loss + other.loss, self.pull + other.pull, self.sample + other.sample)


@dataclass(frozen=True)
class LossAt:
    """The loss of rows at some coefficients."""

    posed: PosedOnBasis
    coef: Array

    def __call__(self, rows: DrawnRows) -> float:
        """Pass over the rows of a part."""
        (margin,) = self.posed.margins(rows, self.coef[None])
        return float(self.posed.terms(rows, None).primal(margin).sum())


@dataclass(frozen=True)
class PullAt:
    """Loss, pull and a sample of curved rows."""

    posed: PosedOnBasis
    coef: Array
    width: float | None
    share: float  # of its rows that a part may send for the Hessian
    key: tuple[int, ...]  # decides about the sample, with the part's number

    def __call__(self, rows: DrawnRows) -> PullSums:
        """Pass over the rows of a part."""
        posed, terms = self.posed, self.posed.terms(rows, self.width)
        (margin,) = posed.margins(rows, self.coef[None])
        dual = terms.implied_dual(margin) * posed.labels(rows)
        (pull,) = posed.kernel.product(
            as_rows(posed.basis), as_rows(rows.X), dual[None], threads=posed.threads
        )
        curvature = curvature_of(terms, margin)
        curved = np.flatnonzero(curvature)
        total, most = curved.size, math.ceil(self.share * rows.n_rows)
        if total > most:
            random = np.random.default_rng([*self.key, rows.number])
            curved = np.sort(random.choice(curved, most, replace=False))
        weight = curvature[curved] * (total / max(1, curved.size))
        sample = ((rows.X[curved], weight),) if curved.size else ()
        return PullSums(float(terms.primal(margin).sum()), pull, sample)


@dataclass(frozen=True)
class SlopesAlong:
    """Slopes of the loss at several lengths along a direction."""

    posed: PosedOnBasis
    coef: Array
    direction: Array
    width: float | None

    def __call__(self, rows: DrawnRows) -> Array:
        """Pass over the rows of a part."""
        terms = self.posed.terms(rows, self.width)
        margin, change = self.posed.margins(rows, np.stack([self.coef, self.direction]))
        return np.array([-terms.implied_dual(margin + t * change) @ change for t in LENGTHS])


@dataclass(frozen=True)
class HessianPanels:
    """Panels of the sum of squares of a sample's kernel values with the basis."""

    posed: PosedOnBasis
    X: Any
    weight: Array

    def __call__(self, firsts: list[int]) -> list[tuple[int, Array]]:
        """Sum the panels that begin at some columns."""
        basis = as_rows(self.posed.basis)
        sums: dict[int, Any] = dict.fromkeys(firsts, 0.0)
        step = max(1, BLOCK_BYTES // (8 * basis.count))
        with single_threaded_blas():
            for at in range(0, len(self.weight), step):
                rows, weight = as_rows(self.X[at : at + step]), self.weight[at : at + step]
                values = self.posed.kernel.block(rows, basis, threads=self.posed.threads)
                values = values.astype(np.float64) * np.sqrt(weight)[:, None]
                for first in firsts:
                    sums[first] = sums[first] + panel_of(values, first)
        return list(sums.items())


class RowsOnCluster:
    """Passes over parts of an engine, as :class:`~.basis_newton.RowPasses` has them."""

    def __init__(
        self,
        engine: SparkEngine,
        parts: SparkParts,
        n_rows: int,
        posed: PosedOnBasis,
        n_basis: int,
        key: tuple[int, ...],
    ) -> None:
        self.engine, self.parts, self.posed, self.key = engine, parts, posed, key
        size = max(1, bytes_of(posed.basis) // n_basis)
        self.share = min(HESSIAN_ROWS * n_basis, SAMPLE_BYTES // size) / n_rows
        self.smooth = posed.loss.terms(np.ones(1)).smooth
        self._step = 0
        self._sample: tuple[tuple[Any, Array], ...] = ()
        self._panels = engine.scatter(_dealt(panels(n_basis), engine.cores))

    def loss(self, coef: Array) -> float:
        """Sum the loss of all rows."""
        total: float = self.engine.reduce(self.parts, LossAt(self.posed, coef), operator.add)
        return total

    def loss_and_pull(self, coef: Array, width: float | None) -> tuple[float, Array]:
        """Sum the loss of all rows and, at the basis, kernel values with what margins imply."""
        self._step += 1
        key = (*self.key, self._step)
        question = PullAt(self.posed, coef, width, self.share, key)
        loss, pull, self._sample = self.engine.reduce(self.parts, question, PullSums.plus)
        return loss, pull

    def add_curvature(self, coef: Array, width: float | None, normal: Array) -> None:
        """Add the Hessian of the rows that the last evaluation drew."""
        sample, self._sample = self._sample, ()
        if not sample:
            return
        X = stacked([X for X, _ in sample])
        question = HessianPanels(self.posed, X, np.concatenate([weight for _, weight in sample]))
        for first, panel in self.engine.reduce(self._panels, question, operator.add):
            normal[first:, first : first + PANEL] += panel

    def moved(
        self, coef: Array, direction: Array, width: float | None, slope: float, bend: float
    ) -> Array:
        """Return the best coefficients along a direction."""
        question = SlopesAlong(self.posed, coef, direction, width)
        slopes = slope + bend * LENGTHS + self.engine.reduce(self.parts, question, operator.add)
        return coef + zero_of(LENGTHS, slopes) * direction

    def release(self) -> None:
        """Free what was placed for the Hessian."""
        self.engine.release(self._panels)


def zero_of(lengths: Array, slopes: Array) -> float:
    """Return where slopes that rise are zero, by a line between the lengths beside it."""
    beyond = np.flatnonzero(slopes >= 0)
    if beyond.size == 0:
        return float(lengths[-1])
    k = int(beyond[0])
    if k == 0:
        return 0.0
    low, high = slopes[k - 1], slopes[k]
    return float(lengths[k - 1] - low * (lengths[k] - lengths[k - 1]) / (high - low))


def _dealt(firsts: list[int], n_groups: int) -> list[list[int]]:
    """Deal panels out, a long one with a short one: they grow shorter."""
    n_groups = min(n_groups, len(firsts))
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    for k, first in enumerate(firsts):
        turn, place = divmod(k, n_groups)
        groups[place if turn % 2 == 0 else n_groups - 1 - place].append(first)
    return groups
