"""Dense systems that rounding may have made indefinite."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ...core.arrays import Array


class CholeskyFactor:
    """A Cholesky factor to solve with, for one matrix and any number of right-hand sides."""

    def __init__(self, factor: tuple[Array, bool]) -> None:
        self._factor = factor

    def solve(self, right: Array) -> Array:
        """Solve for one right-hand side."""
        return np.asarray(scipy.linalg.cho_solve(self._factor, right, check_finite=False))


def damped_cholesky(matrix: Array, diagonal: Array) -> CholeskyFactor:
    """Factorise ``matrix + diag(diagonal)``, adding just enough to the diagonal to succeed.

    A matrix that is positive semi-definite on paper may miss it by rounding. What the damping
    changes is rounding too; a certificate afterwards tells if it mattered.
    """
    total = matrix.diagonal() + diagonal
    scale = float(np.abs(total).max(initial=0.0)) or 1.0
    for damping in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        # Symmetric, so its transpose is itself in the order that LAPACK works on without a copy.
        system = matrix.copy().T
        system[np.diag_indices_from(system)] = total + damping * scale
        try:
            return CholeskyFactor(
                scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            )
        except np.linalg.LinAlgError:
            continue
    raise ValueError(
        "The kernel matrix is far from positive semi-definite, or not finite; check the kernel "
        "and the scale of the features."
    )
