"""Rows with a dual of a level's parts, brought to the driver, and what scores a level by them."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from ...engines import Engine
from ...kernel.divide.levels import Level
from ...kernel.kernels import Kernel
from ...kernel.model.level_model import LevelModel
from ...kernel.samples import Part
from ..rows.block_tasks import SourceBlock


@dataclass(frozen=True)
class Support:
    """Rows with a dual.

    Attributes
    ----------
    rows : array of shape (n_support,)
        Numbers in the whole training set.
    coef : array of shape (n_support,)
        Coefficients, as the level's model weighs them.
    part : array of int32 of shape (n_support,)
        Number of the part.
    vectors : array or CSR matrix, or None
        The rows, if they were requested.
    """

    rows: NDArray[np.int64]
    coef: Array
    part: NDArray[np.int32]
    vectors: Any = None


@dataclass(frozen=True)
class _SupportOfPart:
    """Takes a part's mass, and numbers, coefficients and values of its rows with a dual."""

    with_vectors: bool

    def __call__(self, part: Part) -> list[tuple[float, NDArray[np.int64], Array, Any]]:
        own = np.flatnonzero(part.net_dual)
        rows = part.rows[own]
        coef = part.net_dual[own] * part.source.labels(rows)
        vectors = part.source.take(rows).X if self.with_vectors else None
        return [(part.mass, rows, coef, vectors)]


def support_of(engine: Engine, level: Level, *, mean: bool, with_vectors: bool = False) -> Support:
    """Bring the rows with a dual here; ``mean`` if the model is the mean of its parts."""
    found = engine.reduce(level.parts, _SupportOfPart(with_vectors), operator.add)
    total = sum(mass for mass, _, _, _ in found)
    coefs = [coef * (mass / total) if mean else coef for mass, _, coef, _ in found]
    sizes = [rows.size for _, rows, _, _ in found]
    vectors = stacked([X for _, _, _, X in found]) if with_vectors else None
    return Support(
        np.concatenate([rows for _, rows, _, _ in found]),
        np.concatenate(coefs),
        np.repeat(np.arange(len(found), dtype=np.int32), sizes),
        vectors,
    )


def stacked(blocks: list[Any]) -> Any:
    """Put rows under each other."""
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)


def level_model(kernel: Kernel, level: Level, support: Support) -> LevelModel:
    """Return the decision function of a level."""
    return LevelModel(
        kernel, support.vectors, support.rows, support.coef, support.part, level.router
    )


@dataclass(frozen=True)
class CorrectRows:
    """Count the rows of a block that a level's model gets right."""

    model: LevelModel
    positive: int

    def __call__(self, block: SourceBlock) -> int:
        """Pass over the rows."""
        decision = self.model.decide(block.X.astype(self.model.basis.dtype, copy=False))
        return int(np.count_nonzero((decision > 0) == (block.codes == self.positive)))
