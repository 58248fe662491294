"""Fit every binary linear problem of a classification whose rows lie in blocks on an engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..engines import Engine
from .divided_problem import DividedProblem
from .gathered import Gathered, gather
from .monitor import LinearMonitor, history_of
from .problem import LossConstants
from .row_blocks import Pose
from .solution import LinearSolution, fitted_attributes
from .solvers import SolverOptions, divided_newton
from .solvers.dsvrg import PartsOnEngine
from .solvers.stages import descend, safe_step
from .solvers.svrg import STEPS_PER_ROW

# Rows of up to so many bytes are solved in one task by "auto": passes over them cost less than
# asking all tasks again and again.
GATHERED_BYTES = 256 * 2**20
DIVIDED = ("newton", "dsvrg")


@dataclass(frozen=True)
class DividedInputs:
    """What a fit of all binary problems starts from.

    Attributes
    ----------
    estimator : str
        Name of the estimator, for messages.
    engine : Engine
        Where the rows are.
    blocks : Parts
        The engine's parts, of :class:`.RowBlock`.
    n_rows, n_features, n_classes : int
        Of all blocks.
    stored_bytes : int
        Bytes of all blocks' rows.
    constants : LossConstants
        The loss, ``C`` included.
    constant : float
        Value of the constant feature; 0 means no intercept.
    factors : tuple of float or None
        Weights of the classes.
    memory : int
        Bytes that the rows may take in one task.
    start : array of shape (n_problems, size) or None
        Weights to start from.
    """

    estimator: str
    engine: Engine
    blocks: Any
    n_rows: int
    n_features: int
    n_classes: int
    stored_bytes: int
    constants: LossConstants
    constant: float = 0.0
    factors: tuple[float, ...] | None = None
    memory: int = 2**30
    start: Array | None = None

    @property
    def n_problems(self) -> int:
        """Two classes are one problem, more are one each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def size(self) -> int:
        """Length of ``w``."""
        return self.n_features + (self.constant != 0)

    def pose(self, k: int) -> Pose:
        """Pose binary problem ``k``."""
        positive = 1 if self.n_classes == 2 else k
        # A gathered block is the only part, and divided ones share the engine alike.
        threads = self.engine.share(1).threads
        return Pose(positive, self.constants, self.constant, self.factors, threads)

    def first(self, k: int) -> Array:
        """Return where problem ``k`` starts."""
        return np.zeros(self.size) if self.start is None else self.start[k].copy()


def choose(solver: str, inputs: DividedInputs) -> tuple[str, bool]:
    """Return the solver's name and whether rows are brought together for it."""
    if solver in DIVIDED:
        return solver, False
    if solver == "auto":
        if inputs.stored_bytes <= min(GATHERED_BYTES, inputs.memory):
            return "auto", True
        return "newton", False
    if inputs.stored_bytes > inputs.memory:
        raise ValueError(
            f"solver={solver!r} needs all rows in one task: {inputs.stored_bytes / 1e6:,.0f} MB, "
            f"and the memory limit is {inputs.memory / 1e6:,.0f} MB. Use 'newton' or 'dsvrg', "
            "which leave rows where they are, or raise the limit."
        )
    return solver, True


@dataclass(frozen=True)
class DividedSettings:
    """How the problems are solved.

    Attributes
    ----------
    solver : str
        Name of the solver, or "auto".
    options : SolverOptions
        Settings of single solvers.
    tol, max_iter, max_time
        When to stop; the time is for all problems.
    seed : int
        For solvers that draw rows.
    listener : callable
        Told (problem, iteration, relative gap) after every iteration on divided rows.
    """

    solver: str = "auto"
    options: SolverOptions = field(default_factory=SolverOptions)
    tol: float = 1e-3
    max_iter: int = 1000
    max_time: float | None = None
    seed: int = 0
    listener: Callable[[int, int, float], None] | None = None


class DividedFit:
    """Solves every binary problem.

    Attributes
    ----------
    results : list of LinearSolution
        In the order of the problems; those that are done.
    solver : str
        Name of the solver that was taken.
    """

    def __init__(self, inputs: DividedInputs, settings: DividedSettings) -> None:
        self.inputs, self.settings = inputs, settings
        self.results: list[LinearSolution] = []
        self.records: list[tuple[float, ...]] = []
        self.solver = settings.solver
        self.w: Array = np.zeros((inputs.n_problems, inputs.size))

    def fit_problems(self) -> None:
        """Solve all problems."""
        self.solver, together = choose(self.settings.solver, self.inputs)
        if together:
            self._solve_together()
        else:
            self._solve_divided()

    def _solve_together(self) -> None:
        inputs, settings = self.inputs, self.settings
        poses = [inputs.pose(k) for k in range(inputs.n_problems)]
        starts = [inputs.first(k) for k in range(inputs.n_problems)]
        question = Gathered(
            poses,
            starts,
            self.solver,
            settings.options,
            settings.tol,
            settings.max_iter,
            settings.max_time,
            settings.seed,
        )
        answers = gather(inputs.engine, inputs.blocks, question)
        for k, answer in enumerate(answers):
            self.results.append(answer.solution)
            self.records += [(k, *row[1:]) for row in answer.records]
            self.w[k] = answer.solution.w
            self.solver = answer.solver

    def _solve_divided(self) -> None:
        started = time.perf_counter()
        for k in range(self.inputs.n_problems):
            monitor = self._monitor(k, started)
            try:
                result = self._solve_one(k, monitor)
            finally:
                self.records += monitor.records(k)
                if monitor.latest is not None:
                    self.w[k] = monitor.latest
            self.results.append(result)
            self.w[k] = result.w

    def _solve_one(self, k: int, monitor: LinearMonitor) -> LinearSolution:
        inputs, pose, w = self.inputs, self.inputs.pose(k), self.inputs.first(k)
        if self.solver == "dsvrg":
            stages = PartsOnEngine(inputs.engine, inputs.blocks, pose, STEPS_PER_ROW)
            return descend(stages, w, monitor, safe_step(stages.total))
        problem = DividedProblem(inputs.engine, inputs.blocks, pose, inputs.n_rows, inputs.size)
        return divided_newton.solve(problem, w, monitor)

    def _monitor(self, k: int, started: float) -> LinearMonitor:
        settings, deadline = self.settings, None
        if settings.max_time is not None:
            now = time.perf_counter()
            left = max(0.0, started + settings.max_time - now)
            deadline = now + left / (self.inputs.n_problems - k)
        told = settings.listener
        return self._new_monitor(
            k,
            tol=settings.tol,
            max_iter=settings.max_iter,
            deadline=deadline,
            seed=settings.seed,
            started=started,
            listener=None if told is None else (lambda i, gap: told(k, i, gap)),
        )

    def _new_monitor(self, k: int, **settings: Any) -> LinearMonitor:
        return LinearMonitor(**settings)

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model."""
        return bool(np.all(np.any(self.w, axis=1)))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes, those that tell how the fit went among them."""
        return {
            **fitted_attributes(self.w, self.inputs.constant, self.results, self.settings.tol),
            "history_": history_of(self.records),
            "n_iter_": max((r.iterations for r in self.results), default=0),
            "solver_": self.solver,
        }
