r"""Theorem 1 of SODM and of DC-SVM, compared with the true gaps.

Both bound how far the solutions of the parts, put side by side, are from the solution of the whole
problem. In the notation of :mod:`widemargin.core.losses`, with :math:`\gamma^\star` the whole
solution, :math:`\tilde\gamma` that of the parts, :math:`d` the whole dual objective (minimised) and
sums over pairs of rows in different parts:

- **DC-SVM** (hinge; every part with the weights :math:`u_i = C w_i` of the whole; Eqn. 4):

  .. math:: 0 \le d(\tilde\gamma) - d(\gamma^\star) \le \tfrac12 \sum_{i \nsim j} u_i u_j |Q_{ij}|,
            \qquad \lVert \tilde\gamma - \gamma^\star \rVert^2 \le
            \tfrac{1}{\sigma} \sum_{i \nsim j} u_i u_j |Q_{ij}|,

  with :math:`\sigma` the smallest eigenvalue of Q.

- **SODM** (ODM; a part of share :math:`s` with its weights divided by :math:`s`; Eqn. 5 and 6):

  .. math:: 0 \le d(\tilde\gamma) - d(\gamma^\star) \le B = U^2 \Bigl( \sum_{i \nsim j} |Q_{ij}|
            + \sum_i (1 - s_i)\, n_i \Bigr), \qquad
            \lVert \tilde\alpha - \alpha^\star \rVert^2 \le \frac{2 B}{\min_i p_i},

  with :math:`\alpha = (\gamma_+, \gamma_-)` and :math:`U` the largest :math:`|\gamma_i|` of both.
  For parts of equal size and rows of equal weight the second sum is the paper's M(M − m)c.
  Departure: the print of Eqn. 6 lacks the factor 2 of its proof
  (:math:`f(\tilde\alpha) - f(\alpha^\star) \ge \tfrac12 M c \upsilon \lVert \tilde\alpha -
  \alpha^\star \rVert^2`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget
from ..core.history import History
from ..core.losses import LossTerms
from ..kernel.divide.methods import block_of_whole, small_copy
from ..kernel.problem import COLUMNS, Duals
from ..kernel.samples import Samples
from ..kernel.solvers.binary import solve_binary
from ..kernel.solvers.polish import POLISH_ROWS
from .partitions import binary_samples


@dataclass(frozen=True)
class Theorem1:
    """Gaps of the concatenated solutions of the parts, with their bounds.

    Attributes
    ----------
    source : {"DC-SVM", "SODM"}
        The paper that the bounds are from.
    gap, gap_bound : float
        Difference of their dual objective to the optimum, and its bound.
    distance, distance_bound : float
        Squared distance to the solution, and its bound, which is infinite where the kernel matrix
        is singular (DC-SVM).
    divided_gap : float
        The gap after each part's duals are multiplied by its share of the set, which is how the
        library starts from parts that resemble the whole.
    zero_gap : float
        The gap of a start at zero.
    """

    source: str
    gap: float
    gap_bound: float
    distance: float
    distance_bound: float
    divided_gap: float
    zero_gap: float


def theorem1_bounds(estimator: Any, X: Any, y: Any, part: Any) -> Theorem1:
    """Compare Theorem 1 of SODM (for ODM) or DC-SVM (for the hinge) with the true gaps.

    Solves the whole problem and every part to rounding, so sets are limited to 1,000 rows. The
    bounds hold for any partition, and are loose for most.

    Parameters
    ----------
    estimator : ODMClassifier or SVMClassifier
        Loss, kernel and weights; it is not changed, and its strategy is not used. The loss must be
        ODM or the hinge.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        At most 1,000 rows; the kernel matrix when ``kernel="precomputed"``.
    y : array-like of shape (n_rows,)
        Labels, of two classes.
    part : array-like of int of shape (n_rows,)
        Part of each row, as in :attr:`Partition.part`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from widemargin import Clustered, SVMClassifier
    >>> from widemargin.inspection import leaf_partition, theorem1_bounds
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SVMClassifier(gamma=20.0, strategy=Clustered(levels=1), random_state=0)
    >>> result = theorem1_bounds(model, X, y, leaf_partition(model, X, y).part)
    >>> 0.0 <= result.gap <= result.gap_bound
    True
    """
    check_rows(X)
    samples = binary_samples(estimator, X, y)
    if samples.loss.name == "squared_hinge":
        raise ValueError(
            "Theorem 1 is proved for ODM (SODM) and for the hinge (DC-SVM); got "
            "loss='squared_hinge'. Use loss='hinge' or an ODMClassifier."
        )
    part = check_numbers(part, "part", samples.n_rows)
    weighting = small_copy if samples.loss.name == "odm" else block_of_whole
    total = float(samples.weight.sum())
    parts_dual, share = np.zeros(samples.n_rows), np.zeros(samples.n_rows)
    for number in np.unique(part):
        rows = np.flatnonzero(part == number)
        mass = float(samples.weight[rows].sum())
        share[rows] = mass / total
        parts_dual[rows] = solved_to_rounding(samples.take(rows), weighting(total, mass))
    whole_dual = solved_to_rounding(samples, 1.0)
    problem = samples.problem(1.0, 1)
    q, terms = problem.dense_q(), problem.terms
    between = np.where(part[:, None] != part, np.abs(q), 0.0)
    best = dual_objective(q, terms, whole_dual)
    bounds = _sodm_bounds if samples.loss.name == "odm" else _dc_bounds
    gap_bound, distance_bound = bounds(q, between, terms, share, parts_dual, whole_dual)
    return Theorem1(
        source="SODM" if samples.loss.name == "odm" else "DC-SVM",
        gap=dual_objective(q, terms, parts_dual) - best,
        gap_bound=gap_bound,
        distance=_squared_distance(parts_dual, whole_dual),
        distance_bound=distance_bound,
        divided_gap=dual_objective(q, terms, share * parts_dual) - best,
        zero_gap=-best,
    )


def check_rows(X: Any) -> None:
    """Refuse more rows than are solved to rounding."""
    if (n_given := np.shape(X)[0]) > POLISH_ROWS:
        raise ValueError(
            "The bounds need the solution to rounding and every entry of the kernel matrix, which "
            f"is done for at most {POLISH_ROWS} rows; got {n_given}. Pass a sample of the rows."
        )


def check_numbers(values: Any, name: str, n_rows: int) -> NDArray[Any]:
    """Return the part or the stratum of each row as an array."""
    numbers = np.asarray(values)
    if numbers.shape != (n_rows,):
        raise ValueError(
            f"`{name}` must have one number per row, {n_rows}; got shape {numbers.shape}."
        )
    return numbers


def solved_to_rounding(samples: Samples, factor: float) -> Array:
    """Return the net duals of a problem whose rows weigh ``factor`` times as much as given."""
    problem = samples.problem(factor, 1)
    start, budget = Duals(np.zeros(problem.n_rows)), Budget(tol=1e-10, max_iter=10_000)
    result = solve_binary(problem, start, "auto", budget, History(COLUMNS)).iterate
    if result.lowest_eigenvalue < 0:
        raise ValueError(
            "The theorem needs a positive semi-definite kernel; the matrix has an eigenvalue "
            f"of about {result.lowest_eigenvalue:.3g}. Use rbf, laplacian, linear, or poly with "
            "coef0 >= 0."
        )
    return result.net_dual


def dual_objective(q: Array, terms: LossTerms, net_dual: Array) -> float:
    """Return d, which is minimised."""
    return float(0.5 * net_dual @ q @ net_dual + terms.phi(net_dual).sum())


def _dc_bounds(
    q: Array, between: Array, terms: LossTerms, share: Array, a: Array, b: Array
) -> tuple[float, float]:
    weighted = float(terms.bound @ between @ terms.bound)
    lowest = float(np.linalg.eigvalsh(q)[0])
    # An eigenvalue below rounding of the largest row sum makes the matrix singular: no bound.
    singular = lowest <= q.shape[0] * np.finfo(np.float64).eps * float(np.abs(q).sum(axis=1).max())
    return 0.5 * weighted, np.inf if singular else weighted / lowest


def _sodm_bounds(
    q: Array, between: Array, terms: LossTerms, share: Array, a: Array, b: Array
) -> tuple[float, float]:
    largest = max(float(np.abs(a).max()), float(np.abs(b).max()))
    bound = largest**2 * float(between.sum() + (1.0 - share) @ terms.above)
    return bound, 2.0 * bound / float(terms.below.min())


def _squared_distance(a: Array, b: Array) -> float:
    """Sum over both signs separately, as for the paper's 2M duals."""
    sides = (np.maximum(a, 0.0) - np.maximum(b, 0.0), np.minimum(a, 0.0) - np.minimum(b, 0.0))
    return float(sum(side @ side for side in sides))
