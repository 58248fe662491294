"""Rows of a problem in parts of about equal size, each with its multipliers.

Which part a row goes to, and its place there, follows from its contents: the parts are the same
however the blocks were made, and each is like a random sample of all rows. Copies of a row meet in
one part, and are merged. The number of parts follows from the number of stored values, not from
the machines, so that results don't depend on those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _native
from ...core.arrays import Array
from ...core.blocks import RowBlock, joined
from ...core.rows import copies_in_own_order
from ..problem import InMemoryProblem, MulticlassObjective, MulticlassProblem
from .bundles import SCALES

# Stored values of a part. The more parts, the more passes: few large ones, which a task can hold.
PART_VALUES = 8 << 20
# Fewest parts, so that a small cluster has work.
FEWEST_PARTS = 4
# A task holds a part's rows and a scaled copy of them, in at most this share of the memory.
ROWS_SHARE = 0.25

# Multipliers of a part's rows: values, classes, where each row begins.
Duals: TypeAlias = "tuple[Array, NDArray[np.int32], NDArray[np.int64]]"


def part_count(problem: MulticlassProblem, memory: int) -> int:
    """Return the number of parts to make of a problem's rows."""
    by_memory = problem.stored_bytes / (ROWS_SHARE * memory)
    wanted = max(FEWEST_PARTS, problem.stored / PART_VALUES, by_memory)
    return max(1, min(problem.n_rows, math.ceil(wanted)))


@dataclass(frozen=True)
class AscentRows:
    """The rows of a part with their multipliers."""

    problem: InMemoryProblem
    number: int  # of the part
    duals: Duals  # after the last pass
    relaxed: Duals  # average of those of all passes; not within their bounds
    # Losses at the weights that the last pass began with, at several scales of these.
    losses: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.problem.n_rows


@dataclass(frozen=True)
class DealByContents:
    """Deals the rows of blocks out to parts."""

    objective: MulticlassObjective
    n_parts: int

    def split(self, _: int, block: RowBlock) -> list[tuple[int, tuple[int, RowBlock]]]:
        """Divide a block by parts."""
        keys = _native.row_keys(block.rows, block.codes.astype(np.int64))
        target = (keys.astype(np.uint64) % np.uint64(self.n_parts)).astype(np.int64)
        pieces = []
        for k in np.unique(target).tolist():
            rows = np.flatnonzero(target == k)
            weight = None if block.weight is None else block.weight[rows]
            piece = RowBlock(f"{block.name}-{k}", block.X[rows], block.codes[rows], weight)
            pieces.append((k, (k, piece)))
        return pieces

    def combine(self, pieces: list[tuple[int, RowBlock]]) -> AscentRows:
        """Put the rows of a part together, copies merged, in an order of their own."""
        block = joined([piece for _, piece in pieces])
        group, first = copies_in_own_order(block.X, block.codes.astype(np.int64))
        weight = np.bincount(group, block.weight).astype(np.float64)
        own = RowBlock(block.name, block.X[first], block.codes[first], weight)
        none = (
            np.zeros(0),
            np.zeros(0, dtype=np.int32),
            np.zeros(own.n_rows + 1, dtype=np.int64),
        )
        losses = np.zeros(len(SCALES))
        return AscentRows(self.objective.on(own), pieces[0][0], none, none, losses)


def known_sums(rows: AscentRows) -> tuple[Any, ...]:
    """Return what is known of a part before the first pass, to be added up.

    That is: the part itself, as 1; for each feature whether it occurs (1 or 0); the loss of rows
    that are all zeros; the loss of all rows where the weights are zero.
    """
    problem = rows.problem
    n_features = problem.objective.n_features
    if sp.issparse(problem.X):
        occurs = np.bincount(problem.X.indices, minlength=n_features) > 0
    else:
        occurs = np.any(problem.X != 0, axis=0)
    counts = np.ones(problem.objective.size)
    counts[:n_features] = occurs
    return 1, counts, problem.fixed_loss, problem.loss_at_zero


def combined_duals(
    one: Duals, other: Duals, weight: float, other_weight: float, n_classes: int
) -> Duals:
    """Return a weighted sum of two sets of multipliers of the same rows."""
    shape = (len(one[2]) - 1, n_classes)
    total = weight * sp.csr_array(one, shape=shape) + other_weight * sp.csr_array(
        other, shape=shape
    )
    total = sp.csr_array(total)
    total.sort_indices()
    return total.data, total.indices.astype(np.int32), total.indptr.astype(np.int64)
