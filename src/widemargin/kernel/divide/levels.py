"""A training set on its way through the levels: undivided, at one level, at the last level."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from ...core.history import Columns
from ...core.outcome import Outcome
from ...engines import Engine
from ..partition import NearestGroup
from ..samples import Part
from .strategies import Plan

# Columns of the record of a divided fit, one row per level.
LEVEL_COLUMNS: Columns = {
    "problem": int,
    "level": int,
    "parts": int,
    "rows": int,
    "largest_part": int,
    "support_vectors": int,
    "seconds": float,
    "objective": float,
    "gap": float,
    "relative_gap": float,
    "worst_gap": float,
    "movement": float,
    "validation_score": float,
}


class Stop(Enum):
    """Why the loop ended."""

    LEVEL = "the level asked for was reached"
    TIME = "`max_time` was reached"
    VALIDATION = "the next level was no better on the validation rows"
    STILL = "no dual moved"


@dataclass(frozen=True)
class RowSize:
    """Memory that a row takes."""

    # Bytes of one value, and of a copy of the row.
    itemsize: int
    row_bytes: int
    pairwise: bool = False  # whether its values are kernel values


@dataclass(frozen=True)
class Whole:
    """A training set where the engine has it, not divided yet."""

    parts: Any  # of Part; together they hold rows 0 … n_rows − 1, in this order
    # Number of parts and of rows.
    n_parts: int
    n_rows: int
    weight: float  # weight of all rows
    row: RowSize  # memory that a row takes


@dataclass(frozen=True)
class LevelSummary:
    """Small numbers that describe one part, or many together."""

    # Parts, their rows, rows of the largest part, and rows with a dual.
    parts: int
    rows: int
    largest: int
    support: int
    # Objectives: of the blocks together, or the mean over small copies of the whole problem.
    primal: float
    dual: float
    worst_gap: float  # largest relative gap of a part's own problem
    # Sums of |change of a dual| and of |dual|.
    moved: float
    size: float
    iterations: int  # most iterations of a part
    # Parts that ran out of time or were interrupted; parts that did not converge, those included.
    unfinished: int
    failed: int
    advice: str  # name of the outcome of the worst part that failed, or ""
    solver: str  # name of the solver, which all parts share
    lowest_eigenvalue: float  # lowest of all parts, where kernels are indefinite

    def __add__(self, other: LevelSummary) -> LevelSummary:
        """Combine the numbers of two sets of parts."""
        # NaN (no certificate) wins over any gap.
        worse = self if not self.worst_gap < other.worst_gap else other
        return LevelSummary(
            self.parts + other.parts,
            self.rows + other.rows,
            max(self.largest, other.largest),
            self.support + other.support,
            self.primal + other.primal,
            self.dual + other.dual,
            float(np.maximum(self.worst_gap, other.worst_gap)),
            self.moved + other.moved,
            self.size + other.size,
            max(self.iterations, other.iterations),
            self.unfinished + other.unfinished,
            self.failed + other.failed,
            worse.advice or self.advice or other.advice,
            self.solver,
            min(self.lowest_eigenvalue, other.lowest_eigenvalue),
        )

    def record(self) -> dict[str, float]:
        """Return the columns of ``history_`` that the summary fills."""
        gap = self.primal - self.dual
        return {
            "parts": self.parts,
            "rows": self.rows,
            "largest_part": self.largest,
            "support_vectors": self.support,
            "objective": self.primal,
            "gap": gap,
            "relative_gap": gap / self.primal if self.primal else 0.0,
            "worst_gap": self.worst_gap,
            "movement": self.moved / self.size if self.size else 0.0,
        }


def summarise(part: Part, total: float, blocks: bool) -> LevelSummary:
    """Describe one solved part; small copies count by what they stand for."""
    report = part.report
    assert report is not None
    share = 1.0 if blocks else part.mass / total
    failed = report.outcome != Outcome.CONVERGED.name
    gap = (report.primal - report.dual) / report.primal if report.primal else 0.0
    return LevelSummary(
        parts=1,
        rows=part.n_rows,
        largest=part.n_rows,
        support=int(np.count_nonzero(part.net_dual)),
        primal=share * report.primal,
        dual=share * report.dual,
        worst_gap=gap,
        moved=report.moved,
        size=report.size,
        iterations=report.iterations,
        unfinished=int(report.outcome == Outcome.TIME.name),
        failed=int(failed),
        advice=report.outcome if failed else "",
        solver=report.solver,
        lowest_eigenvalue=report.lowest_eigenvalue,
    )


@dataclass(frozen=True)
class Level:
    """A level whose parts are solved."""

    number: int  # 0 is the root
    parts: Any  # solved parts
    n_parts: int
    router: NearestGroup | None  # finds the cluster of a row
    summary: LevelSummary  # summary of all parts


def collect(level: Level, engine: Engine) -> list[Part]:
    """Bring the parts of a level here, without their rows' values."""
    return engine.reduce(level.parts, _without_rows, operator.add)


def _without_rows(part: Part) -> list[Part]:
    return [replace(part, source=part.source.only(part.rows[:0]))]


@dataclass(frozen=True)
class SolvedLevels:
    """The iterate of a divided fit: how far it has come."""

    level: Level  # the last complete level
    plan: Plan  # the levels planned
    rows: int  # rows that were divided; copies count once where they were merged
    stop: Stop | None = None  # why it is the last level; None while the loop goes on

    @property
    def converged(self) -> bool:
        """Whether the loop ended by itself, every part of its last level within ``tol``."""
        return self.stop not in (None, Stop.TIME) and not self.level.summary.failed

    @property
    def divided(self) -> bool:
        """Whether the model has parts to tell apart."""
        return self.level.n_parts > 1 or self.level.router is not None

    @property
    def exact(self) -> bool:
        """Whether the level is the whole problem, so that its gap certifies the model."""
        return self.level.number == 0 and self.level.summary.rows == self.rows
