r"""Where a solve begins that has a neighbour to start from.

Along the ray of another solution's duals the dual objective is a parabola: with
:math:`\sum_i \varphi_i(t\gamma_i) = A t^2 - B t` for t ≥ 0 its highest point is
:math:`t = B / (\lVert w \rVert^2 + 2A)`. On that ray lie the duals as they are and the duals grown
with ``C``, which is where those at their bound go.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ..problem import LinearProblem


def implied_duals(problem: LinearProblem, w: Array) -> Array:
    """Return the duals that the margins of ``w`` imply."""
    net_dual = np.zeros(problem.n_rows)
    problem.evaluate(w, dual=net_dual)
    return net_dual


def best_multiple(problem: LinearProblem, net_dual: Array, w: Array) -> Array:
    """Return the multiple of duals, with weights ``w``, that has the highest dual objective."""
    once, twice = problem.phi(net_dual), problem.phi(2.0 * net_dual)
    square = 0.5 * twice - once
    curvature = float(w @ w) + 2.0 * square
    factor = max(0.0, (square - once) / curvature) if curvature > 0 else 0.0
    bound = problem.constants.bound
    if np.isfinite(bound):
        return np.asarray(
            np.minimum(
                factor * net_dual, bound if problem.weight is None else bound * problem.weight
            )
        )
    return factor * net_dual
