"""An outside opinion: the kernel problems as quadratic programmes, solved by Clarabel.

Shares no line with the library or with ``reference``. The primal is solved, in factored form: with
K = FFᵀ, f(xᵢ) = Fᵢw and margins mᵢ = yᵢFᵢw,

    minimise ½‖w‖² + Σ cost·slack  (hinge)  or  ½‖w‖² + Σ ½·cost·slack²  (squared hinge, ODM)
    subject to  slack ≥ 0  and  sign·(target − margin) ≤ slack

with one slack a row, for margins that fall short (sign +1), and for ODM a second one for margins
that go too far (sign −1). The multipliers of the last constraints are ζ and β, the net dual their
difference. Nothing is inverted, so a singular K does no harm.
"""

from typing import NamedTuple

import clarabel  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]

# Far below the tolerances of the tests that call this, or they would test Clarabel.
REQUIRED_RELATIVE_GAP = 1e-10


class OracleSolution(NamedTuple):
    """Optimal primal objective, net dual γ (for Q = YKY) and margins y·f(x)."""

    objective: float
    net_dual: Array
    margins: Array


def solve_with_clarabel(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    loss: str,
    C: float = 1.0,
    weights: npt.ArrayLike | None = None,
    upsilon: float = 0.5,
    theta: float = 0.2,
) -> OracleSolution:
    """Solve the problem of ``loss`` ("hinge", "squared_hinge" or "odm") with labels y = ±1.

    The objective is that of a feasible point, and a feasible dual point proves it optimal to a
    relative gap of 1e-10; where Clarabel's answer cannot prove that, RuntimeError is raised.
    """
    labels = np.asarray(y, dtype=np.float64)
    features = labels[:, None] * square_root_factor(np.asarray(K, dtype=np.float64))
    row_weights = C * (np.ones(len(labels)) if weights is None else np.asarray(weights, float))
    if loss == "hinge":
        sides: list[tuple[float, Array | float, Array]] = [(1.0, 1.0, row_weights)]
    elif loss == "squared_hinge":
        sides = [(1.0, 1.0, 2 * row_weights)]
    elif loss == "odm":
        sides = [(1.0, 1 - theta, row_weights), (-1.0, 1 + theta, upsilon * row_weights)]
    else:
        raise ValueError(f"`loss` must be 'hinge', 'squared_hinge' or 'odm'; got {loss!r}.")

    return _solved(features, sides, 1 if loss == "hinge" else 2)


def solve_regression_with_clarabel(
    K: npt.ArrayLike,
    targets: npt.ArrayLike,
    loss: str,
    C: float = 1.0,
    weights: npt.ArrayLike | None = None,
    *,
    band: float = 0.0,
    upsilon: float = 1.0,
    quantile: float = 0.5,
) -> OracleSolution:
    """Solve a regression: half-width ``band`` of the residuals that cost nothing, and the loss.

    ``loss`` is "epsilon_insensitive", "squared_epsilon_insensitive", "pinball" or "odm". Margins
    of the solution are predictions.
    """
    t = np.asarray(targets, dtype=np.float64)
    features = square_root_factor(np.asarray(K, dtype=np.float64))
    cost = C * (np.ones(len(t)) if weights is None else np.asarray(weights, float))
    costs = {
        "epsilon_insensitive": (cost, cost, 1),
        "squared_epsilon_insensitive": (2 * cost, 2 * cost, 2),
        "pinball": (quantile * cost, (1 - quantile) * cost, 1),
        "odm": (cost, upsilon * cost, 2),
    }
    below, above, power = costs[loss]
    return _solved(features, [(1.0, t - band, below), (-1.0, t + band, above)], power)


def _solved(
    features: Array, sides: list[tuple[float, Array | float, Array]], power: int
) -> OracleSolution:
    """Solve for sides of (sign, target, cost); features carry the labels."""
    # A slack that costs nothing is no constraint, and would leave the programme degenerate.
    rows = np.concatenate([np.flatnonzero(cost) for _, _, cost in sides])
    signs = np.concatenate([np.full(np.count_nonzero(cost), sign) for sign, _, cost in sides])
    targets = np.concatenate(
        [np.broadcast_to(t, cost.shape)[np.flatnonzero(cost)] for _, t, cost in sides]
    )
    costs = np.concatenate([cost[np.flatnonzero(cost)] for _, _, cost in sides])

    w, multipliers = solve_programme(features[rows], signs, targets, costs, power)
    margins = features @ w
    net_dual = np.zeros(len(features))
    np.add.at(net_dual, rows, signs * multipliers)

    slacks = np.maximum(signs * (targets - margins[rows]), 0)
    objective = 0.5 * w @ w + np.sum(costs * slacks**power) / power
    implied_w = features.T @ net_dual
    dual = -0.5 * implied_w @ implied_w + np.sum(multipliers * signs * targets)
    if power == 2:
        dual -= np.sum(0.5 * multipliers**2 / costs)
    if not objective - dual <= REQUIRED_RELATIVE_GAP * objective:  # so that NaN fails too
        raise RuntimeError(f"Clarabel left a relative gap of {1 - dual / objective:.1e}.")
    return OracleSolution(float(objective), net_dual, margins)


def square_root_factor(K: Array) -> Array:
    """F with K = FFᵀ, from the eigenvectors whose eigenvalues stand out from rounding."""
    eigenvalues, eigenvectors = np.linalg.eigh(K)
    rounding = len(K) * np.finfo(float).eps * np.max(np.abs(eigenvalues))
    if eigenvalues[0] < -10 * rounding:
        least = f"{eigenvalues[0]:.1e}"
        raise ValueError(f"`K` must be positive semi-definite; got the eigenvalue {least}.")
    kept = np.flatnonzero(eigenvalues > rounding)
    return np.asarray(eigenvectors[:, kept] * np.sqrt(eigenvalues[kept]))


def solve_programme(
    features: Array, signs: Array, targets: Array, costs: Array, power: int
) -> tuple[Array, Array]:
    """Return w and the multipliers of ``signs·(targets − features·w) ≤ slack``.

    Squared slacks are measured in units of 1/√cost, so that every one costs ½u² whatever C is.
    """
    n_slacks, n_features = features.shape
    unit = np.ones(n_slacks) if power == 1 else 1 / np.sqrt(costs)
    A = sparse.hstack([sparse.csc_array(-signs[:, None] * features), sparse.diags_array(-unit)])
    b = -signs * targets
    linear = np.zeros(n_features + n_slacks)
    if power == 1:
        linear[n_features:] = costs
        # A slack that is not squared would go below zero.
        zeros = sparse.csc_array((n_slacks, n_features))
        A = sparse.vstack([A, sparse.hstack([zeros, -sparse.eye_array(n_slacks)])])
        b = np.concatenate([b, np.zeros(n_slacks)])
    quadratic = np.concatenate([np.ones(n_features), np.full(n_slacks, power - 1.0)])

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    # By default the linear systems are refined to about 1e-12 and such tolerances are out of reach.
    settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = 1e-15
    settings.iterative_refinement_max_iter = 50
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(quadratic)),
        linear,
        sparse.csc_matrix(A),
        b,
        [clarabel.NonnegativeConeT(len(b))],
        settings,
    ).solve()
    multipliers = np.maximum(solution.z[:n_slacks], 0)
    if power == 1:
        multipliers = np.minimum(multipliers, costs)
    return np.asarray(solution.x[:n_features]), multipliers
