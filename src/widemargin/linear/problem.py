r"""One linear problem: a binary one, or a regression.

.. math:: \min_w \tfrac12 \lVert w \rVert^2 + \sum_i \ell_i(y_i\, w^\top x_i - t_i)

A regression has targets :math:`t_i` and labels :math:`y_i = 1`, so that the loss is one of
residuals; a classification has no targets. The dual has one signed unknown per row, as the kernel
problem's: :math:`w(\gamma) = \sum_i \gamma_i y_i x_i` and
:math:`D = -\tfrac12 \lVert w(\gamma) \rVert^2 + \sum_i t_i \gamma_i - \varphi_i(\gamma_i)`. An
intercept is the weight of a constant feature and penalised as the others are.

:class:`LinearProblem` is the problem on rows in one place, :class:`.BlockProblem` the same problem
on the blocks of an engine. They answer the same questions, so that an algorithm that asks no others
is written once. Rows in one place keep their own class because of what they can remember between
two answers: the matrix of the Hessian is brought up to date with the rows that changed their piece
of the loss, and duals are written where the caller wants them. A block on a cluster may be computed
again elsewhere at any time, so nothing that it remembers may change the bits of an answer.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _native
from ..core.arrays import Array
from ..core.losses import LossConstants
from ..core.outcome import Certificate
from ..core.rows import Rows, as_rows

Labels: TypeAlias = NDArray[np.int8]
NativeProblem: TypeAlias = "_native.LinearProblem32 | _native.LinearProblem64"


@dataclass(frozen=True)
class Evaluation:
    """The problem at one ``w``."""

    objective: float  # the primal objective, or the smoothed one that a solver minimises
    gradient: Array  # (size,): its gradient, w − Σ γᵢ yᵢ xᵢ
    certificate: Certificate  # proof of the gap between ``w`` and the duals that its margins imply
    curved: int  # rows whose loss has curvature there

    @classmethod
    def of(
        cls, w: Array, loss: float, plain: float, phi: float, curved: int, total: Array
    ) -> Evaluation:
        """Add the penalty to what rows sum up.

        ``loss`` is the sum of losses and ``plain`` that of losses without smoothing, ``phi`` is
        Σ φᵢ(γᵢ) − tᵢ γᵢ and ``total`` is Σ γᵢ yᵢ xᵢ, for the duals that the margins imply.
        """
        half = 0.5 * float(w @ w)
        certificate = Certificate(half + plain, -0.5 * float(total @ total) - phi)
        return cls(half + loss, w - total, certificate, curved)


def penalties_along(w: Array, p: Array, steps: Array) -> Array:
    """Return ½‖w + step · p‖² for several steps."""
    norms = float(w @ w) + 2 * steps * float(w @ p) + steps**2 * float(p @ p)
    return np.asarray(0.5 * norms)


@dataclass
class Curvature:
    """The state of the second derivative at the point that was evaluated last."""

    # The piece of its loss that each row is on; for a problem on blocks, the point itself.
    where: Any
    # (size, size): Σ curvature x xᵀ · ``below``, upper triangle; None where it would be too large.
    gram: Array | None

    def copy(self) -> Curvature:
        """Copy what an evaluation elsewhere would change."""
        return Curvature(copy(self.where), copy(self.gram))


@dataclass
class LinearProblem:
    """Minimise ½‖w‖² + Σ ℓᵢ(yᵢ w·xᵢ − tᵢ) over rows in one place."""

    # (n_rows, n_features): rows, float32 or float64; file-backed arrays are read through and never
    # copied.
    X: Any
    label: Labels  # (n_rows,): +1 or −1; +1 in a regression
    constants: LossConstants
    # (n_rows,): weights of the rows beside ``C``, positive; None means 1.
    weight: Array | None = None
    constant: float = 0.0  # value of the constant feature; 0 means no intercept
    threads: int = 1  # for passes over the rows; results do not depend on it
    # (n_rows,): lowers the margin of rows, by itself times ``below`` over the row's weight.
    multiplier: Array | None = None
    target: Array | None = None  # (n_rows,): targets of a regression; None means 0
    # The native view of ``X``, which problems on the same rows share; None to make one.
    rows: Rows | None = field(default=None, repr=False)
    # Rows are read once per evaluation: what a solver's work is counted in.
    evaluations: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if self.rows is None:
            self.rows = as_rows(self.X)
        if self.weight is not None and not np.all(self.weight > 0):
            raise ValueError("`weight` must be positive in every row; leave the other rows out.")

    # Native views stay where they were made; what arrives makes its own.
    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("rows", "native")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.rows = as_rows(self.X)

    @cached_property
    def native(self) -> NativeProblem:
        """The problem in the native core's terms."""
        assert self.rows is not None
        single = isinstance(self.rows, _native.Rows32)
        kind = _native.LinearProblem32 if single else _native.LinearProblem64
        c = self.constants
        return kind(
            self.rows,
            self.label,
            self.weight,
            self.multiplier,
            lower_margin=c.lower_margin,
            upper_margin=c.upper_margin,
            below=c.below,
            above=c.above,
            bound=c.bound,
            floor=c.floor,
            constant=self.constant,
            target=self.target,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.label.shape[0])

    @property
    def size(self) -> int:
        """Length of ``w``: the features, and the constant one."""
        return int(self.X.shape[1]) + (self.constant != 0)

    @property
    def stored(self) -> int:
        """Stored values of all rows: what one pass over them costs."""
        return int(self.X.nnz) if sp.issparse(self.X) else int(self.X.size)

    @cached_property
    def squared_norms(self) -> Array:
        """‖xᵢ‖² of every row, the constant feature included."""
        return self.native.squared_norms(self.threads)

    def smoothness(self) -> Array:
        """Return the smoothness Lᵢ of every row's loss, as a function of ``w``."""
        if not self.constants.smooth:
            raise ValueError(
                "Variance-reduced solvers need a loss with a continuous derivative (ODM's, or a "
                "squared one); got one with a kink. Use the solvers 'newton', 'dual' or 'pegasos' "
                "for it."
            )
        curvature = self.constants.steepest * self.squared_norms
        return curvature if self.weight is None else curvature * self.weight

    def evaluate(
        self,
        w: Array,
        *,
        dual: Array | None = None,
        piece: NDArray[np.int8] | None = None,
        gram: Array | None = None,
    ) -> Evaluation:
        """Evaluate objective, gradient and certificate in one pass.

        The arrays are filled or brought up to date: ``dual`` with the implied duals, ``piece``
        with the piece of its loss that each row is on, ``gram`` with Σ curvature x xᵀ · ``below``.
        """
        self.evaluations += self.n_rows
        return Evaluation.of(w, *self.native.evaluate(w, dual, piece, gram, self.threads))

    def primal(self, w: Array) -> float:
        """Evaluate the objective alone, for half the cost."""
        self.evaluations += self.n_rows
        return 0.5 * float(w @ w) + self.native.total_loss(w, self.threads)

    def primal_at_zero(self) -> float:
        """Return the objective of zero weights, which needs no pass over the rows."""
        if self.target is not None:
            return self.primal(np.zeros(self.size))
        total = self.n_rows if self.weight is None else float(self.weight.sum())
        return total * self.constants.primal(0.0)

    def no_curvature(self, direct_size: int) -> Curvature:
        """Return the state before the first evaluation; a matrix up to ``direct_size`` weights."""
        direct = self.size <= direct_size
        gram = np.zeros((self.size, self.size)) if direct else None
        return Curvature(np.zeros(self.n_rows, dtype=np.int8), gram)

    def track(self, w: Array, curvature: Curvature, dual: Array | None = None) -> Evaluation:
        """Evaluate as :meth:`evaluate`, and bring the curvature up to date."""
        return self.evaluate(w, dual=dual, piece=curvature.where, gram=curvature.gram)

    def full_diagonal(self) -> Array:
        """Return the diagonal that the Hessian would have if every row had curvature."""
        return self.curvature_diagonal(np.ones(self.n_rows, dtype=np.int8))

    def curvature_product(self, piece: NDArray[np.int8], p: Array) -> Array:
        """Multiply the Hessian with a vector."""
        return p + self.native.curvature_product(piece, p, self.threads)

    def curvature_diagonal(self, piece: NDArray[np.int8]) -> Array:
        """Return the diagonal of the Hessian."""
        return 1.0 + self.native.curvature_diagonal(piece, self.threads)

    def objectives_along(self, w: Array, p: Array, steps: Array) -> Array:
        """Evaluate the objective at w + step · p for several steps, in one pass."""
        self.evaluations += self.n_rows
        return penalties_along(w, p, steps) + self.native.losses_along(w, p, steps, self.threads)

    def weights_of(self, net_dual: Array) -> Array:
        """Compute w(γ)."""
        return self.native.weighted_sum(net_dual * self.label, self.threads)

    def certificate(self, w: Array, net_dual: Array) -> Certificate:
        """Prove how good ``w`` and duals are; they need not belong together."""
        primal = self.evaluate(w).certificate.primal
        own = self.weights_of(net_dual)
        return Certificate(primal, -0.5 * float(own @ own) - self.phi(net_dual))

    def phi(self, net_dual: Array) -> float:
        """Sum of φᵢ(γᵢ) − tᵢ γᵢ, for duals inside the loss's domain."""
        c = self.constants
        v = 1.0 if self.weight is None else self.weight
        positive, negative = np.maximum(net_dual, 0.0), np.maximum(-net_dual, 0.0)
        value = (0.5 * c.below / v * positive - c.lower_margin) * positive
        if np.isfinite(c.upper_margin):
            value = value + (0.5 * c.above / v * negative + c.upper_margin) * negative
        total = float(np.sum(value))
        return total if self.target is None else total - float(self.target @ net_dual)

    def nearest(self, net_dual: Array) -> Array:
        """Return the closest net duals inside the loss's domain."""
        c = self.constants
        v = 1.0 if self.weight is None else self.weight
        return np.asarray(np.clip(net_dual, c.floor * v, c.bound * v))

    def first_multipliers(self) -> Array:
        """Return the middle of the range of the duals: a hinge's quadratics centred on its kink."""
        middle = np.full(self.n_rows, 0.5 * (self.constants.floor + self.constants.bound))
        return middle if self.weight is None else middle * self.weight

    def multipliers(self, dual: Array | None = None) -> RowMultipliers:
        """Return the multipliers of the augmented Lagrangian, first those in ``dual``."""
        return RowMultipliers(self, self.first_multipliers() if dual is None else dual.copy())

    def with_loss(self, constants: LossConstants, multiplier: Array | None = None) -> LinearProblem:
        """Pose the problem with another loss on the same rows."""
        return replace(self, constants=constants, multiplier=multiplier, evaluations=0.0)

    def take(self, rows: NDArray[np.int64], weight: Array | None = None) -> LinearProblem:
        """Pose the problem on a copy of some rows, with other weights if given."""
        if weight is None and self.weight is not None:
            weight = self.weight[rows]
        return replace(
            self,
            X=self.X[rows],
            label=self.label[rows],
            weight=weight,
            multiplier=None if self.multiplier is None else self.multiplier[rows],
            target=None if self.target is None else self.target[rows],
            rows=None,
            evaluations=0.0,
        )


class RowMultipliers:
    """Multipliers of rows in one place, which a descent updates as it goes.

    Attributes
    ----------
    current : array of shape (n_rows,)
        The multipliers of this round.
    implied : array of shape (n_rows,)
        Where a descent writes the duals that its last margins imply.
    """

    def __init__(self, problem: LinearProblem, current: Array) -> None:
        self.problem, self.current = problem, current
        self.implied: Array = np.empty_like(current)

    def smoothed(self, constants: LossConstants) -> LinearProblem:
        """Return the problem of the next round."""
        return self.problem.with_loss(constants, self.current)

    def advance(self, w: Array, constants: LossConstants) -> None:
        """Take over the duals implied at the end of a round."""
        self.current, self.implied = self.implied, self.current
