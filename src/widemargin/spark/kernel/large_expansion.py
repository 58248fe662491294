"""Kernel expansions too large for the driver: evaluated where they lie, or made smaller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...core.arrays import Array
from ...kernel.kernels import Kernel
from ...kernel.model.compression import POINTS
from ...kernel.model.level_model import LevelModel
from ...kernel.model.prediction import Expansion, fitted_kernel, router_of, set_expansion
from . import support_table
from .support_table import SupportBlock, SupportVectors, block_of, gathered

# Support vectors for each point of a compressed model that stand for all of them.
SAMPLED = POINTS + 5
Groups = list[NDArray[np.int64] | None]


@dataclass(frozen=True)
class DecisionRule:
    """Kernel and routing of a model: all that decides but its support vectors.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with its constant.
    routing : list of dict or None
        Routing of each binary problem; None uses all parts.
    """

    kernel: Kernel
    routing: list[Any]

    @classmethod
    def of(cls, fitted: Any) -> DecisionRule:
        """Take it from fitted attributes."""
        n_problems = len(fitted.dual_coef_)
        routing = [None] * n_problems if fitted.routing_ is None else fitted.routing_
        return cls(fitted_kernel(fitted, constant=fitted.fit_intercept), routing)

    @property
    def n_problems(self) -> int:
        """Number of binary problems."""
        return len(self.routing)

    def groups(self, X: Any) -> Groups:
        """Find the clusters of rows, for every binary problem."""
        return [
            None if each is None else router_of(each, self.kernel).assign(X)
            for each in self.routing
        ]

    def decide(self, block: SupportBlock, X: Any) -> Array:
        """Sum kernel values of rows with the support vectors of a block."""
        return LevelModel(self.kernel, block.X, block.rows, block.coef).decide(X)


@dataclass(frozen=True)
class LargeExpansion:
    """A table of support vectors on the cluster.

    Attributes
    ----------
    frame : DataFrame
        As :mod:`.support_table` has it.
    n_support : int
        Support vectors, summed over the binary problems.
    kept : list of DataFrame
        What Spark keeps of it in its storage.
    """

    frame: Any
    n_support: int
    kept: list[Any] = field(default_factory=list)

    def decide(self, rule: DecisionRule, X: Any) -> Array:
        """Evaluate the decision function on a few rows, as (problems, rows)."""
        question = partial(_decided, rule, X, rule.groups(X))
        rows = self.frame.mapInArrow(question, "data binary").collect()
        out = np.zeros((rule.n_problems, X.shape[0]))
        for row in rows:
            out += np.frombuffer(bytes(row["data"])).reshape(out.shape)
        return out

    def totals(self, n_problems: int) -> Array:
        """Sum the coefficients of every binary problem."""
        sums = np.zeros(n_problems)
        for row in self.frame.groupBy("problem").sum("total").collect():
            sums[row[0]] = row[1]
        return sums

    def sampled(self, n_problems: int, size: int, seed: int) -> SupportVectors:
        """Bring some support vectors here, drawn with equal chances; all if there are no more."""
        marks = self.frame.select("problem", "part", "block", "n").collect()
        marks.sort(key=lambda row: (row["problem"], row["part"], row["block"]))
        ends = np.cumsum([row["n"] for row in marks])
        total = int(ends[-1])
        chosen = np.random.default_rng(seed).choice(total, min(size, total), replace=False)
        of_blocks = np.split(np.sort(chosen), np.searchsorted(np.sort(chosen), ends[:-1]))
        wanted = {
            (row["problem"], row["part"], row["block"]): own - (end - row["n"])
            for row, own, end in zip(marks, of_blocks, ends, strict=True)
            if own.size
        }
        return self._gathered(self.frame.mapInArrow(_Taken(wanted), support_table.DDL), n_problems)

    def collected(self, n_problems: int) -> SupportVectors:
        """Bring all support vectors here."""
        return self._gathered(self.frame, n_problems)

    def unpersist(self) -> None:
        """Free what the table takes in Spark's storage."""
        for frame in self.kept:
            frame.unpersist()

    @staticmethod
    def _gathered(frame: Any, n_problems: int) -> SupportVectors:
        blocks = [block_of(row) for row in frame.collect()]
        blocks.sort(key=lambda each: (each.problem, each.part, each.block))
        return gathered(blocks, n_problems)


def _decided(
    rule: DecisionRule, X: Any, groups: Groups, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Sum the decisions of blocks about rows; a cluster decides about its own rows alone."""
    out = np.zeros((rule.n_problems, X.shape[0]))
    for block in support_table.blocks_of(batches):
        group = groups[block.problem]
        if group is None:
            out[block.problem] += rule.decide(block, X)
            continue
        own = np.flatnonzero(group == block.part)
        if own.size:
            out[block.problem, own] += rule.decide(block, X[own])
    yield pa.RecordBatch.from_arrays([pa.array([out.tobytes()], pa.binary())], names=["data"])


@dataclass(frozen=True)
class _Taken:
    """Some of the support vectors, by the numbers of their block."""

    wanted: dict[tuple[int, int, int], NDArray[np.int64]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in support_table.blocks_of(batches):
            positions = self.wanted.get((block.problem, block.part, block.block))
            if positions is not None:
                yield block.take(positions).record()


def with_support(fitted: Any, found: SupportVectors) -> Any:
    """Return a copy of a fitted estimator with some support vectors in place of its own."""
    kernel: Kernel = fitted_kernel(fitted, constant=fitted.fit_intercept)
    expansion = Expansion(
        classes=fitted.classes_,
        support=found.rows,
        vectors=found.vectors,
        codes=found.codes,
        coef=found.coef,
        n_samples=fitted.n_samples_fit_,
    )
    part = None if fitted.support_part_ is None else found.part
    new = copy(fitted)
    set_expansion(new, kernel, expansion, {"support_part_": part, "routing_": fitted.routing_})
    return new
