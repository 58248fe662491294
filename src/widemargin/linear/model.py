"""Weights as a model: coefficients, decisions, and the share of rows that they get right."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays import Array
from ..core.blocks import RowBlock
from ..engines import Engine, LocalEngine

# Stored values that are multiplied at a time: blocks in float64, whatever the rows are in.
BLOCK_VALUES = 1 << 20


def split_weights(w: Array, constant: float) -> tuple[Array, Array]:
    """Split weights, along the last axis, into coefficients and intercepts.

    The last weight is that of the constant feature, unless ``constant`` is 0.
    """
    n_features = w.shape[-1] - (constant != 0)
    intercept = constant * w[..., n_features] if constant else np.zeros(w.shape[:-1])
    return np.ascontiguousarray(w[..., :n_features]), intercept + 0.0  # no -0.0


def decisions_of(X: Any, coef: Array, intercept: Array | float, threads: int = 1) -> Array:
    """Multiply rows with the weights of every problem, block by block; as (rows, problems)."""
    n_rows = X.shape[0]
    out = np.empty((n_rows, len(coef)))
    stored = X.nnz if sp.issparse(X) else X.size
    step = max(1, BLOCK_VALUES * n_rows // max(1, int(stored)))
    columns = np.ascontiguousarray(coef.T)

    def fill(start: int) -> None:
        # Sparse blocks are copies, and dense ones are where they are float32.
        block = X[start : start + step].astype(np.float64, copy=False)
        out[start : start + step] = block @ columns

    LocalEngine(threads).map(list(range(0, n_rows, step)), fill)
    out += intercept
    return out


@dataclass(frozen=True)
class Validation:
    """Rows that are not trained on, in blocks on an engine; called to score weights."""

    engine: Engine  # where the rows are
    blocks: Any  # the engine's parts, of RowBlock
    # Rows of all blocks, and classes.
    n_rows: int
    n_classes: int
    constant: float  # value of the constant feature; 0 means no intercept

    @classmethod
    def in_memory(cls, X: Any, codes: Any, n_classes: int, constant: float) -> Validation:
        """Validate by rows of this process."""
        block = RowBlock("validation", X, codes)
        return cls(LocalEngine(), [block], block.n_rows, n_classes, constant)

    def __call__(self, w: Array, k: int) -> float:
        """Return the share of rows that the weights of binary problem ``k`` get right."""
        coef, intercept = split_weights(w, self.constant)
        count = CorrectDecisions(coef, float(intercept), 1 if self.n_classes == 2 else k)
        correct: int = self.engine.reduce(self.blocks, count, add)
        return correct / self.n_rows


@dataclass(frozen=True)
class CorrectDecisions:
    """Counts the rows of a block that a binary problem's weights get right."""

    coef: Array
    intercept: float
    positive: int

    def __call__(self, block: RowBlock) -> int:
        """Pass over the rows."""
        decision = decisions_of(block.X, self.coef[None, :], self.intercept)[:, 0]
        return int(((decision > 0) == (block.codes == self.positive)).sum())
