"""Kernel machines trained by divide and conquer where the rows of a DataFrame are."""

from __future__ import annotations

import operator
import time
from functools import cached_property
from functools import reduce as fold
from typing import Any

import numpy as np

from ...core.resources import memory_bytes
from ...estimators.divided import (
    SolvedLevels,
    check_memory,
    level_attributes,
    resolve_strategy,
    warn_of_levels,
)
from ...estimators.expansion import Expansion, set_expansion
from ...estimators.resuming import shaping_settings
from ...estimators.routing import routing_of
from ...estimators.training_set import class_factors
from ...kernel.divide.checkpoints import identity_of
from ...kernel.divide.loop import DivideAndConquer, Level, Whole
from ...kernel.divide.part_solver import PartSettings
from ...kernel.divide.strategies import Strategy, Stratified
from ...kernel.kernels import Kernel
from ...kernel.partition.division import per_row
from ...kernel.partition.kernel_kmeans import LARGEST
from ...kernel.samples import Part
from ..fit_log import FitLog
from ..rows.blocks import PlacedRows
from . import support_table
from .cluster_checkpoints import ClusterCheckpoints
from .large_expansion import LargeExpansion
from .level_support import RightRows, Support, level_model, stacked, support_of
from .rows import AsPart, Numbering, RowFacts, RowForm, RowsWanted
from .support_table import AsTable, Gathered, nothing_gathered


class KernelFit:
    """Takes the binary problems one after another through the levels of a strategy.

    Parameters
    ----------
    name : str
        Of the estimator, for messages.
    local : ODMClassifier or SVMClassifier
        The settings; not fitted.
    rows : PlacedRows
        The training set.
    told : FitLog
        Told of what is done.
    max_model_rows : int
        Support vectors that may come to the driver.
    checkpoint : str or None
        Folder for finished levels.

    Attributes
    ----------
    results : list of SolvedLevels
        Of the problems that are solved.
    """

    def __init__(
        self,
        name: str,
        local: Any,
        rows: PlacedRows,
        told: FitLog,
        *,
        max_model_rows: int,
        checkpoint: str | None,
    ) -> None:
        self.name, self.local, self.rows, self.told = name, local, rows, told
        self.max_model_rows = max_model_rows
        self.engine, self.n_rows = rows.engine, rows.summary.rows
        self.n_classes = len(rows.summary.counts)
        self.numbering = Numbering.of(rows.summary.blocks)
        self.seed = local._seed()
        found = resolve_strategy(local.strategy, self.n_rows, name)
        self.exact = found is None
        self.strategy: Strategy = Stratified(levels=0) if found is None else found
        self.method = self.strategy.row(local._loss().name)
        self.plan = self.strategy.plan(self.n_rows, self.method.last_level)
        self.memory = memory_bytes(local.memory_limit)
        self.results: list[SolvedLevels] = []
        # Of each problem, one of these: what few rows there are, or a table on the cluster.
        self.may_be_large = self.n_rows > max_model_rows
        self.support: list[Support] = []
        self.tables: list[Any] = []
        self.checkpoints = None if checkpoint is None else self._checkpoints(checkpoint)

    def _checkpoints(self, folder: str) -> ClusterCheckpoints:
        """Find the folder by all that shapes the levels: rows, settings, seed."""
        settings = shaping_settings(self.local, self.strategy, self.seed)
        beside = self.rows.validation
        marks = [self.rows.summary.blocks, () if beside is None else beside.summary.blocks]
        arrays = [np.array(each, dtype=np.int64).reshape(-1, 3) for each in marks]
        settings["features"], settings["classes"] = self.rows.n_features, self.n_classes
        return ClusterCheckpoints(self.engine.session, folder, identity_of(arrays, settings))

    @cached_property
    def facts(self) -> RowFacts:
        """What the rows are like."""
        found: RowFacts = fold(RowFacts.plus, self.rows.facts)
        return found

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, resolved."""
        local = self.local
        constant = 1.0 if local.fit_intercept else 0.0
        gamma = self.facts.gamma(local.gamma, self.rows.n_features)
        return Kernel(local.kernel, gamma, float(local.coef0), int(local.degree), constant)

    @cached_property
    def form(self) -> RowForm:
        """The form that rows are trained in."""
        dense = self.rows.summary.dense
        return RowForm.of(self.facts, self.kernel, self.n_rows, self.rows.n_features, dense)

    def fit_problems(self) -> None:
        """Solve the problems one after another, and bring here what their models need."""
        local, totals = self.local, self.rows.summary.weights
        factors = class_factors(local.class_weight, np.arange(self.n_classes), totals)
        row_weight = local._row_weight(float(totals.sum()))
        size = self.form.size(self.n_rows, self.rows.n_features, self.facts.nonzero)
        largest = LARGEST if self.method.routed else 1.0  # clusters are not of one size
        check_memory(
            self.plan,
            self.n_rows,
            size,
            self.engine,
            self.memory,
            largest=largest,
            setting="memoryLimit",
        )
        settings = PartSettings(
            total=float(row_weight * totals @ factors),
            tol=local.tol,
            max_iter=local.max_iter,
            solver=local.solver,
            seed=self.seed,
            memory=self.memory,
            threads=1,
            root=False,
            deadline=None if local.max_time is None else time.time() + local.max_time,
        )
        for k in range(1 if self.n_classes == 2 else self.n_classes):
            positive = 1 if self.n_classes == 2 else k
            pose = AsPart(
                self.numbering,
                self.form,
                self.kernel,
                local._loss(),
                positive,
                row_weight,
                factors,
            )
            self._fit_problem(k, pose, settings)

    def _fit_problem(self, k: int, pose: AsPart, settings: PartSettings) -> None:
        parts = self.engine.map(self.rows.parts, pose)
        whole = Whole(parts, len(parts), self.n_rows)

        def announce(number: int, n_parts: int) -> None:
            self.told.tell(f"problem {k}: level {number}, {n_parts} parts")
            self.told.doing(f"problem {k}, level {number}, {n_parts} parts")

        loop = DivideAndConquer(
            whole,
            self.method,
            self.plan,
            self.engine,
            settings,
            judge=None if self.rows.validation is None else lambda at: self._score(at, pose),
            store=None if self.checkpoints is None else self.checkpoints.for_problem(k),
            announce=announce,
        )
        stop = loop.run()
        assert loop.complete is not None
        done = SolvedLevels(loop.complete, self.plan, self.n_rows, loop.records, stop)
        self.results.append(done)
        if self.may_be_large:
            self.tables.append(self._table(k, done.level))
        else:
            mean = not self.method.routed
            self.support.append(support_of(self.engine, done.level, mean=mean))
        self.engine.release(done.level.parts)
        self.engine.release(parts)

    def _table(self, k: int, level: Level) -> Any:
        """Turn a level into a table of support vectors, which Spark keeps."""
        order = {number: i for i, number in enumerate(self.engine.numbers(level.parts))}
        total: float | None = None
        if not self.method.routed:
            total = self.engine.reduce(level.parts, _mass, operator.add)
        codes = None
        if self.n_classes > 2:
            codes = per_row(self.engine, self.rows.parts, self.numbering.classes)
        task = AsTable(k, order, total, codes)
        frame = level.parts.frame.mapInArrow(task, support_table.DDL).persist()
        frame.count()  # made now, while the parts are there
        return frame

    def _score(self, level: Level, pose: AsPart) -> float:
        """Score a level's model of a binary problem on the validation rows."""
        validation = self.rows.validation
        assert validation is not None
        if level.summary.support > self.max_model_rows:
            raise ValueError(
                f"level {level.number} has {level.summary.support:,} support vectors to validate, "
                f"more than `maxModelRows` ({self.max_model_rows:,}). Raise it if the driver and "
                "the tasks have room for them, or set `stopLevel` instead of "
                "`validationIndicatorCol`."
            )
        mean = not self.method.routed
        support = support_of(self.engine, level, mean=mean, with_vectors=True)
        question = RightRows(level_model(self.kernel, level, support), pose.positive)
        right: int = self.engine.reduce(validation.parts, question, operator.add)
        return right / validation.summary.rows

    def set_fitted(self) -> LargeExpansion | None:
        """Make the local estimator the fitted one; return its support vectors if they stay."""
        large, found = self._gathered()
        routers = [result.router for result in self.results]
        expansion = Expansion(
            classes=np.arange(self.n_classes),
            support=found.rows,
            vectors=found.vectors,
            codes=found.codes,
            coef=found.coef,
            n_samples=self.n_rows,
        )
        routing = [
            None if router is None else routing_of(router, router.basis_rows, router.basis)
            for router in routers
        ]
        attributes = {
            **level_attributes(self.results, len(self.results)),
            "strategy_": "exact" if self.exact else self.method.name,
            "support_part_": found.part if any(each.divided for each in self.results) else None,
            "routing_": routing if any(each is not None for each in routing) else None,
        }
        set_expansion(self.local, self.kernel, expansion, attributes)
        self.local.n_features_in_ = self.rows.n_features
        return large

    def _gathered(self) -> tuple[LargeExpansion | None, Gathered]:
        """Bring support vectors here; those of a large model stay, and none are here then."""
        n_problems = len(self.results)
        n_support = sum(result.level.summary.support for result in self.results)
        if not self.may_be_large:
            return None, self._with_vectors(self.support)
        frame = fold(lambda one, other: one.unionByName(other), self.tables)
        large = LargeExpansion(frame, n_support, self.tables)
        if n_support > self.max_model_rows:
            empty = np.zeros((0, self.rows.n_features), dtype=self.form.dtype)
            return large, nothing_gathered(n_problems, empty)
        found = large.collected(n_problems)
        large.unpersist()
        return None, found

    def _with_vectors(self, support: list[Support]) -> Gathered:
        """Bring the rows that have a dual in some problem here, as they were given."""
        rows = np.unique(np.concatenate([each.rows for each in support]))
        if rows.size == 0:
            return nothing_gathered(len(support), np.zeros((0, self.rows.n_features)))
        coef = np.zeros((len(support), rows.size))
        part = np.full(coef.shape, -1, dtype=np.int32)
        for k, each in enumerate(support):
            at = np.searchsorted(rows, each.rows)
            coef[k, at], part[k, at] = each.coef, each.part
        question = RowsWanted(rows, self.numbering)
        found = self.engine.reduce(self.rows.parts, question, operator.add)
        codes = np.concatenate([own for _, own in found])
        return Gathered(rows, codes, stacked([X for X, _ in found]), coef, part)

    def discard(self) -> None:
        """Free the tables of a fit that came to nothing."""
        for table in self.tables:
            table.unpersist()

    def warn(self) -> None:
        """Say what time ended early, or did not converge."""
        warn_of_levels(self.results, self.local.tol, self.name)


def _mass(part: Part) -> float:
    return part.mass
