"""Kernel matrices that users give, whole or through a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array

# A kernel matrix in float32 is symmetric to about this, relative to its largest entry.
SYMMETRY = 1e-5


def evaluate_callable(kernel: Callable[[Any, Any], Any], X: Any, Y: Any) -> Array:
    """Call a kernel function and check what it returns."""
    values = np.asarray(kernel(X, Y), dtype=np.float64)
    wanted = (X.shape[0], Y.shape[0])
    if values.shape != wanted:
        raise ValueError(
            f"The kernel function must return a matrix of shape {wanted} for {wanted[0]} and "
            f"{wanted[1]} rows; got {values.shape}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError("The kernel function must return finite values; got NaN or infinity.")
    return values


def check_symmetric(matrix: NDArray[Any]) -> None:
    """Refuse a matrix that is no kernel matrix of one set of rows with itself."""
    largest = max(abs(float(matrix.max())), abs(float(matrix.min())))
    step = 512
    for i in range(0, len(matrix), step):  # blocks: no second matrix
        difference = matrix[i : i + step] - matrix[:, i : i + step].T
        worst = float(np.abs(difference).max())
        if worst > SYMMETRY * largest:
            raise ValueError(
                "The kernel matrix of the training rows must be symmetric; got entries that "
                f"differ from their mirror image by up to {worst:.3g}."
            )


def weighted_sums(values: NDArray[Any], coef: Array) -> Array:
    """Sum kernel values over the columns: (rows, columns), (outputs, columns) to (outputs, rows).

    Not a BLAS product, whose rounding depends on how many rows are asked for at once.
    """
    return np.asarray(np.einsum("ij,kj->ki", values, coef, dtype=np.float64))
