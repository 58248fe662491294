"""The duality gap: a bound, computable at any γ, on how far γ is from the optimum.

With m = Qγ and ‖f‖² = γᵀQγ,

    P(γ) = ½‖f‖² + Σ ℓᵢ(mᵢ)  ≥  optimum  ≥  D(γ) = −(½‖f‖² + Σ φᵢ(γᵢ))

for every γ, with equality of all three at the minimiser. D is −∞ outside the box.
"""

import numpy as np
import numpy.typing as npt

from reference.losses import MarginLoss

Array = npt.NDArray[np.float64]


def primal(Q: Array, net_dual: Array, loss: MarginLoss) -> float:
    """P(γ), the regularised loss of the classifier that γ stands for."""
    margins = Q @ net_dual
    return float(0.5 * net_dual @ margins + np.sum(loss.primal_loss(margins)))


def dual(Q: Array, net_dual: Array, loss: MarginLoss) -> float:
    """D(γ), the negative of the function that the solvers minimise."""
    return float(-(0.5 * net_dual @ Q @ net_dual + np.sum(loss.phi(net_dual))))


def gap(Q: Array, net_dual: Array, loss: MarginLoss) -> float:
    """P(γ) − D(γ), never negative but for rounding."""
    return primal(Q, net_dual, loss) - dual(Q, net_dual, loss)


def is_certified(Q: Array, net_dual: Array, loss: MarginLoss, tol: float) -> bool:
    """Say whether the relative gap (P − D)/P is at most ``tol``; written so that P may be zero."""
    return gap(Q, net_dual, loss) <= tol * primal(Q, net_dual, loss)
