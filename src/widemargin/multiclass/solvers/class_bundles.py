"""Weights and multipliers of all classes, in bundles: the state of the dual solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.certificates import Certificate
from ...engines import Engine
from ..problem import MulticlassProblem

# Weights beyond this share of zeros are kept and returned as sparse ones.
SPARSE_SHARE = 0.75
# On the way to the solution the weights are too short more often than too long, and the objective
# of slightly longer ones is known for little more.
SCALES = (1.0, 1.003, 1.01, 1.03)


@dataclass(frozen=True)
class Pass:
    """What is visited in an epoch.

    Attributes
    ----------
    seed : int
        For the order of rows.
    stopping : callable
        Asked now and then; true means give up.
    active_only : bool
        Only multipliers that are not zero,
    skip_below : float
        and rows whose last visit gained as much as this.
    """

    seed: int
    stopping: Callable[[], bool]
    active_only: bool = False
    skip_below: float = 0.0


def shuffle_seed(seed: int, k: int) -> int:
    """Return a seed for the order of bundle ``k``'s rows."""
    return seed + 1_000_003 * k


class ClassBundles:
    """Bundles of classes with their weights, rows and multipliers.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    bundles : list of arrays
        Classes of each bundle.
    engine : Engine
        Runs what can be done for several bundles at a time.
    formulation : str
        What the native core solves; the problem's own, or 'llw_fixed_mean'.
    all_rows : bool
        Whether every bundle has all rows, with the multipliers of its own classes only; else it
        has the rows of its classes, with all their multipliers.
    memory : int
        Bytes; weights are dense from the start if they take half of them at most.

    Attributes
    ----------
    parts : list of ClassBundle
        The bundles.
    mean : array of shape (size,) or None
        What is added to the weights of every class so that they sum to zero; for 'llw'.
    scale : float
        Factor of the weights, the best that the last certificate found.
    dense : bool
        Whether all weights have a place from the start.
    """

    def __init__(
        self,
        problem: MulticlassProblem,
        bundles: list[NDArray[np.int64]],
        engine: Engine,
        *,
        formulation: str,
        all_rows: bool,
        memory: int,
    ) -> None:
        self.problem, self.engine = problem, engine
        self.formulation, self.all_rows = formulation, all_rows
        self.classes = np.concatenate(bundles)  # by their numbers in the native core
        number = np.empty(problem.n_classes, dtype=np.int32)
        number[self.classes] = np.arange(problem.n_classes, dtype=np.int32)
        self._number = number
        label = number[problem.codes]
        self.native = problem.native(label)
        self.mean = np.zeros(problem.size) if formulation.startswith("llw") else None
        self.scale = 1.0
        self.parts: list[_native.ClassBundle] = []
        self._rows: list[NDArray[np.int64]] = []
        self._whole = True  # whether the weights are those of the multipliers
        self.dense = dense = 8 * problem.size * problem.n_classes <= memory // 2
        first = 0
        for classes in bundles:
            inside = (label >= first) & (label < first + len(classes))
            rows = np.arange(problem.n_rows) if all_rows else np.flatnonzero(inside)
            part = _native.ClassBundle(first, len(classes), problem.size, dense, rows)
            self.parts.append(part)
            self._rows.append(rows)
            first += len(classes)

    def visit(
        self,
        home: _native.ClassBundle,
        away: _native.ClassBundle,
        what: Pass,
        **options: Any,
    ) -> tuple[float, float]:
        """Visit the rows of two bundles, or of one, once; return their losses and the gain."""
        return self.native.visit(
            self.formulation,
            home,
            away,
            self.mean,
            seed=what.seed,
            stopping=what.stopping,
            active_only=what.active_only,
            skip_below=what.skip_below,
            **options,
        )

    def shuffle(self, seed: int) -> None:
        """Put the rows of every bundle into another order."""
        for k, part in enumerate(self.parts):
            part.shuffle(shuffle_seed(seed, k))

    def refresh(self) -> None:
        """Recompute the weights from the multipliers: without the rounding of many small steps."""

        def recompute(part: _native.ClassBundle) -> None:
            part.clear_weights()
            for home in [part] if self.all_rows else self.parts:
                self.native.add_weights(self.formulation, home, part)

        self._whole = False  # an interrupt may come between
        self.engine.map(self.parts, recompute)
        self.centre()
        self.scale, self._whole = 1.0, True

    def centre(self) -> None:
        """Make the weights sum to zero, by what is added to each class."""
        if self.mean is not None:
            total = np.sum([part.class_sum() for part in self.parts], axis=0)
            self.mean[:] = -total / self.problem.n_classes

    def dual_objective(self) -> tuple[float, float]:
        """Return the dual objective and ½Σ‖w‖²."""
        half = 0.5 * sum(part.squared_norm(self.mean) for part in self.parts)
        return self.dual_sum() - half, half

    def dual_sum(self) -> float:
        """Return the sum of all multipliers."""
        return self.problem.lost_anyway + sum(part.dual_sum() for part in self.parts)

    def certificate_of_zero(self) -> Certificate:
        """Return the certificate before the first step, which needs no pass."""
        problem = self.problem
        return Certificate(float(problem.bound.sum()) * problem.losses_per_row, problem.lost_anyway)

    def certify(self) -> Certificate:
        """Evaluate both objectives, and settle the scale of the weights."""
        dual, half = self.dual_objective()
        scales = np.array(SCALES)
        losses = self.native.total_losses(
            self.formulation, self.parts, self.mean, SCALES, self.problem.threads
        )
        primals = scales**2 * half + np.array(losses)
        best = int(np.argmin(primals))
        self.scale = float(scales[best])
        return Certificate(float(primals[best]), dual)

    def weights(self) -> Any:
        """Return the weights as (classes, size), sparse where most are zero."""
        if not self._whole:
            self.refresh()
        n_classes, size = self.problem.n_classes, self.problem.size
        stored = sum(part.weight_count() for part in self.parts)
        if self.mean is None and stored <= (1 - SPARSE_SHARE) * n_classes * size:
            blocks = [self._sparse(part) for part in self.parts]
            if len(blocks) == 1:
                return blocks[0]  # a single bundle keeps the order of the classes
            return sp.csr_array(sp.vstack(blocks, format="csr")[self._number])
        if len(self.parts) == 1:
            out = self.parts[0].dense_weights()
        else:
            out = np.empty((n_classes, size))
            for part in self.parts:
                out[self.classes[part.first : part.first + part.width]] = part.dense_weights()
        if self.mean is not None:
            out += self.mean
        out *= self.scale
        return out

    def _sparse(self, part: _native.ClassBundle) -> sp.csr_array:
        values, features, start = part.sparse_weights()
        narrow = features.astype(np.int32) if self.problem.size < 2**31 else features
        return sp.csr_array(
            (values * self.scale, narrow, start), shape=(part.width, self.problem.size)
        )

    def duals(self) -> sp.csr_array:
        """Return the multipliers as (rows, classes)."""
        values, rows, columns = [], [], []
        for part, own_rows in zip(self.parts, self._rows, strict=True):
            data, classes, start = part.duals()
            values.append(data)
            rows.append(np.repeat(own_rows, np.diff(start)))
            columns.append(self.classes[classes])
        place = (np.concatenate(rows), np.concatenate(columns))
        shape = (self.problem.n_rows, self.problem.n_classes)
        return sp.csr_array((np.concatenate(values), place), shape=shape)

    def start_from(self, duals: sp.csr_array) -> None:
        """Take multipliers, which must be inside their bounds, and the weights they imply.

        Of other data they may be worse than zero: then their best multiple is taken.
        """
        self._set(duals)
        dual, half = self.dual_objective()
        total = dual + half - self.problem.lost_anyway
        if 0 < total < 2 * half:  # D(tα) = tΣα − t²½Σ‖w‖² has its maximum before t = 1
            self._set(sp.csr_array(duals * (total / (2 * half))))

    def _set(self, duals: sp.csr_array) -> None:
        numbered = sp.csr_array(
            (duals.data, self._number[duals.indices], duals.indptr), shape=duals.shape
        )
        for part, rows in zip(self.parts, self._rows, strict=True):
            own = sp.csr_array(numbered[rows])
            if self.all_rows:
                inside = (own.indices >= part.first) & (own.indices < part.first + part.width)
                own.data = np.where(inside, own.data, 0.0)
            own.eliminate_zeros()
            own.sort_indices()
            part.set_duals(own.data, own.indices.astype(np.int32), own.indptr.astype(np.int64))
        self.refresh()


def feasible(duals: Any, problem: MulticlassProblem) -> sp.csr_array:
    """Return multipliers of a similar problem, cut to this one's bounds.

    Its labels may be others, or its formulation: only ``ovr`` has multipliers of a row's own class.
    """
    known = sp.csr_array(duals, dtype=np.float64)
    rows = np.repeat(np.arange(problem.n_rows), np.diff(known.indptr))
    movable = problem.squared_norms[rows] > 0
    if problem.formulation != "ovr":
        movable &= known.indices != problem.codes[rows]
    values: Array = np.clip(known.data, 0.0, problem.bound[rows]) * movable
    if problem.formulation == "cs":
        total = np.bincount(rows, values, minlength=problem.n_rows)
        over = problem.bound / np.maximum(total, np.finfo(np.float64).tiny)
        values = values * np.minimum(1.0, over)[rows]
    return sp.csr_array((values, known.indices, known.indptr), shape=known.shape)
