r"""A linear SVM at every site by the alternating direction method of multipliers; nothing is sent.

The paper's "pseudo-distributed" ADMM: every site solves, on its own rows,

.. math:: \min_{w, z} \tfrac12 \lVert w \rVert^2 + \Lambda \sum_i v_i \max(0, 1 - z_i)
          \quad \text{with} \quad z_i = y_i w^\top x_i

by the steps of Boyd et al. (2011, §3.4), A being the rows times their labels:

.. math::
   w &\leftarrow \rho (I + \rho A^\top A)^{-1} A^\top (z - u), \qquad
   r \leftarrow \alpha A w + (1 - \alpha) z \\
   z_i &\leftarrow \max\bigl(r_i + u_i,\; \min(1,\; r_i + u_i + \Lambda v_i / \rho)\bigr), \qquad
   u \leftarrow u + r - z

Λ, ρ and α are what the paper's Table 7 lists, in the notation of Boyd's example program for linear
SVMs, whose tolerances and iterations are taken, too. Over-relaxation is known to converge for
0 < α < 2.

Departure: that program divides the rows among subsystems, each with a copy of w, and its ρ weighs
the distance of the copies. The paper has subsystems at every site as well, but does not say how
many. Here z copies the margins instead, one per row, and ρ weighs their distance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from .problem import DividedProblem, Outcome, Stopwatch

ABSOLUTE, RELATIVE, ITERATIONS = 1e-4, 1e-2, 1_000
# A model of this length has diverged.
HUGE = 1e12


class Parameters(NamedTuple):
    """Λ, ρ and α; without Λ, every site has the λ of the problem, and ρ is in units of Λ."""

    weight: float | None
    rho: float
    alpha: float


OURS = Parameters(None, 0.1, 1.6)


def admm(problem: DividedProblem, parameters: Parameters = OURS) -> Outcome:
    """Run ADMM at every site alone."""
    clock = Stopwatch()
    found = []
    for rows in problem.rows:
        parts = (problem.X[rows], problem.y[rows], problem.weight[rows])
        found.append(solve(*parts, *_of_site(problem, parts[2], parameters)))
    models = np.stack([model for model, _, _ in found])
    iterations = [count for _, count, _ in found]
    stopped = all(arrived for _, _, arrived in found)
    facts: dict[str, Any] = {"iterations": iterations}
    seconds, longest = clock.seconds, max(iterations)
    return Outcome(problem.X_test @ models.T, models, longest, 0, 0, seconds, stopped, facts)


def _of_site(problem: DividedProblem, weight: np.ndarray, given: Parameters) -> Parameters:
    if given.weight is not None:
        return given
    own = 1.0 / (problem.lam * float(weight.sum()))
    return Parameters(own, given.rho * own, given.alpha)


def solve(
    X: Any, y: np.ndarray, v: np.ndarray, weight: float, rho: float, alpha: float
) -> tuple[np.ndarray, int, bool]:
    """Return a model, the iterations it took, and whether it stopped by itself."""
    A = sp.diags_array(y, format="csr") @ X if sp.issparse(X) else y[:, None] * X
    invert = _inverse(A, rho)
    z = u = np.zeros(len(y))
    w, number, arrived = np.zeros(A.shape[1]), 0, False
    while number < ITERATIONS and not arrived and np.linalg.norm(w) < HUGE:
        number += 1
        w = rho * invert(A.T @ (z - u))
        margins, before = A @ w, z
        r = alpha * margins + (1.0 - alpha) * z
        z = np.maximum(r + u, np.minimum(1.0, r + u + weight * v / rho))
        u = u + r - z
        primal, dual = np.linalg.norm(margins - z), rho * np.linalg.norm(A.T @ (z - before))
        size = max(np.linalg.norm(margins), np.linalg.norm(z))
        small = primal <= np.sqrt(len(y)) * ABSOLUTE + RELATIVE * size
        force = rho * np.linalg.norm(A.T @ u)
        arrived = bool(small and dual <= np.sqrt(len(w)) * ABSOLUTE + RELATIVE * force)
    return w, number, arrived


def _inverse(A: Any, rho: float) -> Any:
    """Return a function that applies the inverse of I + ρ AᵀA, factored on its shorter side."""
    rows, features = A.shape
    short = A if rows < features else A.T
    product = short @ short.T
    product = product.toarray() if sp.issparse(product) else np.asarray(product)
    factor = cho_factor(np.eye(len(product)) + rho * product)
    if rows >= features:
        return lambda b: cho_solve(factor, b)
    return lambda b: b - rho * (A.T @ cho_solve(factor, A @ b))
