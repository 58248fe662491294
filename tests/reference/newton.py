"""Semi-smooth Newton for the losses with a second derivative: ODM and the squared hinge.

The optimum solves γ = −ℓ′(m), m = Qγ. Where ℓ is curved (the active rows), that reads

    mᵢ + pᵢγᵢ = a  if mᵢ < a,      mᵢ + nᵢγᵢ = b  if mᵢ > b,

and elsewhere γᵢ = 0: given the active rows, a linear system. Newton's method solves it, looks which
rows are active now, and repeats. A line search on the primal keeps it from cycling; the end comes
after finitely many steps, when the active rows no longer change. The system has condition number
1 + C·(largest eigenvalue of Q): beyond about 1e12, float64 is not enough.
"""

import numpy as np
import numpy.typing as npt

from reference.certificate import gap, is_certified, primal
from reference.losses import Hinge, MarginLoss

Array = npt.NDArray[np.float64]


def newton(
    Q: Array,
    loss: MarginLoss,
    *,
    start: Array | None = None,
    tol: float = 1e-9,
    max_steps: int = 100,
) -> Array:
    """Minimise ½γᵀQγ + Σφᵢ(γᵢ) until (P − D)/P ≤ ``tol``; one step costs O(rows³)."""
    if isinstance(loss, Hinge):
        raise ValueError("`loss` must have a second derivative; got the hinge.")
    net_dual = np.zeros(len(Q)) if start is None else start.copy()
    for _ in range(max_steps):
        # A Newton point may lie outside the box, where the dual is −∞.
        feasible = np.clip(net_dual, loss.lower, loss.upper)
        if is_certified(Q, feasible, loss, tol):
            return feasible
        direction = newton_point(Q, Q @ net_dual, loss) - net_dual
        net_dual = net_dual + step_length(Q, net_dual, direction, loss) * direction
    raise RuntimeError(f"`max_steps`={max_steps} left a gap of {gap(Q, feasible, loss):.2e}.")


def newton_point(Q: Array, margins: Array, loss: MarginLoss) -> Array:
    """Solve the optimality conditions with the active rows of these margins."""
    implied = loss.implied_dual(margins)
    active = np.flatnonzero(implied)
    curvature = np.where(implied > 0, loss.p, loss.n)[active]
    target = np.where(implied > 0, loss.a, loss.b)[active]
    solution = np.zeros(len(Q))
    system = Q[np.ix_(active, active)] + np.diag(curvature)
    solution[active] = np.linalg.solve(system, target)
    return solution


def step_length(Q: Array, net_dual: Array, direction: Array, loss: MarginLoss) -> float:
    """Halve the step until it lowers the primal by a fair share of what its slope promises."""
    value = primal(Q, net_dual, loss)
    slope = direction @ Q @ (net_dual - loss.implied_dual(Q @ net_dual))
    rounding = 1e-14 * value  # the last steps gain less than the primal can resolve
    step = 1.0
    while primal(Q, net_dual + step * direction, loss) > value + 1e-4 * step * slope + rounding:
        step /= 2
    return step
