"""The kernel matrix of a block of rows, of which some change from block to block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...core.rows import Rows
from ..kernels import Kernel


class BlockMatrix:
    """Kernel values between the rows of a block, in memory that is taken once.

    A row that stays in the block keeps its slot and its kernel values; one that leaves makes room
    for another. New pages of memory would cost more than the values that are written to them.

    Parameters
    ----------
    rows : Rows
        Rows, in the precision of the matrix; or a kernel matrix.
    kernel : Kernel
        The kernel.
    largest : int
        Most rows of a block.
    threads : int
        Threads; values do not depend on them.

    Attributes
    ----------
    block : array of int
        The rows of the block, in the order of the matrix.
    values : array of shape (n_block, n_block)
        Their kernel matrix.
    entries : int
        Kernel values evaluated so far.
    """

    def __init__(self, rows: Rows, kernel: Kernel, dtype: Any, largest: int, threads: int) -> None:
        self.rows, self.kernel, self.threads = rows, kernel, threads
        self.block = np.zeros(0, dtype=np.int64)
        self.entries = 0
        self._memory = np.empty(largest * largest, dtype=dtype)
        self.values: NDArray[Any] = self._memory[:0].reshape(0, 0)

    def hold(self, wanted: NDArray[np.int64]) -> None:
        """Make these rows the block; rows that it has already stay where they are."""
        stays = np.isin(self.block, wanted)
        new = np.setdiff1d(wanted, self.block)
        if len(wanted) != len(self.block):
            self._resize(len(wanted), stays)
            stays = self.block >= 0
        free = np.flatnonzero(~stays)
        self.block[free] = new
        if len(free):
            self._fill(free)
            self.entries += len(free) * len(wanted)

    def _fill(self, slots: NDArray[np.int64]) -> None:
        """Write the kernel values of some rows of the block, as lines and as columns."""
        if self.kernel.name != "precomputed":
            _native.fill_block(
                self.rows, self.kernel.spec, self.block, slots, self.values, self.threads
            )
            return
        lines = self.kernel.block(self.rows, self.rows, self.block[slots], self.block, self.threads)
        self.values[slots] = lines
        self.values[:, slots] = lines.T

    def _resize(self, size: int, stays: NDArray[np.bool_]) -> None:
        """Give the matrix another size; the rows that stay come first, free slots are −1."""
        kept, width, memory = np.flatnonzero(stays), len(self.block), self._memory
        n = len(kept)
        for i in range(n):  # never behind what is still to be read
            memory[i * width : i * width + n] = memory[kept[i] * width : (kept[i] + 1) * width][
                kept
            ]
        # Longer lines begin further on: the last is moved first.
        for i in range(n) if size <= width else reversed(range(n)):
            memory[i * size : i * size + n] = memory[i * width : i * width + n].copy()
        values = memory[: size * size].reshape(size, size)
        block = np.full(size, -1, dtype=np.int64)
        block[:n] = self.block[kept]
        self.block, self.values = block, values
