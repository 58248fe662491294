r"""Theorem 2 of SODM, compared with the true gaps: what dealing out strata is worth.

The theorem bounds how far the problem of one part is from that of the whole set. With
:math:`d_k` the least dual objective of part k, whose rows have the mean loss of the part,
:math:`d^\star` that of the whole set, r² = κ(x, x), which must be the same for all rows, and τ the
smallest angle between rows of different strata in the kernel's space,

.. math:: d_k - d^\star \le \tfrac12 U^2 \bigl( M^2 r^2 + r^2 \cos\tau\, (2C - M^2) \bigr)
          + U^2 M^2 c + 2 U M,

where C counts the ordered pairs of rows in different strata, :math:`c = (1 - \theta)^2 / (\lambda
\upsilon)`, and U is that of Theorem 1 (:mod:`widemargin.inspection.theorem_bounds`).

Departures: the theorem is printed twice, with U²M²C in the text and with U²M²c in the appendix; the
proof gives the latter. The proof leaves out the labels in :math:`Q_{ij} = y_i y_j \kappa(x_i, x_j)`
and takes rows of one stratum to be within τ of each other, which the definition of τ does not say;
what it would prove without these two steps is :math:`U^2 M^2 r^2` in place of the first term, which
is returned as ``plain_bound``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..kernel.divide.methods import small_copy
from .partitions import binary_samples
from .theorem_bounds import check_numbers, check_rows, dual_objective, solved_to_rounding


@dataclass(frozen=True)
class Theorem2:
    """Gaps between the problems of the parts and that of the whole set, with their bound.

    Attributes
    ----------
    gaps : array of shape (n_parts,)
        Least dual objective of each part less that of the whole set. Negative where the rows of a
        part are harder to separate.
    optimum : float
        Least dual objective of the whole set, which is below zero.
    bound : float
        The bound as the appendix prints it.
    plain_bound : float
        The bound without the angle.
    angle : float
        τ in radians; NaN if there is one stratum only, and the bound is then that for cos τ = 1.
    largest_dual : float
        U, the largest dual of the whole set and of the parts.
    """

    gaps: Array
    optimum: float
    bound: float
    plain_bound: float
    angle: float
    largest_dual: float


def theorem2_bound(estimator: Any, X: Any, y: Any, part: Any, stratum: Any) -> Theorem2:
    """Compare Theorem 2 of SODM with the true gaps.

    Solves the whole problem and every part to rounding, so sets are limited to 1,000 rows. The
    theorem is about parts of equal size.

    Parameters
    ----------
    estimator : ODMClassifier
        Kernel and settings; it is not changed, and its strategy is not used. Rows must have equal
        weights, and the kernel the same κ(x, x) for all rows, as rbf and laplacian have.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        At most 1,000 rows.
    y : array-like of shape (n_rows,)
        Labels, of two classes.
    part, stratum : array-like of int of shape (n_rows,)
        Part and stratum of each row, as in :class:`Partition`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import ODMClassifier, Stratified
    >>> from widemargin.inspection import leaf_partition, theorem2_bound
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = ODMClassifier(gamma=20.0, strategy=Stratified(levels=1), random_state=0)
    >>> leaves = leaf_partition(model, X, y)
    >>> result = theorem2_bound(model, X, y, leaves.part, leaves.stratum)
    >>> bool(result.gaps.max() <= result.bound)
    True
    """
    check_rows(X)
    samples = binary_samples(estimator, X, y)
    if samples.loss.name != "odm":
        raise ValueError(
            f"Theorem 2 is proved for ODM; got the loss {samples.loss.name!r}. Use an "
            "ODMClassifier."
        )
    if np.ptp(samples.weight) > 0:
        raise ValueError(
            "Theorem 2 is proved for rows of equal weight; got weights from "
            f"{samples.weight.min():.3g} to {samples.weight.max():.3g}. Use class_weight=None."
        )
    part = check_numbers(part, "part", samples.n_rows)
    stratum = check_numbers(stratum, "stratum", samples.n_rows)
    problem = samples.problem(1.0, 1)
    q, terms = problem.dense_q(), problem.terms
    diagonal = q.diagonal()
    if np.ptp(diagonal) > 1e-6 * diagonal.max():
        raise ValueError(
            "Theorem 2 is proved for kernels with the same κ(x, x) for all rows; got values from "
            f"{diagonal.min():.3g} to {diagonal.max():.3g}. Use rbf or laplacian."
        )
    whole = solved_to_rounding(samples, 1.0)
    optimum, largest = dual_objective(q, terms, whole), float(np.abs(whole).max())
    gaps = []
    for number in np.unique(part):
        rows = np.flatnonzero(part == number)
        taken, factor = samples.take(rows), small_copy(samples.n_rows, rows.size)
        local = solved_to_rounding(taken, factor)
        own = taken.problem(factor, 1)
        gaps.append(dual_objective(own.dense_q(), own.terms, local) - optimum)
        largest = max(largest, float(np.abs(local).max()))
    radius, pairs = float(diagonal.mean()), float(samples.n_rows) ** 2
    apart = stratum[:, None] != stratum
    between = np.where(apart, q * np.outer(samples.label, samples.label), -np.inf)
    cosine = min(float(between.max()) / radius, 1.0) if apart.any() else 1.0
    rest = largest**2 * float(terms.above.sum()) + 2.0 * largest * samples.n_rows
    spread = pairs + cosine * (2.0 * float(apart.sum()) - pairs)
    return Theorem2(
        gaps=np.array(gaps),
        optimum=optimum,
        bound=0.5 * largest**2 * radius * spread + rest,
        plain_bound=largest**2 * radius * pairs + rest,
        angle=float(np.arccos(cosine)) if apart.any() else float("nan"),
        largest_dual=largest,
    )
