"""One binary training problem (rows, kernel, labels, loss), its iterate and its record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .._native import NearGroups
from ..core.arrays import Array
from ..core.history import CERTIFIED, Columns, History
from ..core.losses import LossTerms
from ..core.outcome import Certificate, certify
from ..core.rows import Rows, as_rows, take_rows
from .exact_sums import exact_sums
from .kernels import Kernel, weighted_sums
from .near_groups import near_groups, near_product, neglected

# Columns of the record of a solve.
COLUMNS: Columns = {"problem": int, **CERTIFIED, "active_rows": int, "passes": float}
# Rows of a user's kernel matrix that are copied at a time.
PRODUCT_ROWS = 512
# The Lanczos process is looked at after every so many steps,
LOOK_EVERY = 5
# and ends when the lowest eigenvalue is known to this share of it.
ACCURATE = 0.005


@dataclass(frozen=True)
class Duals:
    """The iterate of the kernel solvers: where one starts, stands or stops."""

    net_dual: Array  # (n_rows,): one dual per row, in float64
    margin: Array | None = None  # (n_rows,): Q ``net_dual`` in float64; None where it is not known
    # Lowest eigenvalue of the kernel matrix if that is indefinite, else 0.
    lowest_eigenvalue: float = 0.0


@dataclass
class KernelProblem:
    """Minimise ½ γᵀQγ + Σ φᵢ(γᵢ) with Q = YKY."""

    # (n_rows, n_features): rows (float32 or float64), or the kernel matrix when ``kernel.name`` is
    # ``precomputed``.
    X: Any
    kernel: Kernel  # the kernel, with a constant if the model has an intercept
    label: Array  # (n_rows,): +1.0 or −1.0
    terms: LossTerms  # the loss, weights included
    threads: int = 1  # results do not depend on them
    # Added to the diagonal of Q, to make a convex problem of an indefinite kernel.
    shift: float = 0.0
    # The rows that were clustered last, with their clusters; shared by the problems of a fit.
    clusters: list[tuple[Any, Any]] = field(default_factory=list, repr=False, compare=False)
    # The rows that were grouped last, with their groups; likewise.
    grouped: list[tuple[Any, Any]] = field(default_factory=list, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.label.shape[0])

    @cached_property
    def rows(self) -> Rows:
        """The rows in the precision of the data."""
        return as_rows(self.X)

    @property
    def _exact_rows(self) -> Rows:
        """The rows in float64; a passing copy where the data are float32."""
        return self.rows if self.X.dtype == np.float64 else as_rows(self.X, np.float64)

    @property
    def near(self) -> NearGroups | None:
        """The rows in groups, where most are too far from each other to matter."""
        for rows, found in list(self.grouped):
            if rows is self.X:
                known: NearGroups | None = found
                return known
        groups = near_groups(self.kernel, self.rows, self.threads)
        self.grouped[:] = [(self.X, groups)]
        return groups

    @property
    def diagonal(self) -> Array:
        """Diagonal of Q."""
        return self.kernel.diagonal(self.rows) + self.shift

    def margins(self, net_dual: Array, *, single: bool = False) -> Array:
        """Compute Q ``net_dual`` from the rows whose dual is not zero.

        Kernel values and sums are float64; with ``single``, kernel values have the precision of
        the rows.
        """
        support = np.flatnonzero(net_dual)
        coef = (net_dual * self.label)[support]
        if self.kernel.name == "precomputed":
            # In blocks of rows: the matrix is the user's and large enough once. Few columns are
            # copied out, of many the whole row is read.
            few = support.size <= self.n_rows // 4
            columns = support if few else slice(None)
            weights = coef if few else net_dual * self.label
            parts = [
                weighted_sums(self.X[i : i + 512][:, columns], weights[None])[0]
                for i in range(0, self.n_rows, 512)
            ]
            decision = np.concatenate(parts) + self.kernel.constant * coef.sum()
        elif single or self.near is not None:
            rows = self.rows if single else self._exact_rows
            decision = self.decision(rows, coef, support)[0]
        else:
            decision = exact_sums(self.kernel, self.X, coef, support, self.threads)[0]
        return np.asarray(self.label * decision + self.shift * net_dual)

    def decision(self, rows: Rows, coef: Array, support: NDArray[np.int64]) -> tuple[Array, int]:
        """Sum ``coef`` times kernel values over the support; count the values."""
        near = self.near
        if near is None:
            sums = self.kernel.product(rows, rows, coef, support, self.threads)
            return sums[0], self.n_rows * support.size
        sums, entries = near_product(self.kernel, rows, rows, coef, support, near, self.threads)
        return sums[0], entries

    def only(self, rows: NDArray[np.int64]) -> KernelProblem:
        """Pose the problem on some of the rows; the weights of their losses stay."""
        X = take_rows(self.X, rows, self.kernel.name == "precomputed")
        return replace(self, X=X, label=self.label[rows], terms=self.terms.at(rows), grouped=[])

    def certificate(self, net_dual: Array, margin: Array, rounding: float = 0.0) -> Certificate:
        """Prove how good a solution is, given its margins and how far rounding may move them."""
        left_out = neglected(net_dual) if self.near else 0.0
        return certify(self.terms, net_dual, margin, rounding + left_out)

    @property
    def dense_bytes(self) -> int:
        """Memory that solving with a dense Q takes: Q, a factor, and a copy in passing."""
        return 3 * 8 * self.n_rows**2

    def dense_q(self) -> Array:
        """Build Q in float64; for small problems only."""
        exact = self._exact_rows
        gram = self.kernel.block(exact, exact, threads=self.threads)
        q = np.asarray(gram * np.outer(self.label, self.label))
        q[np.diag_indices_from(q)] += self.shift
        return q


def record_iteration(
    history: History,
    problem: KernelProblem,
    iteration: int,
    primal: float,
    dual: float,
    *,
    active: int | None = None,
    passes: float = 1.0,
) -> None:
    """Record a state of a solve; ``passes`` counts kernel values, in whole matrices."""
    history.iterations = iteration
    history.record(
        iteration=iteration,
        primal=primal,
        dual=dual,
        relative_gap=(primal - dual) / primal if primal > 0 else 0.0,
        active_rows=problem.n_rows if active is None else active,
        passes=passes,
        rows=problem.n_rows,
    )


def extreme_eigenvalues(
    problem: KernelProblem, memory: int = 0, steps: int = 60
) -> tuple[float, float]:
    """Estimate the lowest and the largest eigenvalue of the kernel matrix.

    Exact for small problems. Otherwise by the Lanczos process with full orthogonalisation, whose
    extreme values are found first where they stand apart. It ends when the error bound of the
    lowest is a small share of it; the lowest is given with that bound taken off. Kernel values are
    computed once if ``memory`` bytes hold them, else once a step. O(rows × steps) memory besides.
    """
    n = problem.n_rows
    if n <= 500:
        values = np.linalg.eigvalsh(problem.dense_q())
        return float(values[0]), float(values[-1])
    basis = np.zeros((steps + 1, n))
    basis[0] = np.random.default_rng(0).standard_normal(n)
    basis[0] /= np.linalg.norm(basis[0])
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    given = problem.kernel.name == "precomputed"
    matrix = problem.dense_q() if not given and problem.dense_bytes <= memory else None
    for k in range(steps):
        # Of a matrix that is at hand, by BLAS: sixty products are most of a small fit.
        if matrix is not None:
            image = matrix @ basis[k]
        else:
            image = _signed_product(problem, basis[k]) if given else problem.margins(basis[k])
        diagonal[k] = float(image @ basis[k])
        for _ in range(2):  # twice is enough against rounding
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        beside[k] = float(np.linalg.norm(image))
        if beside[k] <= 1e-10 * abs(diagonal[0]):  # an invariant subspace: nothing is left to find
            steps = k + 1
            break
        basis[k + 1] = image / beside[k]
        if (k + 1) % LOOK_EVERY == 0:
            lowest, error, _ = _lowest_and_largest(diagonal, beside, k + 1)
            if lowest < 0 and error <= ACCURATE * -lowest:
                steps = k + 1
                break
    lowest, error, largest = _lowest_and_largest(diagonal, beside, steps)
    return (lowest - error if lowest < 0 else lowest), largest


def _lowest_and_largest(diagonal: Array, beside: Array, steps: int) -> tuple[float, float, float]:
    """Return the extreme eigenvalues of a tridiagonal matrix, with the error of the lowest."""
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal[:steps], beside[: steps - 1])
    error = float(beside[steps - 1] * abs(vectors[-1, 0]))
    return float(values[0]), error, float(values[-1])


def _signed_product(problem: KernelProblem, vector: Array) -> Array:
    """Multiply Q of a precomputed kernel with a vector, in the precision of the matrix."""
    signed = problem.label * vector
    sums = problem.X @ signed.astype(problem.X.dtype) + problem.kernel.constant * signed.sum()
    return np.asarray(problem.label * sums + problem.shift * vector, dtype=np.float64)


class KernelProducts:
    """Multiplies blocks of Q by vectors in the precision of the data, and keeps nothing of Q.

    Attributes
    ----------
    entries : int
        Kernel values used so far.
    """

    def __init__(self, problem: KernelProblem) -> None:
        self.problem, self.entries = problem, 0

    @property
    def passes(self) -> float:
        """Kernel values used so far, in whole matrices."""
        return self.entries / self.problem.n_rows**2

    def all_rows(self, columns: NDArray[np.int64], values: Array) -> Array:
        """Compute Q[:, columns] values."""
        problem, coef = self.problem, values * self.problem.label[columns]
        if problem.kernel.name == "precomputed":
            return self.some_rows(np.arange(problem.n_rows), columns, values)
        product, entries = problem.decision(problem.rows, coef, columns)
        self.entries += entries
        return self._signed(product, np.arange(problem.n_rows), columns, values)

    def some_rows(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: Array
    ) -> Array:
        """Compute Q[rows, columns] values."""
        problem, coef = self.problem, values * self.problem.label[columns]
        self.entries += rows.size * columns.size
        if problem.kernel.name == "precomputed":
            product = np.full(rows.size, problem.kernel.constant * float(coef.sum()))
            for first in range(0, rows.size, PRODUCT_ROWS):
                block = problem.X[np.ix_(rows[first : first + PRODUCT_ROWS], columns)]
                product[first : first + PRODUCT_ROWS] += weighted_sums(block, coef[None])[0]
        else:
            queries = as_rows(problem.X[rows])
            product = problem.kernel.product(queries, problem.rows, coef, columns, problem.threads)[
                0
            ]
        return self._signed(product, rows, columns, values)

    def _signed(
        self, product: Array, rows: NDArray[np.int64], columns: NDArray[np.int64], values: Array
    ) -> Array:
        signed = np.asarray(self.problem.label[rows] * product)
        if self.problem.shift:
            spread = np.zeros(self.problem.n_rows)
            spread[columns] = values
            signed += self.problem.shift * spread[rows]
        return signed
