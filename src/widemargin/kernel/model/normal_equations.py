"""Sums of squares of kernel values, on several threads and the same on any number of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...engines import LocalEngine

# Columns of a panel; each is summed by one thread, in the same way whoever does it.
PANEL = 256
# Bytes of a block of kernel values, and the largest share of a memory limit: squares take a copy.
BLOCK_BYTES, BLOCK_SHARE = 1 << 26, 8


def rows_of_block(n_basis: int, memory: int) -> int:
    """Return the number of rows whose kernel values with a basis make a block."""
    return max(1, min(BLOCK_BYTES, memory // BLOCK_SHARE) // (8 * n_basis))


def add_squares(normal: Array, values: NDArray[Any], weight: Array, threads: int) -> None:
    """Add the weighted squares ``values.T @ diag(weight) @ values`` to the lower triangle.

    Parameters
    ----------
    normal : array of shape (n_basis, n_basis)
        Changed in place, at and below the diagonal; what is above it means nothing until
        :func:`mirror`.
    values : array of shape (n_rows, n_basis)
        Kernel values.
    weight : array of shape (n_rows,)
        Weights, not negative.
    threads : int
        Threads; the result does not depend on them.
    """
    rows = np.flatnonzero(weight)
    if rows.size == 0:
        return
    scaled = values if rows.size == len(values) else values[rows]
    scaled = scaled * np.sqrt(weight[rows])[:, None].astype(values.dtype)
    LocalEngine(threads).map(panels(len(normal)), partial(_add_panel, normal, scaled))


def panels(n_basis: int) -> list[int]:
    """Return the first columns of all panels."""
    return list(range(0, n_basis, PANEL))


def _add_panel(normal: Array, scaled: NDArray[Any], first: int) -> None:
    normal[first:, first : first + PANEL] += panel_of(scaled, first)


def panel_of(scaled: NDArray[Any], first: int) -> NDArray[Any]:
    """Sum squares of scaled values in the columns of a panel, from the diagonal on."""
    return np.asarray(scaled[:, first:].T @ scaled[:, first : first + PANEL])


def mirror(normal: Array) -> None:
    """Copy what is below the diagonal to its mirror image."""
    for first in range(0, len(normal), PANEL):
        last = first + PANEL
        corner = np.tril(normal[first:last, first:last])
        normal[first:last, first:last] = corner + np.tril(corner, -1).T
        normal[first:last, last:] = normal[last:, first:last].T
