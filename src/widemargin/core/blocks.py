"""Rows in blocks: what an engine keeps of a linear or multi-class problem.

A block knows its rows and nothing of the problem that is posed on them. It holds no state that an
answer depends on, so that it can be made again elsewhere; what a process remembers of a block
(:class:`BlockMemory`) only saves time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .arrays import Array
from .rows import Rows, as_rows

# Largest block that is cut from a larger array, which is what a task holds at a time.
BLOCK_ROWS = 100_000
BLOCK_BYTES = 32 * 2**20
# Bytes of rows that are brought into one task where a solver may choose.
GATHERED_BYTES = 256 * 2**20
# Up to this many stored values, rows are copied into canonical order, at negligible cost. Solvers
# that visit rows in random order then depend on the seed alone.
CANONICAL_VALUES = 1 << 20

Remembered = TypeVar("Remembered")


@dataclass(frozen=True)
class RowBlock:
    """Some rows with their classes and weights."""

    name: str  # tells the block from all others
    X: Any  # rows, float32 or float64
    codes: NDArray[np.int32]  # (n_rows,): position of each row's label in the classes
    weight: Array | None = None  # (n_rows,): weights of the rows, positive; None means 1
    # (n_rows,): targets of a regression, whose rows are all of class 0.
    target: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def rows(self) -> Rows:
        """The native view, which goes with the block and not with its copies elsewhere."""
        return as_rows(self.X)

    def take(self, rows: NDArray[np.int64], name: str) -> RowBlock:
        """Copy some rows into a block of another name."""
        weight = None if self.weight is None else self.weight[rows]
        target = None if self.target is None else self.target[rows]
        return RowBlock(name, self.X[rows], self.codes[rows], weight, target)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "rows"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Put the rows of blocks together, in their order."""
    if len(blocks) == 1:
        return blocks[0]
    sparse = any(sp.issparse(b.X) for b in blocks)
    X = sp.csr_matrix(sp.vstack([b.X for b in blocks])) if sparse else None
    weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b in blocks]
    weight = None if all(b.weight is None for b in blocks) else np.concatenate(weights)
    codes = np.concatenate([b.codes for b in blocks])
    targets = [b.target for b in blocks if b.target is not None]
    target = np.concatenate(targets) if targets else None
    name = f"{blocks[0].name} and {len(blocks) - 1} more"
    X = np.vstack([b.X for b in blocks]) if X is None else X
    return RowBlock(name, X, codes, weight, target)


def even_parts(X: Any) -> list[NDArray[np.int64]]:
    """Cut rows into parts that a task holds at a time; return the numbers of each part's rows."""
    n = X.shape[0]
    step = max(1, min(BLOCK_ROWS, int(BLOCK_BYTES * n / max(1, bytes_of(X)))))
    return [np.arange(k, min(n, k + step)) for k in range(0, n, step)]


def bytes_of(X: Any) -> int:
    """Return the bytes that rows take."""
    return int(X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)


class BlockMemory(Generic[Remembered]):
    """What this process remembers of blocks, up to a size; the oldest is forgotten first.

    Parameters
    ----------
    capacity : float
        Size of all that is remembered.
    make : callable
        Makes what is remembered of a block that is seen for the first time.
    size : callable
        Returns the size of what is remembered of a block.
    """

    def __init__(
        self,
        capacity: float,
        make: Callable[..., Remembered],
        size: Callable[[Remembered], float],
    ) -> None:
        self.capacity, self._make, self._size = capacity, make, size
        self._kept: OrderedDict[Any, Remembered] = OrderedDict()
        self._lock = Lock()

    def of(self, key: Any, *made_from: Any) -> Remembered:
        """Return the value of a key; if there is none yet, make it from ``made_from``."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = self._kept[key] = self._make(*made_from)
                while sum(map(self._size, self._kept.values())) > self.capacity:
                    _, forgotten = self._kept.popitem(last=False)
                    if forgotten is found:
                        break
            return found
