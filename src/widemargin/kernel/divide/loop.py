"""The loop: divide, solve the parts, merge them, level by level towards the root.

::

    parts = partition(data)                       # the leaves
    for level in leaves … root:
        parts = engine.map(solve locally, warm-started)
        stop here if asked (level, time budget, validation, or no dual moved)
        parts = regroup(carry(parts))

What differs between methods is in their row of :mod:`widemargin.kernel.divide.methods`; where the
parts are and who works on them is up to the engine. After every level there is a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...core.budget import Budget
from ...core.history import History, Listener
from ...engines import Engine, Report
from ..partition import BLIND, Divided, lonely_share, together
from ..samples import Part
from .checkpoints import LevelStore, Records
from .levels import LEVEL_COLUMNS, Level, LevelSummary, SolvedLevels, Stop, Whole, summarise
from .methods import Method, every_dual
from .part_solver import converges, level_tol, solve_part, start_budget
from .strategies import Plan

Judge = Callable[[Level], float]


class DivideAndConquer:
    """One run of the loop on one binary problem.

    Parameters
    ----------
    whole : Whole
        The training set, with the net duals to start from.
    method : Method
        The row of the table.
    plan : Plan
        The levels.
    engine : Engine
        Keeps the parts and runs the solves.
    solver : str
        Name of the solver of parts, or "auto".
    budget : Budget
        Limits of all levels; memory and threads are those of one machine, shared out here.
    history : History
        The record of levels; its ``latest`` is a :class:`.SolvedLevels`.
    judge : callable or None
        Scores a level on validation rows.
    store : LevelStore or None
        Keeps finished levels.
    announce : callable or None
        Called with the level and its number of parts when it begins.
    report : callable or None
        Called with the number of parts of the level that are solved, and of all its parts.
    listener : callable or None
        Called after every iteration of a single part in this process.
    blind : callable or None
        Called with the share of lonely rows if leaves that stand for the whole set are blind.
    """

    def __init__(
        self,
        whole: Whole,
        method: Method,
        plan: Plan,
        engine: Engine,
        solver: str,
        budget: Budget,
        history: History,
        *,
        judge: Judge | None = None,
        store: LevelStore | None = None,
        announce: Callable[[int, int], None] | None = None,
        report: Report | None = None,
        listener: Listener | None = None,
        blind: Callable[[float], None] | None = None,
    ) -> None:
        self.whole, self.method, self.plan, self.engine = whole, method, plan, engine
        self.solver, self.budget, self.history = solver, budget, history
        self.judge, self.store = judge, store
        self.announce, self.report, self.listener, self.blind = announce, report, listener, blind
        self._complete: Level | None = None
        self._began = time.perf_counter()
        self._aside = 0.0  # seconds spent on validation, which are no part of training

    def run(self) -> SolvedLevels:
        """Go from level to level; return the one to use."""
        stop = self._run()
        assert self._complete is not None
        return SolvedLevels(self._complete, self.plan, self.whole.n_rows, stop)

    def _run(self) -> Stop:
        level = self._resumed()
        if level is not None and (reason := self._reason_to_stop(level)):
            return reason
        if level is None:
            number, divided = self._first()
        else:
            number, divided = level.number - 1, self._next(level)
        while True:
            level = self._solve(number, divided)
            if level.summary.unfinished:
                if self._complete is None:  # half a first level is better than nothing
                    self._keep(level)
                return Stop.TIME
            if self._improves(level):
                if self._complete is not None:
                    self.engine.release(self._complete.parts)
                self._keep(level)
            assert self._complete is not None
            if self.store is not None:
                self.store.save(self._complete, self._records(), self.engine)
            if reason := self._reason_to_stop(level):
                return reason
            divided = self._next(level)
            number -= 1

    def _keep(self, level: Level) -> None:
        self._complete = level
        self.history.latest = SolvedLevels(level, self.plan, self.whole.n_rows)

    def _records(self) -> Records:
        """Return the record as a store keeps it: without the number of the problem."""
        names = [name for name in LEVEL_COLUMNS if name != "problem"]
        return [{name: row[name] for name in names} for row in self.history.rows]

    def _resumed(self) -> Level | None:
        if self.store is None:
            return None
        kept = self.store.load(self.whole, self.engine, self.plan.stop_level)
        if kept is None:
            return None
        level, records = kept
        self.history.extend([{"problem": self.history.problem, **each} for each in records])
        self._keep(level)
        self._began -= records[-1]["seconds"]
        return level

    def _reason_to_stop(self, level: Level) -> Stop | None:
        """Return why a level, just solved or loaded, is the last one; None to go on."""
        assert self._complete is not None
        if self.history.rows[-1]["level"] < self._complete.number:
            return Stop.VALIDATION  # it was solved, and was no better
        if level.number <= self.plan.stop_level:
            return Stop.LEVEL
        if level.number < self.plan.levels and level.summary.moved == 0:
            return Stop.STILL
        return Stop.TIME if self.budget.out_of_time else None

    def _first(self) -> tuple[int, Divided]:
        """Return the number of the first level, and its parts: the leaves, unless they are useless.

        They are where they would serve as the root's start alone, and are blind, or one of them
        does not reach the gap of such parts within their budget.
        """
        parts, n_parts = self.whole.parts, self.whole.n_parts
        n_leaves = self.plan.parts(self.plan.levels)
        if n_leaves > 1:
            random = self._random(self.plan.levels)
            leaves = self.method.partition(self.engine, parts, n_parts, n_leaves, random)
            blind = self._are_blind(leaves)
            if not self.plan.direct or not (blind or self._are_hard(leaves)):
                return self.plan.levels, leaves
            self.engine.release(leaves.parts)
        return 0, Divided(parts if n_parts == 1 else together(self.engine, parts), 1)

    def _are_blind(self, leaves: Divided) -> bool:
        if self.method.routed:
            return False
        share = lonely_share(self.engine, leaves.parts, self.budget.seed)
        if share > BLIND and self.blind is not None:
            self.blind(share)
        return share > BLIND

    def _are_hard(self, leaves: Divided) -> bool:
        within = partial(converges, self._solver(self.plan.levels, leaves))
        return not self.engine.visit(leaves.parts, 0, within, True)

    def _next(self, level: Level) -> Divided:
        carried = level.parts
        if self.method.carry is not every_dual:
            carried = self.engine.map(carried, self.method.carry)
        n_to = self.plan.parts(level.number - 1)
        random = self._random(level.number - 1)
        divided = self.method.regroup(self.engine, carried, level.n_parts, n_to, random)
        if carried is not level.parts:
            self.engine.release(carried)
        return divided

    def _solver(self, number: int, divided: Divided) -> Callable[[Part], Part]:
        """Return what solves a part of a level."""
        root, here = number == 0, self.engine.in_process
        share = self.engine.share(divided.n_parts)
        budget = self.budget.share(
            sharers=share.sharers,
            threads=share.threads,
            stopping=self.engine.stopping if here else None,
        )
        if self.plan.direct and not root:
            budget = start_budget(budget, self.whole.n_rows // divided.n_parts, divided.n_parts)
        else:
            budget = replace(budget, tol=level_tol(budget.tol, root, self.method.printed))
        return partial(
            solve_part,
            method=self.method,
            total=self.whole.weight,
            solver=self.solver,
            budget=budget,
            root=root,
            listener=self.listener if here and divided.n_parts == 1 else None,
        )

    def _solve(self, number: int, divided: Divided) -> Level:
        if self.announce is not None:
            self.announce(number, divided.n_parts)
        parts = self.engine.map(divided.parts, self._solver(number, divided), self.report)
        summary = self.engine.reduce(
            parts,
            partial(summarise, total=self.whole.weight, blocks=self.method.routed),
            LevelSummary.__add__,
        )
        if divided.parts is not self.whole.parts:  # which other problems may ask for
            self.engine.release(divided.parts)
        return Level(number, parts, divided.n_parts, divided.router, summary)

    def _improves(self, level: Level) -> bool:
        """Record a level; return whether it is better than the one before, where that is asked."""
        seconds = time.perf_counter() - self._began - self._aside
        score, before = np.nan, -np.inf
        if self.judge is not None:
            began = time.perf_counter()
            score = self.judge(level)
            self._aside += time.perf_counter() - began
            rows = self.history.rows
            before = rows[-1]["validation_score"] if rows else -np.inf
        record = {"level": float(level.number), **level.summary.record(), "seconds": seconds}
        self.history.record(**record, validation_score=score)
        return self.judge is None or not score <= before  # NaN: nothing to judge by

    def _random(self, level: int) -> np.random.Generator:
        """Return a generator that depends on seed and level only, so that a fit can resume."""
        return np.random.default_rng([self.budget.seed, level])
