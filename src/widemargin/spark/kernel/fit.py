"""Kernel machines trained by divide and conquer where the rows of a DataFrame are."""

from __future__ import annotations

import operator
from functools import cached_property
from functools import reduce as fold
from typing import Any

import numpy as np

from ...core.budget import Budget, seed_of
from ...core.history import History
from ...core.outcome import Solution
from ...core.training_set import class_factors
from ...engines import Cheap
from ...engines.spark_errors import mapped
from ...kernel.defaults import with_intercept
from ...kernel.divide.checkpoints import identity_of, shaping_settings
from ...kernel.divide.driver import LevelFit, resolve_strategy
from ...kernel.divide.levels import Level, SolvedLevels, Whole
from ...kernel.divide.strategies import Strategy, Stratified
from ...kernel.kernels import Kernel
from ...kernel.model.level_model import LevelModel
from ...kernel.model.prediction import Expansion, routing_of, routing_or_none, set_expansion
from ..classifier_stage import FitLog
from ..rows.blocks import PlacedRows
from ..storage import ClusterCheckpoints
from . import support
from .distributed_model import DecisionRule, DistributedExpansion
from .drawn_rows import Draw, RowsHeldOut
from .rows import AsPart, DiagonalSum, Numbering, RowFacts, RowForm, RowsWanted
from .support import (
    AsTable,
    CorrectlyDecided,
    Support,
    SupportVectors,
    by_problem,
    no_support_vectors,
    stacked,
    support_of,
)

# Validation rows that a model which stays on the cluster decides about.
MOST_SCORED = 10_000


class KernelFit(LevelFit):
    """The binary problems of a DataFrame, taken through the levels where its rows are.

    ``local`` is an estimator with the settings, which :meth:`set_fitted` makes a fitted one. With
    more than ``max_model_rows`` support vectors they stay on the cluster, as those of ``large``.
    """

    def __init__(
        self,
        name: str,
        local: Any,
        rows: PlacedRows,
        log: FitLog,
        *,
        max_model_rows: int,
        checkpoint: str | None,
    ) -> None:
        self.local, self.rows, self.max_model_rows = local, rows, max_model_rows
        self.n_rows, self.n_classes = rows.summary.rows, len(rows.summary.counts)
        self.numbering = Numbering.of(rows.summary.blocks)
        self.loss = local._loss()
        # Of each problem one of these: its few support vectors, or a table on the cluster.
        self.may_be_large = self.n_rows > max_model_rows
        self.support: list[Support] = []
        self.tables: list[Any] = []
        self.large: DistributedExpansion | None = None

        def announce(k: int, level: int, n_parts: int) -> None:
            log.report(f"problem {k}: level {level}, {n_parts} parts")
            log.doing(f"problem {k}, level {level}, {n_parts} parts")

        found = resolve_strategy(local.strategy, self.n_rows, name)
        self.exact = found is None
        strategy = Stratified(levels=0) if found is None else found
        budget = local._training_budget(Budget.of(local, seed_of(local.random_state), threads=1))
        super().__init__(
            name,
            1 if self.n_classes == 2 else self.n_classes,
            self._pose,
            strategy,
            self.loss.name,
            rows.engine,
            local.solver,
            budget,
            judge=None if rows.validation is None else self._score,
            folder=None if checkpoint is None else self._checkpoints(checkpoint, strategy, budget),
            announce=announce,
        )

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: never, as the rows go with the fit."""
        return False

    def _checkpoints(self, folder: str, strategy: Strategy, budget: Budget) -> ClusterCheckpoints:
        """Find the folder by all that shapes the levels: rows, settings, seed."""
        settings = shaping_settings(self.local, strategy, budget.seed)
        beside = self.rows.validation
        marks = [self.rows.summary.blocks, () if beside is None else beside.summary.blocks]
        arrays = [np.array(each, dtype=np.int64).reshape(-1, 3) for each in marks]
        settings["features"], settings["classes"] = self.rows.n_features, self.n_classes
        return ClusterCheckpoints(self.rows.engine.session, folder, identity_of(arrays, settings))

    @cached_property
    def facts(self) -> RowFacts:
        """Facts about all rows."""
        found: RowFacts = fold(RowFacts.plus, self.rows.facts)
        return found

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, resolved."""
        local = self.local
        gamma = self.facts.gamma(local.gamma, self.rows.n_features)
        kernel = Kernel(local.kernel, gamma, float(local.coef0), int(local.degree))

        weight = float(self.rows.summary.weights.sum())

        def diagonal() -> tuple[float, bool]:
            total = self.engine.reduce(self.rows.parts, DiagonalSum(kernel), operator.add)
            return total / weight, False

        return with_intercept(kernel, local.fit_intercept, weight, diagonal)

    @cached_property
    def form(self) -> RowForm:
        """The form that rows are trained in."""
        dense = self.rows.summary.dense
        return RowForm.of(self.facts, self.kernel, self.n_rows, self.rows.n_features, dense)

    def _positive(self, k: int) -> int:
        """Return the class that is positive in a problem."""
        return 1 if self.n_classes == 2 else k

    def _pose(self, k: int) -> Whole:
        """Make the blocks of rows the parts of a problem."""
        local, totals = self.local, self.rows.summary.weights
        factors = class_factors(local.class_weight, np.arange(self.n_classes), totals)
        row_weight = local._row_weight(float(totals.sum()))
        pose = AsPart(
            self.numbering,
            self.form,
            self.kernel,
            self.loss,
            self._positive(k),
            row_weight,
            factors,
        )
        converts = self.form.converts(self.facts, self.rows.summary.dense)
        parts = self.engine.map(self.rows.parts, pose if converts else Cheap(pose))
        size = self.form.size(self.n_rows, self.rows.n_features, self.facts.nonzero)
        return Whole(parts, len(parts), self.n_rows, float(row_weight * totals @ factors), size)

    def _solve_levels(
        self, k: int, whole: Whole, budget: Budget, history: History
    ) -> Solution[SolvedLevels]:
        """Solve a problem, and bring here what its model needs."""
        solution = super()._solve_levels(k, whole, budget, history)
        level = solution.iterate.level
        if self.may_be_large:
            self.tables.append(self._table(k, level))
        else:
            mean = not self.method.routed
            self.support.append(support_of(self.engine, level, mean=mean))
        self.engine.release(level.parts)
        self.engine.release(whole.parts)
        return solution

    def _table(self, k: int, level: Level) -> Any:
        """Turn a level into a table of support vectors, which Spark keeps."""
        order = {number: i for i, number in enumerate(self.rows.engine.numbers(level.parts))}
        total: float | None = None
        if not self.method.routed:
            total = self.engine.reduce(level.parts, operator.attrgetter("mass"), operator.add)
        task = AsTable(k, order, total)
        frame = self.rows.engine.persisted(mapped(level.parts.frame, task, support.DDL))
        self.rows.engine.wait_for(frame.count)  # made now, while the parts are there
        return frame

    def _score(self, k: int, level: Level) -> float:
        """Score a level's model of a binary problem on the validation rows."""
        validation = self.rows.validation
        assert validation is not None
        if level.summary.support > self.max_model_rows:
            return self._score_on_cluster(k, level, validation)
        mean = not self.method.routed
        support = support_of(self.engine, level, mean=mean, with_vectors=True)
        model = LevelModel(
            self.kernel, support.vectors, support.rows, support.coef, support.part, level.router
        )
        question = CorrectlyDecided(model, self._positive(k))
        right: int = self.engine.reduce(validation.parts, question, operator.add)
        return right / validation.summary.rows

    def _score_on_cluster(self, k: int, level: Level, validation: PlacedRows) -> float:
        """Score a model of too many support vectors for the driver, on some validation rows."""
        draw = Draw(self.budget.seed, min(1.0, MOST_SCORED / validation.summary.rows), 0.0)
        found = self.engine.reduce(validation.parts, RowsHeldOut(draw, self.form), operator.add)
        X, codes = stacked([X for X, _ in found]), np.concatenate([own for _, own in found])
        router = level.router
        routing = None if router is None else routing_of(router, router.basis_rows, router.basis)
        table = self._table(k, level)
        try:
            large = DistributedExpansion(table, level.summary.support)
            decision = large.decide(DecisionRule(self.kernel, [None] * k + [routing]), X)[k]
        finally:
            table.unpersist()
        return float(np.mean((decision > 0) == (codes == self._positive(k))))

    def set_fitted(self) -> None:
        """Make the local estimator the fitted one."""
        self.large, found = self._gathered()
        expansion = Expansion(
            classes=np.arange(self.n_classes),
            support=found.rows,
            vectors=found.vectors,
            codes=found.codes,
            coef=found.coef,
            n_samples=self.n_rows,
            scheme="ovr",
        )
        routers = [each.level.router for each in self.reached]
        routing = [
            None if router is None else routing_of(router, router.basis_rows, router.basis)
            for router in routers
        ]
        attributes = {
            **self.attributes(),
            "strategy_": "exact" if self.exact else self.method.name,
            "support_part_": found.part if any(each.divided for each in self.reached) else None,
            "routing_": routing_or_none(routing),
        }
        set_expansion(self.local, self.kernel, expansion, attributes)
        self.local.n_features_in_ = self.rows.n_features

    def _gathered(self) -> tuple[DistributedExpansion | None, SupportVectors]:
        """Bring support vectors here; those of a large model stay, and none are here then."""
        n_problems = self.n_problems
        n_support = sum(each.level.summary.support for each in self.reached)
        if not self.may_be_large:
            return None, self._with_vectors(self.support)
        frame = fold(lambda one, other: one.unionByName(other), self.tables)
        large = DistributedExpansion(frame, n_support, self.tables)
        if n_support > self.max_model_rows:
            empty = np.zeros((0, self.rows.n_features), dtype=self.form.dtype)
            return large, no_support_vectors(n_problems, empty)
        found = large.collected(n_problems)
        large.unpersist()
        return None, found

    def _with_vectors(self, support: list[Support]) -> SupportVectors:
        """Bring the rows that have a dual in some problem here, as they were given."""
        rows = np.unique(np.concatenate([each.rows for each in support]))
        if rows.size == 0:
            return no_support_vectors(len(support), np.zeros((0, self.rows.n_features)))
        coef, part = by_problem(rows, len(support), enumerate(support))
        question = RowsWanted(rows, self.numbering)
        found = self.engine.reduce(self.rows.parts, question, operator.add)
        codes = np.concatenate([own for _, own in found])
        return SupportVectors(rows, codes, stacked([X for X, _ in found]), coef, part)

    def discard(self) -> None:
        """Free the tables of a fit that failed."""
        for table in self.tables:
            table.unpersist()
