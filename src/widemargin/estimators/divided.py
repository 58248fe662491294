"""Fit one binary problem by divide and conquer, and keep what the estimator needs of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..core.arrays import Array
from ..core.outcome import Outcome
from ..engines import Engine, Report
from ..kernel.divide.loop import DivideAndConquer, Judge, Level, Stop, Store, Whole, collect
from ..kernel.divide.part_solver import PartSettings, level_tol
from ..kernel.divide.strategies import STRATEGIES, Clustered, Plan, Strategy
from ..kernel.duplicates import MergedSamples, merge_samples
from ..kernel.partition import NearestGroup
from ..kernel.samples import OwnedRows, Samples, whole_set
from ..kernel.solvers.block_descent import least_memory

# Up to this many rows strategy="auto" solves the whole set. Beyond, it asks clusters of at most
# the second number of rows each, whose cost grows with the rows and not with their square.
EXACT_ROWS, PART_ROWS = 100_000, 8_000
# Bytes of rows in a block that is sent elsewhere, and copies of a part's rows that a task has there
# at the same time: as they come, as an object, and as the result goes back.
BLOCK_BYTES, COPIES_IN_A_TASK = 16 * 2**20, 3

# Columns of ``history_``.
WHOLE = ("problem", "level", "parts", "rows", "largest_part", "support_vectors")
MEASURED = (
    "seconds",
    "objective",
    "gap",
    "relative_gap",
    "worst_gap",
    "movement",
    "validation_score",
)


@dataclass(frozen=True)
class SolvedLevels:
    """What a run through the levels came to, wherever its rows are.

    Attributes
    ----------
    level : Level
        The last level.
    plan : Plan
        The levels there were.
    rows : int
        Rows that were divided; copies count once where they were merged.
    records : list of dict
        One per finished level.
    stop : Stop or None
        Why it is the last; None after an interrupt.
    """

    level: Level
    plan: Plan
    rows: int
    records: list[dict[str, float]]
    stop: Stop | None

    @property
    def router(self) -> NearestGroup | None:
        """Finds the cluster of a row, if the model asks only that."""
        return self.level.router

    @property
    def converged(self) -> bool:
        """Whether the loop ended by itself, every part of its last level within ``tol``."""
        return self.stop not in (None, Stop.TIME) and not self.level.summary.failed

    @property
    def divided(self) -> bool:
        """Whether the model has parts to tell apart."""
        return self.level.n_parts > 1 or self.router is not None

    @property
    def exact(self) -> bool:
        """Whether the level is the whole problem, so that its gap certifies the model."""
        return self.level.number == 0 and self.level.summary.rows == self.rows


@dataclass(frozen=True)
class DividedProblem(SolvedLevels):
    """The same, with the duals of all rows in this process.

    Attributes
    ----------
    net_dual : array of shape (n_rows,)
        Duals as the level's model weighs them; divided where it is a mean.
    part : array of shape (n_rows,)
        Part of each row; −1 for rows that were dropped.
    """

    net_dual: Array
    part: NDArray[np.int32]


def resolve_strategy(strategy: Any, n_rows: int, name: str) -> Strategy | None:
    """Turn the parameter into a strategy; None means the whole set at once."""
    if isinstance(strategy, Strategy):
        strategy._validate_params()
        return strategy
    if strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    if strategy == "exact" or n_rows <= EXACT_ROWS:
        return None
    levels = 1
    while n_rows > PART_ROWS * 4**levels:
        levels += 1
    warnings.warn(
        f"{name} divides {n_rows} training rows into {4**levels} clusters and stops there: a row "
        "is classified by its nearest cluster. strategy='exact' solves the whole set, which takes "
        "longer and is often a little better; strategy=Clustered(...) or Stratified(...) sets how "
        "it is divided.",
        stacklevel=3,
    )
    return Clustered(levels=levels, stop_level=levels)


def fit_divided(
    samples: Samples,
    strategy: Strategy,
    engine: Engine,
    settings: PartSettings,
    start: Array | None,
    *,
    judge: Callable[[DividedProblem], float] | None = None,
    store: Store | None = None,
    announce: Callable[[int, int], None] | None = None,
    report: Report | None = None,
    keep: Callable[[DividedProblem], None],
) -> DividedProblem:
    """Run the loop; ``keep`` gets the last complete level, also before an interrupt goes on.

    Copies of rows are merged before the set is divided if there are many; the duals and parts that
    come back are those of all rows.
    """
    method = strategy.row(samples.loss.name)
    merged = _merged(samples, strategy)
    if merged is not None:
        samples = merged.samples
        start = None if start is None else merged.merge(start)
    plan = strategy.plan(samples.n_rows, method.last_level)
    check_memory(plan, samples.n_rows, RowSize.of(samples), engine, settings.memory)
    whole = whole_on(engine, samples, start)

    def result(level: Level, stop: Stop | None) -> DividedProblem:
        net_dual, part = _gathered(level, engine, samples, mean=not method.routed)
        if merged is not None:
            net_dual, part = merged.spread(net_dual), part[merged.group]
            if level.router is not None:
                rows = merged.first[level.router.basis_rows]
                level = replace(level, router=replace(level.router, basis_rows=rows))
        records = list(loop.records)
        return DividedProblem(level, plan, samples.n_rows, records, stop, net_dual, part)

    level_judge: Judge | None = None
    if judge is not None:
        level_judge = lambda level: judge(result(level, None))  # noqa: E731
    loop = DivideAndConquer(
        whole,
        method,
        plan,
        engine,
        settings,
        judge=level_judge,
        store=store,
        announce=announce,
        report=report,
    )
    try:
        stop = loop.run()
    except KeyboardInterrupt:
        if loop.complete is not None:
            keep(result(loop.complete, None))
        raise
    assert loop.complete is not None
    problem = result(loop.complete, stop)
    keep(problem)
    return problem


def _merged(samples: Samples, strategy: Strategy) -> MergedSamples | None:
    """Merge copies, unless the method runs as published or too few rows would be left."""
    merged = None if strategy.printed else merge_samples(samples)
    if merged is not None and strategy.levels is not None:
        leaves = strategy.fan_in**strategy.levels
        return merged if 2 * leaves <= merged.samples.n_rows else None
    return merged


def whole_on(engine: Engine, samples: Samples, start: Array | None) -> Whole:
    """Place a training set: as it is in this process, in blocks that own their rows elsewhere."""
    one = whole_set(samples, start)
    if engine.in_process:
        return Whole(engine.scatter([one]), 1, samples.n_rows)
    if samples.pairwise:
        raise ValueError(
            "a kernel given as values or as a function cannot leave this process; got "
            f"engine={engine!r}. Use a kernel by name, or engine='local'."
        )
    owned = replace(one, source=OwnedRows(one.rows, samples))
    per_block = max(1, BLOCK_BYTES // max(1, samples.row_bytes))
    blocks = [part for _, part in owned.pieces(one.rows // per_block)]
    return Whole(engine.scatter(blocks), len(blocks), samples.n_rows)


@dataclass(frozen=True)
class RowSize:
    """What a row takes: bytes of one of its values, of all of them, and if these are the kernel."""

    itemsize: int
    row_bytes: int
    pairwise: bool = False

    @classmethod
    def of(cls, samples: Samples) -> RowSize:
        """Measure the rows of a training set."""
        return cls(int(samples.X.dtype.itemsize), samples.row_bytes, samples.pairwise)


def check_memory(
    plan: Plan,
    n_rows: int,
    row: RowSize,
    engine: Engine,
    memory: int,
    *,
    largest: float = 1.0,
    setting: str = "memory_limit",
) -> None:
    """Refuse a memory limit that some level will not do with, before any is solved.

    ``largest`` is how many times its share of the rows a part may have, ``setting`` what the limit
    is called.
    """
    for level in range(plan.levels, plan.stop_level - 1, -1):
        parts = plan.parts(level)
        rows = min(n_rows, int(np.ceil(largest * n_rows / parts)))
        sharers = engine.share(parts).sharers
        needed = sharers * least_memory(rows, row.itemsize, row.pairwise)
        if not engine.in_process:  # rows come along, and are copied on the way
            needed += COPIES_IN_A_TASK * row.row_bytes * rows
        if needed > memory:
            raise ValueError(
                f"`{setting}` must be at least {needed} bytes for level {level}, where "
                f"{sharers} parts of {rows} rows share it; got {memory}. Raise it, or stop at a "
                "higher level."
            )


def _gathered(
    level: Level, engine: Engine, samples: Samples, mean: bool
) -> tuple[Array, NDArray[np.int32]]:
    """Put the duals of all parts in one array, weighed as the level's model does."""
    net_dual = np.zeros(samples.n_rows)
    number = np.full(samples.n_rows, -1, dtype=np.int32)
    parts = collect(level, engine)
    total = sum(part.mass for part in parts)
    for k, part in enumerate(parts):
        net_dual[part.rows] = part.net_dual * (part.mass / total if mean else 1.0)
        number[part.rows] = k
    return net_dual, number


def level_history(problems: Sequence[SolvedLevels]) -> dict[str, NDArray[Any]]:
    """Lay the records of all binary problems out as arrays of equal length."""
    rows = [{"problem": k, **record} for k, p in enumerate(problems) for record in p.records]
    return {
        name: np.array([row[name] for row in rows], dtype=np.int64 if name in WHOLE else np.float64)
        for name in (*WHOLE, *MEASURED)
    }


def level_attributes(done: Sequence[SolvedLevels], n_problems: int) -> dict[str, Any]:
    """Return the fitted attributes that tell how all binary problems went."""
    complete = len(done) == n_problems
    exact = complete and all(problem.exact for problem in done)
    gaps = [p.level.summary.primal - p.level.summary.dual for p in done]
    worst = [p.level.summary.worst_gap for p in done]
    return {
        "dual_gap_": float(np.sum(gaps)) if exact else np.nan,
        "relative_gap_": float(np.max(worst)) if exact else np.nan,
        "history_": level_history(done),
        "n_iter_": max([p.level.summary.iterations for p in done], default=0),
        "converged_": complete and all(p.converged for p in done),
        "solver_": done[0].level.summary.solver if done else "",
        "level_": max([p.level.number for p in done], default=0),
    }


def warn_of_levels(problems: Sequence[SolvedLevels], tol: float, estimator: str) -> None:
    """Say what time ended early, or did not converge; once for all binary problems."""
    late = [p for p in problems if p.stop is Stop.TIME]
    if late:
        highest = max(p.level.number for p in late)
        model = "The model is that of the last complete level"
        if any(not p.records for p in late):
            model = "Not even the leaves were complete: the model is that of unfinished parts"
        warnings.warn(
            f"{estimator} stopped at level {highest} of {late[0].plan.levels}, before level "
            f"{late[0].plan.stop_level}: `max_time` was reached. {model}; raise `max_time` to go "
            "on.",
            ConvergenceWarning,
            stacklevel=4,
        )
    lowest = min((p.level.summary.lowest_eigenvalue for p in problems), default=0.0)
    if lowest < 0:
        warnings.warn(
            f"The kernel matrix of a part is indefinite (lowest eigenvalue about {lowest:.3g}), so "
            "no duality gap certifies its solution. Use a positive semi-definite kernel (rbf, "
            "laplacian, linear, poly with coef0 >= 0) for a certificate.",
            ConvergenceWarning,
            stacklevel=4,
        )
    failed = [p for p in problems if p.level.summary.failed and p.stop is not Stop.TIME]
    if failed:
        level = max((p.level for p in failed), key=_worst_gap)
        worst, wanted = level.summary, level_tol(tol, level.number == 0)
        warnings.warn(
            f"{estimator} did not converge in {sum(p.level.summary.failed for p in failed)} of "
            f"{sum(p.level.summary.parts for p in failed)} parts: relative gap "
            f"{worst.worst_gap:.3g}, wanted {wanted:g}. {Outcome[worst.advice].value}",
            ConvergenceWarning,
            stacklevel=4,
        )


def _worst_gap(level: Level) -> float:
    return float(np.nan_to_num(level.summary.worst_gap))
