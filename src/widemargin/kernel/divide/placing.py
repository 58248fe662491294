"""Training sets that start in this process: placed on an engine, and their duals brought back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...engines import Engine
from ..duplicates import MergedSamples, merge_samples
from ..model.level_model import LevelModel
from ..partition import NearestGroup
from ..problems import KernelProblems
from ..samples import OwnedRows, Samples, whole_set
from .levels import Level, RowSize, SolvedLevels, Whole, collect
from .strategies import Strategy

# Bytes of rows in a block that is sent to another process.
BLOCK_BYTES = 16 * 2**20


class PlacedProblems:
    """The binary problems of a fit on an engine.

    Copies of rows are merged before a set is divided if there are many; the duals and parts that
    come back are those of all rows.
    """

    def __init__(self, problems: KernelProblems, strategy: Strategy, engine: Engine) -> None:
        self.problems, self.strategy, self.engine = problems, strategy, engine
        self.mean = not strategy.row(problems.loss.name).routed
        self._merged: dict[int, MergedSamples | None] = {}

    def pose(self, k: int) -> Whole:
        """Place the training set of a problem."""
        samples, start = self.problems.samples(k), self.problems.start(k)
        weight = float(samples.weight.sum())
        merged = self._merged[k] = _merged(samples, self.strategy)
        if merged is not None:
            samples = merged.samples
            start = None if start is None else merged.merge(start)
        return placed(self.engine, samples, start, weight)

    def duals(self, k: int, level: Level) -> tuple[Array, NDArray[np.int32]]:
        """Return net dual and part of every row of a problem; part −1 for rows that were dropped.

        Duals are weighed as the level's model does: divided where it is a mean.
        """
        merged = self._merged[k]
        n_rows = self.problems.rows_of(k).size if merged is None else merged.samples.n_rows
        net_dual = np.zeros(n_rows)
        number = np.full(n_rows, -1, dtype=np.int32)
        parts = collect(level, self.engine)
        total = sum(part.mass for part in parts)
        for i, part in enumerate(parts):
            net_dual[part.rows] = part.net_dual * (part.mass / total if self.mean else 1.0)
            number[part.rows] = i
        if merged is None:
            return net_dual, number
        return merged.spread(net_dual), number[merged.group]

    def router(self, k: int, level: Level) -> NearestGroup | None:
        """Return a level's router, its basis numbered as the training rows of the fit are."""
        router, merged = level.router, self._merged[k]
        if router is None:
            return None
        rows = router.basis_rows if merged is None else merged.first[router.basis_rows]
        return replace(router, basis_rows=self.problems.rows_of(k)[rows])

    def gather(
        self, reached: Sequence[SolvedLevels]
    ) -> tuple[Array, NDArray[np.int32] | None, list[NearestGroup | None]]:
        """Bring the models of the problems that have a level here.

        Returns
        -------
        coef : array of shape (n_problems, n_rows)
            Coefficients; zero for problems without a level.
        part : array of shape (n_problems, n_rows) or None
            Part of every row; None if no model has parts to tell apart.
        routers : list of NearestGroup or None
            Router of each problem whose model uses the cluster nearest to a row alone.
        """
        coef = np.zeros((len(self.problems), self.problems.n_rows))
        part = np.full(coef.shape, -1, dtype=np.int32)
        routers: list[NearestGroup | None] = [None] * len(coef)
        for k, levels in enumerate(reached):
            net_dual, part[k, self.problems.rows_of(k)] = self.duals(k, levels.level)
            coef[k] = self.problems.coefficients(k, net_dual)
            routers[k] = self.router(k, levels.level)
        divided = any(levels.divided for levels in reached)
        return coef, part if divided else None, routers

    def model(self, k: int, level: Level) -> LevelModel:
        """Return the decision function of a level, its basis given by row numbers alone."""
        net_dual, part = self.duals(k, level)
        support = np.flatnonzero(net_dual)
        return LevelModel(
            self.problems.kernel,
            None,
            self.problems.rows_of(k)[support],
            net_dual[support] * self.problems.tasks[k].label[support],
            part[support],
            self.router(k, level),
        )


def _merged(samples: Samples, strategy: Strategy) -> MergedSamples | None:
    """Merge copies, unless the method runs as published or too few rows would be left."""
    merged = None if strategy.printed else merge_samples(samples)
    if merged is not None and strategy.levels is not None:
        leaves = strategy.fan_in**strategy.levels
        return merged if 2 * leaves <= merged.samples.n_rows else None
    return merged


def placed(engine: Engine, samples: Samples, start: Array | None, weight: float) -> Whole:
    """Place a training set: as it is in this process, elsewhere in blocks that own their rows."""
    row = RowSize(int(samples.X.dtype.itemsize), samples.row_bytes, samples.pairwise)
    one = whole_set(samples, start)
    if engine.in_process:
        return Whole(engine.scatter([one]), 1, samples.n_rows, weight, row)
    if samples.pairwise:
        raise ValueError(
            "a kernel given as values or as a function cannot leave this process; got "
            f"engine={engine!r}. Use a kernel by name, or engine='local'."
        )
    owned = replace(one, source=OwnedRows(one.rows, samples))
    per_block = max(1, BLOCK_BYTES // max(1, samples.row_bytes))
    blocks = [part for _, part in owned.pieces(one.rows // per_block)]
    return Whole(engine.scatter(blocks), len(blocks), samples.n_rows, weight, row)
