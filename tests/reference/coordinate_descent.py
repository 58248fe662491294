"""Dual coordinate descent: minimise over one γᵢ at a time, exactly, until the gap is small."""

import numpy as np
import numpy.typing as npt

from reference.certificate import gap, is_certified
from reference.losses import MarginLoss

Array = npt.NDArray[np.float64]


def coordinate_descent(
    Q: Array,
    loss: MarginLoss,
    *,
    start: Array | None = None,
    rng: np.random.Generator | None = None,
    tol: float = 1e-9,
    max_sweeps: int = 20_000,
) -> Array:
    """Minimise ½γᵀQγ + Σφᵢ(γᵢ) until (P − D)/P ≤ ``tol``; one sweep costs O(rows²).

    Rows are visited in order, or, given ``rng``, in an order redrawn every sweep. For ODM this is
    the method of SODM, Eqn. (3), with its two variables a row replaced by one.
    """
    n_rows = len(Q)
    net_dual = np.zeros(n_rows) if start is None else start.copy()
    margins = Q @ net_dual
    for _ in range(max_sweeps):
        if is_certified(Q, net_dual, loss, tol):
            return net_dual
        for i in range(n_rows) if rng is None else rng.permutation(n_rows):
            margin_without_i = margins[i] - Q[i, i] * net_dual[i]
            updated = loss.coordinate_minimiser(i, margin_without_i, Q[i, i])
            margins += (updated - net_dual[i]) * Q[i]
            net_dual[i] = updated
    raise RuntimeError(f"`max_sweeps`={max_sweeps} left a gap of {gap(Q, net_dual, loss):.2e}.")
