"""The rows of the next block: old ones that matter to some problem, new ones that violate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from .row_groups import SharedProblem
from .shared_margins import Arrays

# New rows of the first block; later blocks grow with the rows that have a dual.
FIRST_BLOCK = 4096
# Largest share of a block's rows that stay in the next block. On 15,000 rows of mnist with blocks
# of 3,500, a quarter took 1.6 times as many kernel values (hinge), three quarters 1.3 times.
KEPT = 0.5


class NextBlock:
    """Chooses block after block.

    Parameters
    ----------
    diagonal : array of shape (n_rows,)
        Diagonal of the kernel matrix.
    largest : int
        Most rows of a block.
    seed : int
        Breaks ties between rows that violate alike.
    """

    def __init__(self, diagonal: Array, largest: int, seed: int) -> None:
        self.diagonal, self.largest, self.n_rows = diagonal, largest, len(diagonal)
        self.jitter = 1.0 + 1e-6 * np.random.default_rng(seed).random(self.n_rows)
        self._blocks = 0
        self._entered = np.zeros(self.n_rows, dtype=np.int64)  # the block that a row came with

    def choose(
        self,
        last: NDArray[np.int64],
        problems: Sequence[SharedProblem],
        net_dual: Arrays,
        margin: Arrays,
        chosen: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Keep the rows of the last block that have a dual, and add those that violate most.

        Every problem ranks the rows that push its decision up and those that push it down; a row
        counts by its best rank.
        """
        n = self.n_rows
        if self.largest >= n and len(last) in (0, n) and n <= FIRST_BLOCK:
            return np.arange(n)
        supporting = np.zeros(len(last), dtype=np.bool_)
        for p in chosen:
            inside, place = problems[p].places(last)
            supporting[inside] |= net_dual[p][place] != 0
        kept = last[supporting]
        kept = kept[np.argsort(-self._entered[kept], kind="stable")][: int(KEPT * self.largest)]
        room = min(max(FIRST_BLOCK, len(kept)), self.largest - len(kept))
        rank = np.full(n, n)
        for p in chosen:
            problem, terms = problems[p], problems[p].terms
            mine = slice(None) if problem.rows is None else problem.rows
            diagonal = self.diagonal[mine]
            wanted = terms.coordinate_minimiser(margin[p] - diagonal * net_dual[p], diagonal)
            step = wanted - net_dual[p]
            curvature = diagonal + np.where(wanted < 0, terms.above, terms.below)
            # A row of zeros has no curvature, and yet a dual to find.
            violation = step * step * np.maximum(curvature, 1e-12) * self.jitter[mine]
            violation[problem.places(kept)[1]] = 0.0
            for upward in (True, False):
                side = np.flatnonzero((violation > 0) & ((step * problem.label > 0) == upward))
                ranked = most_violating(violation, side, room)
                rows = ranked if problem.rows is None else problem.rows[ranked]
                rank[rows] = np.minimum(rank[rows], np.arange(len(rows)))
        new = np.flatnonzero(rank < n)
        if len(new) > room:
            new = new[np.argsort(rank[new], kind="stable")[:room]]
        self._blocks += 1
        self._entered[new] = self._blocks
        return np.concatenate([kept, new])


def most_violating(violation: Array, rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the rows that violate most, the worst first."""
    if len(rows) > count:
        rows = rows[np.argpartition(-violation[rows], count - 1)[:count]]
    return rows[np.argsort(-violation[rows], kind="stable")]
