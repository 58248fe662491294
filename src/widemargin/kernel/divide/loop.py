"""The loop: divide, solve the parts, merge them, level by level up to the root.

::

    parts = partition(data)                       # the leaves
    for level in leaves … root:
        parts = engine.map(solve locally, warm-started)
        stop here if asked (level, time budget, validation, or no dual moved)
        parts = regroup(carry(parts))

What differs between methods is in their row of :mod:`widemargin.kernel.divide.methods`, where the
parts are and
who works on them is the engine's business. After every level there is a model.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...engines import Engine, Report
from ..partition import Divided, NearestGroup, together
from ..samples import Part
from .level_summary import LevelSummary, summarise
from .merge import every_dual
from .methods import Method
from .part_solver import PartSettings, solve_part
from .strategies import Plan


class Stop(Enum):
    """Why the loop ended."""

    LEVEL = "the level asked for was reached"
    TIME = "`max_time` was reached"
    VALIDATION = "the next level was no better on the validation rows"
    STILL = "no dual moved"


@dataclass(frozen=True)
class Level:
    """A level whose parts are solved.

    Attributes
    ----------
    number : int
        0 is the root.
    parts : the engine's parts
        Solved.
    n_parts : int
        How many.
    router : NearestGroup or None
        Finds the cluster of a row.
    summary : LevelSummary
        Of all parts.
    """

    number: int
    parts: Any
    n_parts: int
    router: NearestGroup | None
    summary: LevelSummary


@dataclass(frozen=True)
class Whole:
    """A training set where the engine has it, not divided yet.

    Attributes
    ----------
    parts : the engine's parts
        Of :class:`.Part`; together they hold rows 0 … n_rows − 1, in this order.
    n_parts, n_rows : int
        How many there are.
    """

    parts: Any
    n_parts: int
    n_rows: int


class Store(Protocol):
    """Where finished levels are kept."""

    def save(self, level: Level, records: list[dict[str, float]], engine: Engine) -> None:
        """Keep a level."""
        ...

    def load(
        self, whole: Whole, engine: Engine, stop_level: int
    ) -> tuple[Level, list[dict[str, float]]] | None:
        """Return the last level kept, not above the one asked for."""
        ...


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
        Levels.
    engine : Engine
        Where the work is done.
    settings : PartSettings
        For the solves; memory and threads are those of one machine, shared out here.
    judge : callable or None
        Scores a level on validation rows.
    store : Store or None
        Keeps finished levels.
    announce : callable or None
        Told of the level and its number of parts when it begins.
    report : callable or None
        Told how many parts of the level are solved.

    Attributes
    ----------
    complete : Level or None
        The level to use, also after an interrupt; None while the first is not finished.
    records : list of dict
        One per finished level.
    """

    def __init__(
        self,
        whole: Whole,
        method: Method,
        plan: Plan,
        engine: Engine,
        settings: PartSettings,
        *,
        judge: Judge | None = None,
        store: Store | None = None,
        announce: Callable[[int, int], None] | None = None,
        report: Report | None = None,
    ) -> None:
        self.whole, self.method, self.plan, self.engine = whole, method, plan, engine
        self.settings, self.judge, self.store, self.announce = settings, judge, store, announce
        self.report = report
        self.complete: Level | None = None
        self.records: list[dict[str, float]] = []
        self._began = time.perf_counter()
        self._aside = 0.0  # seconds spent on validation, which are no part of training

    def run(self) -> Stop:
        """Go up level by level; the result is in ``complete``."""
        level = self._resumed()
        if level is not None and (reason := self._reason_to_stop(level)):
            return reason
        divided = self._leaves() if level is None else self._next(level)
        number = self.plan.levels if level is None else level.number - 1
        while True:
            level = self._solve(number, divided)
            if level.summary.unfinished:
                self.complete = self.complete or level  # half a first level is better than nothing
                return Stop.TIME
            if self._improves(level):
                if self.complete is not None:
                    self.engine.release(self.complete.parts)
                self.complete = level
            assert self.complete is not None
            if self.store is not None:
                self.store.save(self.complete, self.records, self.engine)
            if reason := self._reason_to_stop(level):
                return reason
            divided = self._next(level)
            number -= 1

    def _resumed(self) -> Level | None:
        if self.store is None:
            return None
        kept = self.store.load(self.whole, self.engine, self.plan.stop_level)
        if kept is None:
            return None
        self.complete, self.records = kept
        self._began -= self.records[-1]["seconds"]
        return self.complete

    def _reason_to_stop(self, level: Level) -> Stop | None:
        """Tell why a level, just solved or found on disk, is the last one."""
        assert self.complete is not None
        if self.records[-1]["level"] < self.complete.number:
            return Stop.VALIDATION  # it was solved, and was no better
        if level.number <= self.plan.stop_level:
            return Stop.LEVEL
        if level.number < self.plan.levels and level.summary.moved == 0:
            return Stop.STILL
        if self.settings.deadline is not None and time.time() >= self.settings.deadline:
            return Stop.TIME
        return None

    def _leaves(self) -> Divided:
        parts, n_parts = self.whole.parts, self.whole.n_parts
        n_leaves = self.plan.parts(self.plan.levels)
        if n_leaves == 1:
            return Divided(parts if n_parts == 1 else together(self.engine, parts), 1)
        random = self._random(self.plan.levels)
        return self.method.partition(self.engine, parts, n_parts, n_leaves, random)

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

    def _solve(self, number: int, divided: Divided) -> Level:
        if self.announce is not None:
            self.announce(number, divided.n_parts)
        sharers, threads = self.engine.share(divided.n_parts)
        here = self.engine.in_process
        settings = replace(
            self.settings,
            memory=self.settings.memory // sharers,
            threads=threads,
            root=number == 0,
            stopping=self.engine.stopping if here else None,
            listener=self.settings.listener if here and divided.n_parts == 1 else None,
        )
        solve = partial(solve_part, method=self.method, settings=settings)
        parts = self.engine.map(divided.parts, solve, self.report)
        summary = self.engine.reduce(
            parts,
            partial(summarise, total=settings.total, blocks=self.method.routed),
            LevelSummary.__add__,
        )
        if divided.parts is not self.whole.parts:  # which others may ask for
            self.engine.release(divided.parts)
        return Level(number, parts, divided.n_parts, divided.router, summary)

    def _improves(self, level: Level) -> bool:
        """Record a level; tell whether it is better than the one before, where that is asked."""
        seconds = time.perf_counter() - self._began - self._aside
        score, before = np.nan, -np.inf
        if self.judge is not None:
            began = time.perf_counter()
            score = self.judge(level)
            self._aside += time.perf_counter() - began
            before = self.records[-1]["validation_score"] if self.records else -np.inf
        record = {"level": float(level.number), **level.summary.record(), "seconds": seconds}
        self.records.append({**record, "validation_score": score})
        return self.judge is None or not score <= before  # NaN: nothing to judge by

    def _random(self, level: int) -> np.random.Generator:
        """Return chance that depends on the seed and the level only, so that runs can resume."""
        return np.random.default_rng([self.settings.seed, level])


def collect(level: Level, engine: Engine) -> list[Part]:
    """Bring the parts of a level here, without their rows' values."""
    return engine.reduce(level.parts, _without_rows, operator.add)


def _without_rows(part: Part) -> list[Part]:
    return [replace(part, source=part.source.only(part.rows[:0]))]
