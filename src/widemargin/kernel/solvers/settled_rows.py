"""Rows that have settled in all problems: no dual, and margins that are far from costing anything.

Such rows seldom matter again, so their margins need not be kept up to date while the others are
solved. That takes a check of all rows in the end, which costs about as much as one update.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from .row_groups import SharedProblem

# Distance of a settled row's margins from those that cost something. Of 60,000 rows of mnist
# (hinge, ten problems), 34,000 settle by that before the last three blocks, and none of them has a
# dual in the end. By 0.1, 39,000 settle, but 11 have one, which takes another block.
DISTANCE = 0.2
# Margins tell too little before the relative gaps of all problems are below this. On 2,000 rows in
# blocks of 250, 0.8 takes about 1.3 times as many kernel values, for checks that find mistakes.
LARGEST_GAP = 0.5
# Not worth a check: gaps of less than this many times the targets, which few blocks will close.
LEAST_TARGETS = 30.0


def worth_settling(relative_gap: Array, target: Array) -> bool:
    """Whether margins are good enough to settle rows, and enough is left to be done."""
    return bool(relative_gap.max() < LARGEST_GAP and np.any(relative_gap > LEAST_TARGETS * target))


def settled_rows(
    problems: Sequence[SharedProblem],
    net_dual: Sequence[Array] | Array,
    margin: Sequence[Array] | Array,
    n_rows: int,
) -> NDArray[np.bool_]:
    """Return which rows have settled in all the problems that they take part in."""
    settled = np.ones(n_rows, dtype=np.bool_)
    for problem, dual, at in zip(problems, net_dual, margin, strict=True):
        low, high = problem.terms.lower + DISTANCE, problem.terms.upper - DISTANCE
        mine = slice(None) if problem.rows is None else problem.rows
        settled[mine] &= (dual == 0) & (at >= low) & (at <= high)
    return settled
