"""One pass over the kernel values of a divided set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.rows import as_rows
from ...kernel.kernels import Kernel

# Kernel values kept at a time: this many rows against all.
BLOCK = 256


class KernelSums:
    """Sums over pairs of parts, and the largest cosine between strata.

    Parameters
    ----------
    X : array or CSR matrix
        Rows sorted by part, or their kernel matrix.
    kernel : Kernel
        The kernel.
    part, stratum : array of shape (n_rows,)
        Part and stratum of each row.
    n_parts : int
        Number of parts; some may have no row.
    threads : int
        Threads; the result does not depend on it.

    Attributes
    ----------
    values, squares, sizes : array of shape (n_parts, n_parts)
        Sums of κ, κ² and |κ|.
    diagonal : array of shape (n_rows,)
        κ(x, x).
    cosine : float
        Largest cosine of the angle between rows of different strata; NaN if there is only one.
    """

    def __init__(
        self,
        X: Any,
        kernel: Kernel,
        part: NDArray[np.int64],
        stratum: NDArray[np.int64],
        n_parts: int,
        threads: int,
    ) -> None:
        rows, shape = as_rows(X), (n_parts, n_parts)
        self.diagonal = kernel.diagonal(rows)
        self.values, self.squares, self.sizes = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.cosine = np.nan
        with np.errstate(divide="ignore"):  # a row at the origin has no angle: cosine 0
            scale = np.where(self.diagonal > 0, 1.0 / np.sqrt(self.diagonal), 0.0)
        present, first = np.unique(part, return_index=True)
        for start in range(0, part.size, BLOCK):
            here = np.arange(start, min(start + BLOCK, part.size))
            block = kernel.block(rows, rows, here, None, threads).astype(np.float64)
            for total, values in (
                (self.values, block),
                (self.squares, block**2),
                (self.sizes, np.abs(block)),
            ):
                by_part = np.add.reduceat(values, first, axis=1)
                np.add.at(total, (part[here][:, None], present[None]), by_part)
            cosine = block * scale[here, None] * scale
            other = stratum[here, None] != stratum
            if other.any():
                self.cosine = float(np.fmax(self.cosine, cosine[other].max()))
