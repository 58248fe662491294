r"""What a part does in a pass of :mod:`.blockwise`: it improves its multipliers, others resting.

Part k receives weights U and solves

.. math:: \min_{W_k} \sum_f \frac{1}{2 \sigma_f} \lVert W_{kf} - V_{kf} \rVert^2
          + \sum_{i \in k} C_i\, \ell(x_i, y_i; W_k), \qquad V_k = U - \sigma W_k(b)

where :math:`W_{kf}` are the weights of feature f, and :math:`W_k(b)` those of the average b of
the part's multipliers. With features multiplied by :math:`\sqrt{\sigma_f}` and weights divided by
it, its dual is that of a problem like the whole one: visits need no other code, and begin at the
multipliers of the last pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import Array
from ...core.resources import single_threaded_blas
from ...engines import LocalEngine
from ..problem import InMemoryProblem
from .ascent_rows import AscentRows, combined_duals
from .bundles import SCALES, BundleLayout, put_weights, smaller_weights
from .class_bundles import ClassBundles, Pass
from .dual_ascent import AllTogether

# Epochs of a part in a pass: with thirty, CLINC150 takes as many passes as with five. Those after
# the first visit the multipliers that are not zero, except for `llw`, where all move together; it
# makes no difference to the passes.
EPOCHS = 5


@dataclass(frozen=True)
class Improve:
    """A pass: every part improves its multipliers, given the weights."""

    layout: BundleLayout  # one bundle of all classes
    weights: Any  # (classes, size): where parts begin
    curvature: Array  # (size,): what a feature's change costs, in multiples of its true cost
    relaxation: float  # share of the new multipliers in their average
    seed: int
    threads: int

    def __call__(self, rows: AscentRows) -> AscentRows:
        """Return the rows with better multipliers."""
        with single_threaded_blas():
            losses = self._losses(rows.problem)
            state = self._at(rows)
            (bundle,) = state.parts
            seed, few = self.seed + 1_000_003 * rows.number, state.formulation != "llw"
            for epoch in range(EPOCHS):
                AllTogether().epoch(state, Pass(seed + epoch, _never, few and epoch > 0))
            duals = bundle.duals()
        share = self.relaxation
        relaxed = combined_duals(duals, rows.relaxed, share, 1.0 - share, self.layout.n_classes)
        return replace(rows, duals=duals, relaxed=relaxed, losses=losses)

    def _losses(self, problem: InMemoryProblem) -> Array:
        """Return the losses at the weights, at several scales of these."""
        bundle = self.layout.empty(0, np.arange(0))
        put_any_weights(bundle, self.weights, self.layout)
        return np.array(
            problem.native().total_losses(
                problem.objective.formulation,
                [bundle],
                _no_mean(problem),
                SCALES,
                self.threads,
            )
        )

    def _at(self, rows: AscentRows) -> ClassBundles:
        """Return the part's own problem at its multipliers, and the weights that these imply."""
        root = np.sqrt(self.curvature)
        scaled = scaled_rows(rows.problem, root)
        room = 2**62 if self.layout.dense else 0
        state = ClassBundles(
            scaled, self.layout.bundles, LocalEngine(self.threads), all_rows=True, memory=room
        )
        (bundle,) = state.parts
        put_any_weights(bundle, times(self.weights, 1.0 / root), self.layout, rows.n_rows)
        # The weights were sent for the averages of the multipliers.
        ahead = combined_duals(rows.duals, rows.relaxed, 1.0, -1.0, self.layout.n_classes)
        bundle.set_duals(*ahead)
        state.native.add_weights(state.formulation, bundle, bundle)
        state.centre()
        bundle.set_duals(*rows.duals)
        return state


@dataclass(frozen=True)
class SumUp:
    """What a pass found, to be added up over the parts."""

    layout: BundleLayout

    def __call__(self, rows: AscentRows) -> tuple[Any, ...]:
        """Return a part's share of the weights, its sum of multipliers, and its losses."""
        problem = rows.problem
        bundle = self.layout.empty(0, np.arange(rows.n_rows))
        bundle.set_duals(*rows.duals)
        native = problem.native()
        formulation = problem.objective.formulation
        native.add_weights(formulation, bundle, bundle)
        total, _ = native.dual_sums(formulation, bundle)
        return smaller_weights(bundle, self.layout.size), total, rows.losses


def added_up(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add up what two parts found; a sum of a dense and a sparse array is an array."""
    weights = one[0] + other[0]
    if sp.issparse(one[0]) != sp.issparse(other[0]):
        weights = np.asarray(weights)
    return weights, *(a + b for a, b in zip(one[1:], other[1:], strict=True))


def put_any_weights(bundle: Any, weights: Any, layout: BundleLayout, n_rows: int = 0) -> None:
    """Give dense or sparse weights to a bundle that has none."""
    if layout.dense:
        dense = weights.toarray() if sp.issparse(weights) else weights
        bundle.add_dense_weights(np.ascontiguousarray(dense))
    else:
        put_weights(bundle, weights, layout, n_rows)


def scaled_rows(problem: InMemoryProblem, factor: Array) -> InMemoryProblem:
    """Multiply the features, and the constant one."""
    objective, X = problem.objective, problem.X
    factors = factor[: objective.n_features].astype(X.dtype)
    if sp.issparse(X):
        scaled = sp.csr_matrix((X.data * factors[X.indices], X.indices, X.indptr), shape=X.shape)
    else:
        scaled = X * factors
    if objective.constant:
        objective = replace(objective, constant=objective.constant * float(factor[-1]))
    return replace(problem, objective=objective, X=scaled)


def times(weights: Any, factor: Array) -> Any:
    """Multiply the weights of each feature by its factor."""
    if not sp.issparse(weights):
        return weights * factor
    data = weights.data * factor[weights.indices]
    return sp.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _no_mean(problem: InMemoryProblem) -> Array | None:
    """Return the mean of weights that sum to zero, where the formulation has one."""
    return np.zeros(problem.objective.size) if problem.objective.formulation == "llw" else None


def _never() -> bool:
    return False
