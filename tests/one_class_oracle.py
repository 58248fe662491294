"""An outside opinion on the one-class problem: its dual as a quadratic programme for Clarabel.

Shares no line with the library. With K = FFᵀ and v = Fᵀα,

    minimise ½‖v‖²   subject to   v = Fᵀα,   Σα = ν Σw,   0 ≤ α ≤ w.
"""

from typing import NamedTuple

import clarabel  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from scipy import sparse

from oracle import square_root_factor

Array = npt.NDArray[np.float64]


class OneClassOptimum(NamedTuple):
    """Optimal dual objective ½αᵀKα, and the scores of the rows."""

    objective: float
    scores: Array


def one_class_optimum(K: Array, weights: Array, nu: float) -> OneClassOptimum:
    """Solve the problem; RuntimeError where Clarabel does not prove its answer."""
    factor = square_root_factor(K)
    n, rank = factor.shape
    equalities = sparse.vstack(
        [
            sparse.hstack([-sparse.eye_array(rank), sparse.csc_array(factor.T)]),
            sparse.hstack([sparse.csc_array((1, rank)), sparse.csc_array(np.ones((1, n)))]),
        ]
    )
    nothing, each = sparse.csc_array((n, rank)), sparse.eye_array(n)
    bounds = sparse.vstack([sparse.hstack([nothing, -each]), sparse.hstack([nothing, each])])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-15
    settings.iterative_refinement_max_iter = 50
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(np.r_[np.ones(rank), np.zeros(n)])),
        np.zeros(rank + n),
        sparse.csc_matrix(sparse.vstack([equalities, bounds])),
        np.concatenate([np.zeros(rank), [nu * weights.sum()], np.zeros(n), weights]),
        [clarabel.ZeroConeT(rank + 1), clarabel.NonnegativeConeT(2 * n)],
        settings,
    ).solve()
    gap = solution.obj_val - solution.obj_val_dual
    if not abs(gap) <= 1e-9 * abs(solution.obj_val):
        raise RuntimeError(f"Clarabel left a gap of {gap:.1e} at {solution.obj_val:.3g}.")
    v = np.asarray(solution.x[:rank])
    return OneClassOptimum(0.5 * float(v @ v), factor @ v)
