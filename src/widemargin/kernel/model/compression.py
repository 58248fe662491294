r"""The same decision on fewer points, for fast prediction.

A model :math:`f` is replaced by :math:`g = \sum_b \beta_b\,\kappa(z_b, \cdot)` on a basis of its
own support vectors. The basis is picked by randomly pivoted Cholesky among candidates drawn by
their coefficients, and the coefficients minimise

.. math:: \sum_i w_i\,(f(x_i) - g(x_i))^2 + \mu \lVert f - g \rVert^2

over (a sample of) the support vectors, of a classifier with more weight near the boundary,
:math:`w \propto 1/(0.3 + |f|)`, where an error changes the label. The second term, in the kernel's
space, keeps :math:`g` close to :math:`f` where there are no support vectors.

With b basis points and at most :math:`p = 20 b` points to compare at, it costs :math:`O(p\,b)`
kernel values, :math:`O(p\,b^2)` multiply-adds and the model's own decision at the p points; memory
is :math:`O(b^2)`, within ``memory_limit``, and a few bytes per support vector: of millions of them,
only candidates and points are copied.

Given training rows, :mod:`.basis_refit` goes on from there to the coefficients that are best on
these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.resources import single_threaded_blas
from ...core.rows import as_rows
from ..cholesky import damped_cholesky, pivoted_cholesky
from ..kernels import Kernel
from .normal_equations import add_squares, mirror, rows_of_block

# Candidates per basis point: more cost memory and leave the error as it is.
CANDIDATES = 5
# Distance from the boundary at which errors begin to count less.
NEAR = 0.3
# Weight of the error in the kernel's space; 0.1 to 1 were best on cod-rna, 10 and more worse.
SPACE_WEIGHT = 1.0
# The same where the model jumps between clusters.
PIECEWISE_WEIGHT = 0.1
# Points per basis point at which the two functions are compared.
POINTS = 20


@dataclass(frozen=True)
class Compressed:
    """A basis with coefficients, and what was lost."""

    basis: NDArray[np.int64]  # (n_basis,): positions among the support vectors, ascending
    coef: Array  # (n_problems, n_basis): coefficients
    # (n_problems, n_points): f and g at the points compared.
    before: Array
    after: Array

    @property
    def error(self) -> float:
        """Root mean square of f − g, relative to that of f."""
        size = float(np.sqrt(np.mean(self.before**2))) or 1.0
        return float(np.sqrt(np.mean((self.after - self.before) ** 2))) / size

    @property
    def largest_error(self) -> float:
        """Largest |f − g|."""
        return float(np.abs(self.after - self.before).max())


def compress(
    kernel: Kernel,
    X: Any,
    coef: Array,
    decide: Callable[[NDArray[np.int64]], Array],
    n_basis: int,
    seed: int,
    threads: int,
    *,
    memory: int = 1 << 30,
    in_space: bool = True,
    at_boundary: bool = True,
    refine: Callable[[NDArray[np.int64], Array], Array] | None = None,
) -> Compressed:
    """Fit a smaller expansion to the decisions of a model.

    Parameters
    ----------
    kernel : Kernel
        Without constant.
    X : array or CSR matrix of shape (n_support, n_features)
        Support vectors; their square kernel matrix when the kernel is precomputed.
    coef : array of shape (n_problems, n_support)
        Their coefficients.
    decide : callable
        Gives the model's values, (n_problems, n_rows), at some of the support vectors.
    n_basis : int
        Points to use; fewer where the kernel matrix has a smaller rank.
    seed : int
        Seed of the random pivots.
    threads : int
        Threads; the result does not depend on them.
    memory : int
        Bytes that matrices may take.
    in_space : bool
        Whether the model is an expansion in the kernel's space. One that uses clusters alone is
        not: it jumps between them, so closeness in that space means nothing, and the norm of g is
        kept small instead.
    at_boundary : bool
        Whether errors near zero, the boundary of classes, count more.
    refine : callable, optional
        Turns the basis and its coefficients into better coefficients.
    """
    random = np.random.default_rng(seed)
    basis = pick_basis(kernel, X, coef, n_basis, random, threads, memory)
    n_support = coef.shape[1]
    drawn = random.choice(n_support, min(n_support, POINTS * n_basis), replace=False)
    points = np.union1d(drawn, basis)
    decision = decide(points)
    at_basis = np.searchsorted(points, basis)
    if kernel.name == "precomputed":
        pick = BasisValues(kernel, X, points, basis, threads, memory)
    else:  # their rows alone: the others may be millions
        pick = BasisValues(kernel, X[points], np.arange(points.size), at_basis, threads, memory)
    distance = np.abs(decision).min(axis=0) if at_boundary else np.zeros(points.size)
    weight = 1.0 / (NEAR + distance)
    weight /= weight.mean()
    with single_threaded_blas():
        near = SPACE_WEIGHT if in_space else PIECEWISE_WEIGHT
        normal = pick.block(at_basis)
        normal *= near
        right = near * decision[:, at_basis].T * float(in_space)
        for rows, values in pick.blocks():
            right += values.T @ (weight[rows, None] * decision[:, rows].T)
            add_squares(normal, values, weight[rows], threads)
        mirror(normal)
        ridge = np.full(len(basis), 1e-12 * float(normal.diagonal().max()))
        beta = damped_cholesky(normal, ridge).solve(right).T
    beta = np.ascontiguousarray(beta)
    if refine is not None:
        del normal
        beta = refine(basis, beta)
    return Compressed(basis, beta, decision, pick.sums(beta))


def pick_basis(
    kernel: Kernel,
    X: Any,
    coef: Array,
    n_basis: int,
    random: np.random.Generator,
    threads: int,
    memory: int,
) -> NDArray[np.int64]:
    """Pick the basis among candidates, whose factor takes their number times that of the basis."""
    n = coef.shape[1]
    chance = np.sqrt(np.abs(coef).max(axis=0))
    affordable = max(n_basis, memory // (8 * n_basis))
    count = min(int(np.count_nonzero(chance)), CANDIDATES * n_basis, affordable)
    candidates = np.sort(random.choice(n, count, replace=False, p=chance / chance.sum()))
    rows = X[np.ix_(candidates, candidates)] if kernel.name == "precomputed" else X[candidates]
    factor = pivoted_cholesky(
        kernel,
        as_rows(rows, np.float64),
        n_basis,
        pivoting="random",
        random_state=random,
        threads=threads,
    )
    return np.sort(candidates[factor.pivots])


class BasisValues:
    """Kernel values between points and basis, a block of points at a time."""

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        points: NDArray[np.int64],
        basis: NDArray[np.int64],
        threads: int,
        memory: int,
    ) -> None:
        self.kernel, self.points, self.basis, self.threads = kernel, points, basis, threads
        self.step = rows_of_block(len(basis), memory)
        self.rows = as_rows(X, np.float64)

    def block(self, numbers: NDArray[np.int64]) -> Array:
        """Return the values of some of the points."""
        rows = self.points[numbers]
        return self.kernel.block(self.rows, self.rows, rows, self.basis, self.threads)

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Go through all points."""
        for first in range(0, len(self.points), self.step):
            numbers = np.arange(first, min(first + self.step, len(self.points)))
            yield numbers, self.block(numbers)

    def sums(self, coef: Array) -> Array:
        """Evaluate an expansion on the basis at all points."""
        out = np.empty((len(coef), len(self.points)))
        for rows, values in self.blocks():
            out[:, rows] = np.einsum("ij,kj->ki", values, coef)
        return out
