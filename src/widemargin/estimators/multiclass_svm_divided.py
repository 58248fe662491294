"""Multi-class fits on an engine: rows in blocks, wherever it keeps them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.blocks import RowBlock, bytes_of, even_parts, joined
from ..engines import Engine, LocalEngine
from ..multiclass.posed import Posed, RowsOnEngine, choose
from ..multiclass.solvers import MulticlassMonitor, MulticlassSolution, far_newton, far_tournament
from .multiclass_svm_fit import SMALL, MulticlassFit, settled
from .training_set import TrainingSet, class_factors


@dataclass(frozen=True)
class Answer:
    """A problem solved elsewhere."""

    solution: MulticlassSolution
    history: dict[str, Any]
    solver: str


@dataclass(frozen=True)
class Gathered:
    """The problem, to be solved on all blocks put together."""

    pose: Posed
    solver: str
    memory: int
    tol: float
    max_iter: int
    max_time: float | None
    seed: int

    def __call__(self, blocks: list[RowBlock]) -> Answer:
        """Solve it."""
        block = in_own_order(joined(blocks), self.pose.n_classes)
        monitor = MulticlassMonitor(
            tol=self.tol, max_iter=self.max_iter, max_time=self.max_time, seed=self.seed
        )
        fit = MulticlassFit(self.pose.problem(block), monitor, self.solver, self.memory)
        solution = fit.run(None, LocalEngine(self.pose.threads))
        return Answer(replace(solution, duals=None), monitor.history(), fit.solver)


@dataclass(frozen=True)
class Settle:
    """Puts the blocks of a small set together, in an order of their own."""

    n_classes: int

    def split(self, _: int, block: RowBlock) -> list[tuple[int, RowBlock]]:
        """Send all to one part."""
        return [(0, block)]

    def combine(self, blocks: list[RowBlock]) -> RowBlock:
        """Make them one block."""
        return in_own_order(joined(blocks), self.n_classes)


def in_own_order(block: RowBlock, n_classes: int) -> RowBlock:
    """Make a small block independent of the order of its rows, and of copies."""
    weight = np.ones(block.n_rows) if block.weight is None else block.weight
    given = TrainingSet(
        block.X, np.arange(n_classes), block.codes.astype(np.int64), weight, None, block.n_rows
    )
    found = settled(given)
    return RowBlock(block.name, found.X, found.codes.astype(np.int32), found.weights)


class DividedMulticlassFit(MulticlassFit):
    """One fit on an engine's rows, and what it leaves.

    Parameters
    ----------
    rows : RowsOnEngine
        Rows and problem.
    monitor : MulticlassMonitor
        Budgets and progress.
    solver : str
        Name of the solver, or 'auto'.
    """

    def __init__(self, rows: RowsOnEngine, monitor: MulticlassMonitor, solver: str) -> None:
        self.rows, self.posed, self.monitor = rows, rows.pose, monitor
        self.solver, self.together = choose(solver, rows)
        self.weights = self.duals = self.certificate = None
        self._history: dict[str, Any] | None = None

    def run(self, start: tuple[Any, Any] | None, engine: Engine) -> MulticlassSolution:
        """Solve from zero."""
        assert start is None, "multipliers do not travel"
        try:
            solution = self._solved(engine)
        except KeyboardInterrupt:
            if self.monitor.latest is not None:
                self.weights = self.monitor.latest.weights()
            raise
        self.weights, self.certificate = solution.weights, solution.certificate
        return solution

    def _solved(self, engine: Engine) -> MulticlassSolution:
        rows, monitor = self.rows, self.monitor
        if self.together:
            question = Gathered(
                rows.pose,
                self.solver,
                rows.memory,
                monitor.tol,
                monitor.max_iter,
                monitor.max_time,
                monitor.seed,
            )
            answer = engine.together(rows.blocks, question)
            self.solver, self._history = answer.solver, answer.history
            monitor.iterations = answer.solution.iterations
            solution: MulticlassSolution = answer.solution
            return solution
        if self.solver == "newton":
            return far_newton.solve(rows, monitor)
        if not rows.settled and rows.stored <= SMALL:
            settle = Settle(rows.pose.n_classes)
            blocks = engine.regroup(rows.blocks, settle.split, settle.combine, 1)
            rows = replace(rows, blocks=blocks)
        return far_tournament.solve(rows, monitor)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes."""
        found = super().attributes()
        if self._history is not None:
            found["history_"] = self._history
        return found


def scattered(
    training: TrainingSet,
    formulation: str,
    C: float,
    class_weight: Any,
    constant: float,
    engine: Engine,
    memory: int,
) -> RowsOnEngine:
    """Send the rows of a training set to an engine, in blocks."""
    X, codes, n_classes = training.X, training.codes.astype(np.int32), len(training.classes)
    totals = np.bincount(codes, training.weights, n_classes).astype(np.float64)
    factors = class_factors(class_weight, training.classes, totals)
    fit = uuid.uuid4().hex
    blocks = [
        RowBlock(f"{fit}-{k}", X[rows], codes[rows], training.weights[rows])
        for k, rows in enumerate(even_parts(X))
    ]
    return RowsOnEngine(
        engine,
        engine.scatter(blocks),
        Posed(
            int(X.shape[1]),
            n_classes,
            formulation,
            C,
            None if class_weight is None else tuple(factors.tolist()),
            constant,
            engine.share(1).threads,
        ),
        len(codes),
        int(X.nnz if sp.issparse(X) else X.size),
        bytes_of(X),
        np.bincount(codes, minlength=n_classes),
        memory,
        settled=True,
    )
