r"""One classification with a weight vector for every class, in five formulations.

.. math:: \min_W \tfrac12 \sum_c \lVert w_c \rVert^2 + \sum_i C_i\, \ell(x_i, y_i; W)

===========  ==============================================================================
formulation  loss of a row
===========  ==============================================================================
``ww``       :math:`\sum_{c \ne y} (1 - w_y^\top x + w_c^\top x)_+` (Weston and Watkins)
``cs``       :math:`\max_{c \ne y} (1 - w_y^\top x + w_c^\top x)_+` (Crammer and Singer)
``llw``      :math:`\sum_{c \ne y} (1 + w_c^\top x)_+` with :math:`\sum_c w_c = 0`
             (Lee, Lin and Wahba)
``ovr``      :math:`(1 - w_y^\top x)_+ + \sum_{c \ne y} (1 + w_c^\top x)_+` (one against the rest)
===========  ==============================================================================

The dual has a multiplier :math:`\alpha_{ic}` for every row and class, and the objective
:math:`\sum \alpha_{ic} - \tfrac12 \sum_c \lVert w_c(\alpha) \rVert^2` in these four. An intercept
is the weight of a constant feature and penalised as the others are.

The fifth, ``odm``, is a convex problem of :mod:`widemargin.multiclass.margin_distribution`: of the
margin :math:`w_y^\top x - \max_{c \ne y} w_c^\top x`, the squared distance below
:math:`1 - \theta`, and, if every row has a rival :math:`r \ne y`, υ times that of
:math:`w_y^\top x - w_r^\top x` above :math:`1 + \theta`; half of both.

Rows are stored in blocks on an engine; rows in this process are one block of a local engine.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _native
from ..core.arrays import Array
from ..core.blocks import RowBlock, bytes_of, even_parts, joined
from ..core.rows import Rows, as_rows
from ..engines import Engine

FORMULATIONS = ("ww", "llw", "cs", "ovr")
NativeProblem: TypeAlias = "_native.MulticlassProblem32 | _native.MulticlassProblem64"


class ClassWeights(Protocol):
    """Weights of every class with their multipliers: a solution, or a solver's current state."""

    @property
    def weights(self) -> Any:
        """Array or CSR array of shape (n_classes, size); the constant feature's weight is last.

        Sparse where at most a quarter of the weights differ from zero.
        """
        ...

    @property
    def duals(self) -> Any:
        """CSR array of shape (n_rows, n_classes); None where multipliers stay with the rows."""
        ...


@dataclass(frozen=True)
class StoredWeights:
    """Weights and multipliers that no longer change; see :class:`ClassWeights`."""

    weights: Any
    duals: Any = None


@dataclass(frozen=True)
class MulticlassObjective:
    """What is minimised, without the rows."""

    # Numbers of features, without the constant one, and of classes, two or more.
    n_features: int
    n_classes: int
    formulation: str
    C: float  # weight of a row's loss
    class_factors: tuple[float, ...] | None = None  # factors of ``C`` by class
    constant: float = 0.0  # value of the constant feature; 0 means no intercept
    # Of ``odm``: margins may differ from 1 by theta; upsilon weighs those too large.
    theta: float = 0.0
    upsilon: float = 1.0

    @property
    def size(self) -> int:
        """Length of a class's weights: the features, and the constant one."""
        return self.n_features + int(self.constant != 0)

    @property
    def losses_per_row(self) -> float:
        """Loss of a row of weight 1 where all weights are zero."""
        if self.formulation == "odm":
            return 0.5 * (1.0 - self.theta) ** 2
        return {"cs": 1, "ovr": self.n_classes}.get(self.formulation, self.n_classes - 1)

    def bound(self, codes: NDArray[Any], weight: Array | None) -> Array:
        """Return the weights of rows' losses, given their classes and their own weights."""
        bound = np.full(len(codes), self.C) if weight is None else self.C * weight
        if self.class_factors is not None:
            bound = bound * np.asarray(self.class_factors)[codes]
        return np.ascontiguousarray(bound)

    def on(self, block: RowBlock) -> InMemoryProblem:
        """Pose the problem on the rows of a block."""
        return InMemoryProblem(self, block.X, block.codes, self.bound(block.codes, block.weight))


@dataclass(frozen=True)
class InMemoryProblem:
    """The problem on rows in this memory: a block, or rows picked from several blocks."""

    objective: MulticlassObjective  # what is minimised
    X: Any  # (n_rows, n_features): rows, float32 or float64
    codes: NDArray[Any]  # (n_rows,): class of each row, from 0
    bound: Array  # (n_rows,): weight of each row's loss: ``C`` times its weights; not negative
    # (n_rows,): of ``odm``, the class of each row whose score its own may exceed too much; None if
    # no margin is too large.
    rivals: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def rows(self) -> Rows:
        """The native view of the rows."""
        return as_rows(self.X)

    @cached_property
    def squared_norms(self) -> Array:
        """‖xᵢ‖² of every row, the constant feature included."""
        if sp.issparse(self.X):
            square = sp.csr_array(
                (np.square(self.X.data, dtype=np.float64), self.X.indices, self.X.indptr),
                shape=self.X.shape,
            )
            norms = np.asarray(square.sum(axis=1), dtype=np.float64).ravel()
        else:
            norms = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        return np.asarray(norms + self.objective.constant**2)

    @property
    def loss_at_zero(self) -> float:
        """Loss of all rows where all weights are zero."""
        return float(self.bound.sum()) * self.objective.losses_per_row

    @cached_property
    def fixed_loss(self) -> float:
        """Loss of rows that are all zeros, which no weights can change."""
        return float(np.sum(self.bound[self.squared_norms == 0])) * self.objective.losses_per_row

    def native(self, number: NDArray[np.int32] | None = None) -> NativeProblem:
        """Return the problem in the native core's terms; ``number`` renumbers the classes."""
        single = isinstance(self.rows, _native.Rows32)
        kind = _native.MulticlassProblem32 if single else _native.MulticlassProblem64
        objective, rivals = self.objective, self.rivals
        label = self.codes if number is None else number[self.codes]
        if rivals is not None and number is not None:
            rivals = number[rivals]
        odm = objective.formulation == "odm"
        return kind(
            self.rows,
            label,
            self.bound,
            self.squared_norms,
            objective.n_classes,
            objective.constant,
            lower=1.0 - objective.theta if odm else 1.0,
            upper=1.0 + objective.theta if odm else 1.0,
            upsilon=objective.upsilon if odm else 0.0,
            rival=rivals,
        )

    def feasible(self, duals: Any) -> sp.csr_array:
        """Return multipliers of a similar problem, cut to this one's bounds.

        The other problem may have other labels, rivals or another formulation; only ``ovr`` has
        multipliers of a row's own class, only ``odm`` negative ones, of rivals.
        """
        known = sp.csr_array(duals, dtype=np.float64)
        rows = np.repeat(np.arange(self.n_rows), np.diff(known.indptr))
        movable = self.squared_norms[rows] > 0
        if self.objective.formulation != "ovr":
            movable &= known.indices != self.codes[rows]
        if self.objective.formulation == "odm":
            movable &= self.bound[rows] > 0
            signed = None if self.rivals is None else known.indices == self.rivals[rows]
            values: Array = np.where(movable, np.maximum(known.data, 0.0), 0.0)
            if signed is not None:
                values = np.where(movable & signed, known.data, values)
            return sp.csr_array((values, known.indices, known.indptr), shape=known.shape)
        values = np.clip(known.data, 0.0, self.bound[rows]) * movable
        if self.objective.formulation == "cs":
            total = np.bincount(rows, values, minlength=self.n_rows)
            over = self.bound / np.maximum(total, np.finfo(np.float64).tiny)
            values = values * np.minimum(1.0, over)[rows]
        return sp.csr_array((values, known.indices, known.indptr), shape=known.shape)

    # Native views do not travel, and norms are cheaper to compute again than to send.
    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


@dataclass(frozen=True)
class MulticlassProblem:
    """The problem on all rows, stored in blocks on an engine."""

    objective: MulticlassObjective  # what is minimised
    engine: Engine  # keeps the rows
    blocks: Any  # the engine's parts, of RowBlock
    # Rows of all blocks, their stored values, and the bytes that these take.
    n_rows: int
    stored: int
    stored_bytes: int
    class_rows: NDArray[np.int64]  # (n_classes,): rows of each class
    # Whether the order of the rows depends on their contents alone and no row occurs twice.
    in_canonical_order: bool = False
    rivals: NDArray[np.int32] | None = None  # see InMemoryProblem; for rows in this process

    @classmethod
    def of_block(
        cls,
        objective: MulticlassObjective,
        engine: Engine,
        block: RowBlock,
        *,
        in_canonical_order: bool = False,
    ) -> MulticlassProblem:
        """Pose the problem on rows in this memory, which an engine elsewhere gets in pieces."""
        X, codes = block.X, block.codes
        return cls(
            objective,
            engine,
            engine.scatter([block] if engine.in_process else _pieces(block)),
            block.n_rows,
            int(X.nnz if sp.issparse(X) else X.size),
            bytes_of(X),
            np.bincount(codes, minlength=objective.n_classes),
            in_canonical_order,
        )

    @cached_property
    def in_memory(self) -> InMemoryProblem:
        """The problem on all rows at once, for an engine that works in this process."""
        return self.engine.together(self.blocks, self._on_all)

    def _on_all(self, blocks: Sequence[RowBlock]) -> InMemoryProblem:
        return replace(self.objective.on(joined(blocks)), rivals=self.rivals)


def _pieces(block: RowBlock) -> list[RowBlock]:
    name, weight = uuid.uuid4().hex, block.weight
    return [
        RowBlock(
            f"{name}-{k}",
            block.X[rows],
            block.codes[rows],
            None if weight is None else weight[rows],
        )
        for k, rows in enumerate(even_parts(block.X))
    ]
