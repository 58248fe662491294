"""Regression with a kernel: primal and dual objective of four losses, written out.

With the residual rᵢ = f(xᵢ) − tᵢ, the weight Cᵢ = C·wᵢ and f = Kγ,

    P(γ) = ½γᵀKγ + Σ ℓᵢ(rᵢ),    D(γ) = −½γᵀKγ + tᵀγ − Σ ℓᵢ*(−γᵢ),

where ℓ* is the conjugate of ℓ: ℓ*(−γ) is the largest value of −γr − ℓ(r) over the residuals r. An
intercept is a constant that is added to K, and targets are then measured from their middle.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def losses(
    loss: str,
    residuals: Array,
    row_weights: Array,
    *,
    band: float = 0.0,
    upsilon: float = 1.0,
    quantile: float = 0.5,
) -> Array:
    """ℓᵢ(rᵢ) of every row."""
    too_small = np.maximum(-band - residuals, 0)
    too_large = np.maximum(residuals - band, 0)
    if loss == "epsilon_insensitive":
        return row_weights * (too_small + too_large)
    if loss == "squared_epsilon_insensitive":
        return row_weights * (too_small + too_large) ** 2
    if loss == "pinball":
        return row_weights * (quantile * too_small + (1 - quantile) * too_large)
    if loss == "odm":
        return 0.5 * row_weights * (too_small**2 + upsilon * too_large**2)
    raise ValueError(f"there is no loss {loss!r}")


def conjugates(
    loss: str,
    net_dual: Array,
    row_weights: Array,
    *,
    band: float = 0.0,
    upsilon: float = 1.0,
    quantile: float = 0.5,
) -> Array:
    """ℓᵢ*(−γᵢ) of every row: infinite for a net dual that no slope of the loss reaches."""
    pull = np.abs(net_dual)
    if loss == "epsilon_insensitive":
        # Rounding may lift a net dual at its bound above it by the last digit.
        return np.where(pull <= row_weights * (1 + 1e-12), band * pull, np.inf)
    if loss == "squared_epsilon_insensitive":
        return band * pull + net_dual**2 / (4 * row_weights)
    if loss == "pinball":
        bound = np.where(net_dual > 0, quantile, 1 - quantile) * row_weights
        return np.where(pull <= bound * (1 + 1e-12), 0.0, np.inf)
    if loss == "odm":
        weight = np.where(net_dual > 0, 1.0, upsilon) * row_weights
        return band * pull + net_dual**2 / (2 * weight)
    raise ValueError(f"there is no loss {loss!r}")


def objectives(
    K: Array, targets: Array, net_dual: Array, row_weights: Array, loss: str, **parameters: float
) -> tuple[float, float]:
    """P(γ) and D(γ)."""
    predictions = K @ net_dual
    norm = float(net_dual @ predictions)
    primal = losses(loss, predictions - targets, row_weights, **parameters).sum()
    conjugate = conjugates(loss, net_dual, row_weights, **parameters).sum()
    return 0.5 * norm + float(primal), float(targets @ net_dual) - 0.5 * norm - float(conjugate)
