"""Weights and multipliers of all classes in this memory: the state of the dual solvers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _native
from ...core.outcome import Certificate
from ...engines import Engine, LocalEngine
from ..problem import InMemoryProblem
from .bundles import SCALES, BundleLayout, best_scale, shuffle_seed, sparse_weights


@dataclass(frozen=True)
class Pass:
    """The rows and multipliers that an epoch visits."""

    seed: int  # decides the order of rows
    stopping: Callable[[], bool]  # asked now and then; true means give up
    active_only: bool = False  # visit only multipliers that are not zero
    skip_below: float = 0.0  # skip rows whose last visit gained less than this


class ClassBundles:
    """Bundles of classes with their weights, rows and multipliers.

    Parameters
    ----------
    problem : InMemoryProblem
        The problem on all rows.
    bundles : sequence of arrays
        Classes of each bundle.
    engine : Engine, optional
        Runs work on several bundles at a time, in this process.
    formulation : str, optional
        Formulation that the native core solves: the problem's own, or 'llw_fixed_mean'.
    all_rows : bool
        Whether every bundle has all rows, with the multipliers of its own classes only; otherwise
        it has the rows of its classes, with all their multipliers.
    memory : int
        Bytes; weights are dense from the start if they take at most half of them.

    Attributes
    ----------
    parts : list of ClassBundle
        The bundles.
    mean : array of shape (size,) or None
        Vector added to the weights of every class so that they sum to zero; for 'llw'.
    scale : float
        Factor of the weights, the best that the last certificate found.
    """

    def __init__(
        self,
        problem: InMemoryProblem,
        bundles: Sequence[NDArray[np.int64]],
        engine: Engine | None = None,
        *,
        formulation: str | None = None,
        all_rows: bool = False,
        memory: int = 2**30,
    ) -> None:
        self.problem = problem
        self.engine = LocalEngine() if engine is None else engine
        self.formulation = formulation or problem.objective.formulation
        self.all_rows = all_rows
        self.layout = BundleLayout.within(memory, bundles, problem.objective.size)
        self.native = problem.native(self.layout.number)
        llw = self.formulation.startswith("llw")
        self.mean = np.zeros(self.layout.size) if llw else None
        self.scale = 1.0
        bundle = self.layout.bundle_of[problem.codes]
        self._rows = [
            np.arange(problem.n_rows) if all_rows else np.flatnonzero(bundle == k)
            for k in range(len(bundles))
        ]
        self.parts = [self.layout.empty(k, rows) for k, rows in enumerate(self._rows)]
        self._consistent = True  # whether the weights are those of the multipliers

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.problem.n_rows

    @property
    def fixed_loss(self) -> float:
        """Loss of rows that are all zeros."""
        return self.problem.fixed_loss

    @property
    def traffic(self) -> dict[str, int]:
        """Columns of the history about what was sent: none."""
        return {}

    def visit(
        self, home: _native.ClassBundle, away: _native.ClassBundle, what: Pass, **options: Any
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
        """Recompute the weights from the multipliers, without the rounding of many small steps."""

        def recompute(part: _native.ClassBundle) -> None:
            part.clear_weights()
            for home in [part] if self.all_rows else self.parts:
                self.native.add_weights(self.formulation, home, part)

        self._consistent = False  # an interrupt may come between
        self.engine.map(self.parts, recompute)
        self.centre()
        self.scale, self._consistent = 1.0, True

    def centre(self) -> None:
        """Make the weights sum to zero."""
        if self.mean is not None:
            total = np.sum([part.class_sum() for part in self.parts], axis=0)
            self.mean[:] = -total / self.layout.n_classes

    def dual_objective(self) -> tuple[float, float]:
        """Return the dual objective and ½Σ‖w‖²."""
        half = 0.5 * sum(part.squared_norm(self.mean) for part in self.parts)
        return self.dual_sum() - half, half

    def dual_sum(self) -> float:
        """Return the dual objective and ½Σ‖w‖² together: for hinges, the sum of multipliers."""
        linear, quadratic = self.dual_sums()
        return self.fixed_loss + linear - quadratic

    def dual_sums(self) -> tuple[float, float]:
        """Return two terms of the dual objective: linear, and quadratic, in the multipliers."""
        sums = [self.native.dual_sums(self.formulation, part) for part in self.parts]
        return sum(linear for linear, _ in sums), sum(quadratic for _, quadratic in sums)

    def certify_zero(self) -> Certificate:
        """Return the certificate of weights of zero, which needs no pass."""
        return Certificate(self.problem.loss_at_zero, self.fixed_loss)

    def certify(self) -> Certificate:
        """Evaluate both objectives, and choose the scale of the weights."""
        dual, half = self.dual_objective()
        threads = self.engine.share(1).threads
        losses = self.native.total_losses(self.formulation, self.parts, self.mean, SCALES, threads)
        self.scale, certificate = best_scale(half, losses, dual)
        return certificate

    @property
    def weights(self) -> Any:
        """The weights as (classes, size), sparse where most are zero."""
        return self._combined_weights(keep=True)

    def take_weights(self) -> Any:
        """Return the weights, and keep none where they are sparse.

        There may be too many for two copies of them.
        """
        return self._combined_weights(keep=False)

    def _combined_weights(self, *, keep: bool) -> Any:
        if not self._consistent:
            self.refresh()
        stored = sum(part.weight_count() for part in self.parts)
        sparse = self.mean is None and self.layout.is_sparse(stored)
        taken = sparse and not keep
        self._consistent = not taken
        parts = []
        for part in self.parts:
            parts.append(sparse_weights(part, self.layout.size) if sparse else part.dense_weights())
            if taken:
                part.release_weights()
        return self.layout.combined(parts, sparse=sparse, scale=self.scale, mean=self.mean)

    @property
    def duals(self) -> sp.csr_array:
        """The multipliers as (rows, classes)."""
        values, rows, columns = [], [], []
        for part, own_rows in zip(self.parts, self._rows, strict=True):
            data, classes, start = part.duals()
            values.append(data)
            rows.append(np.repeat(own_rows, np.diff(start)))
            columns.append(self.layout.classes[classes])
        place = (np.concatenate(rows), np.concatenate(columns))
        shape = (self.n_rows, self.layout.n_classes)
        return sp.csr_array((np.concatenate(values), place), shape=shape)

    def start_from(self, duals: sp.csr_array) -> None:
        """Take multipliers, which must be inside their bounds, and the weights they imply.

        Multipliers of other data may be worse than zero: then their best multiple is taken.
        """
        self._set(duals)
        half = self.dual_objective()[1]
        linear, quadratic = self.dual_sums()
        twice = 2 * (half + quadratic)
        if 0 < linear < twice:  # D(tα) = t linear − t²(quadratic + half) is largest before t = 1
            self._set(sp.csr_array(duals * (linear / twice)))

    def _set(self, duals: sp.csr_array) -> None:
        numbered = sp.csr_array(
            (duals.data, self.layout.number[duals.indices], duals.indptr), shape=duals.shape
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
