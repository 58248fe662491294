"""Fit every binary linear problem of a classification."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import LEAST_SHARE as LEAST_TIME
from ..core.fit import FEWEST_AT_ONCE as FEWEST_TOGETHER
from ..core.rows import Rows
from ..engines import LocalEngine
from ..engines.local import MOST_SHARERS
from ..linear.monitor import LinearMonitor, history_of
from ..linear.problem import LinearProblem, LossConstants
from ..linear.solution import LinearSolution, fitted_attributes
from ..linear.solvers import FROM_DUALS, SolverOptions, choose, solve
from ..linear.solvers.newton import DIRECT_SIZE
from ..linear.solvers.starts import best_multiple, implied_duals
from .linear_validation import LinearValidation, ValidatingMonitor
from .outcomes import warn_of_unconverged

# Bytes that a solver keeps of a row: label, piece, and up to three numbers.
BYTES_OF_ROW = 26


@dataclass(frozen=True)
class LinearInputs:
    """What a fit of all binary problems starts from.

    Attributes
    ----------
    estimator : str
        Name of the estimator, for messages.
    X : array or CSR matrix
        Training rows, float32 or float64.
    rows : Rows
        The native view of them, which all problems share.
    codes : array of shape (n_rows,)
        Position of each row's label in the classes.
    n_classes : int
        Number of classes.
    constants : LossConstants
        The loss, ``C`` included.
    weights : array of shape (n_rows,) or None
        Weights beside ``C``; None means 1.
    constant : float
        Value of the constant feature; 0 means no intercept.
    threads : int
        Threads.
    memory : int
        Bytes for what problems solved at the same time keep.
    start : array of shape (n_problems, size) or None
        Weights to start from.
    validation : LinearValidation or None
        Rows that choose among the iterates.
    on_disk : bool
        Whether the rows are read from disk.
    """

    estimator: str
    X: Any
    rows: Rows
    codes: NDArray[Any]
    n_classes: int
    constants: LossConstants
    weights: Array | None
    constant: float
    threads: int
    memory: int
    start: Array | None = None
    validation: LinearValidation | None = None
    on_disk: bool = False

    @property
    def n_problems(self) -> int:
        """Two classes are one problem, more are one each."""
        return 1 if self.n_classes == 2 else self.n_classes

    def problem(self, k: int, threads: int) -> LinearProblem:
        """Pose a binary problem: the second class of two, or class ``k``, against the rest."""
        positive = 1 if self.n_classes == 2 else k
        label = np.full(len(self.codes), -1, dtype=np.int8)
        label[self.codes == positive] = 1
        return LinearProblem(
            self.X,
            label,
            self.constants,
            self.weights,
            self.constant,
            threads,
            rows=self.rows,
        )

    @property
    def problem_bytes(self) -> int:
        """Memory that solving one problem takes beside the rows."""
        size = int(self.X.shape[1]) + 1
        matrices = 3 * 8 * size**2 if size <= DIRECT_SIZE else 8 * 8 * size
        return BYTES_OF_ROW * len(self.codes) + matrices

    @property
    def at_once(self) -> int:
        """Problems to solve at the same time: three or more, as far as memory allows."""
        if self.n_problems < FEWEST_TOGETHER:
            return 1
        affordable = max(1, self.memory // self.problem_bytes)
        return min(self.threads, self.n_problems, MOST_SHARERS, affordable)


@dataclass(frozen=True)
class LinearSettings:
    """How the problems are solved.

    Attributes
    ----------
    solver : str
        Name of the solver, or "auto".
    options : SolverOptions
        Settings of single solvers.
    tol, max_iter, max_time
        When to stop.
    seed : int
        For solvers that draw rows.
    listener : callable
        Told (iteration, relative gap) where one problem is solved at a time.
    counter : callable
        Told (problems done, problems) where there are several.
    """

    solver: str
    options: SolverOptions
    tol: float
    max_iter: int
    max_time: float | None
    seed: int
    listener: Callable[[int, float], None]
    counter: Callable[[int, int], None]


class LinearFit:
    """Solves every binary problem.

    Attributes
    ----------
    w : array of shape (n_problems, size)
        Weights; also those of a problem that an interrupt cut short.
    results : list of LinearSolution
        In the order of the problems; those that are done.
    keep_duals : bool
        Whether others will start from this fit.
    duals : dict
        Duals of the problems, if they are kept and the solver has any.
    neighbour : LinearFit or None
        The same problems solved for another ``C``, to start from.
    solver : str
        Name of the solver that was taken.
    """

    def __init__(self, inputs: LinearInputs, settings: LinearSettings) -> None:
        self.inputs, self.settings = inputs, settings
        size = inputs.X.shape[1] + (inputs.constant != 0)
        self.w = np.zeros((inputs.n_problems, size))
        self.results: list[LinearSolution] = []
        self.keep_duals = False
        self.duals: dict[int, Array] = {}
        self.neighbour: LinearFit | None = None
        self.solver = settings.solver
        self.monitors: dict[int, LinearMonitor] = {}

    def fit_problems(self) -> None:
        """Solve all problems."""
        n_problems, inputs = self.inputs.n_problems, self.inputs
        at_once = inputs.at_once
        engine = LocalEngine(at_once)
        started = time.perf_counter()
        waiting = iter(range(n_problems, 0, -1))

        def solve_one(k: int) -> LinearSolution:
            # Each gets its share of the time, so that none is left without a solution.
            share = min(1.0, at_once / next(waiting))
            monitor = self._monitor(k, started, share, engine if at_once > 1 else None)
            self.monitors[k] = monitor
            try:
                return self._fit_problem(k, monitor, inputs.threads // at_once)
            finally:
                if monitor.latest is not None and not self.w[k].any():
                    self.w[k] = monitor.latest

        self.results = engine.map(list(range(n_problems)), solve_one, self.settings.counter)

    def _monitor(
        self, k: int, started: float, share: float, engine: LocalEngine | None
    ) -> LinearMonitor:
        settings, deadline = self.settings, None
        if settings.max_time is not None:
            now = time.perf_counter()
            left = started + settings.max_time - now
            least = LEAST_TIME / self.inputs.n_problems * settings.max_time
            deadline = now + max(share * left, least)
        common: dict[str, Any] = {
            "tol": settings.tol,
            "max_iter": settings.max_iter,
            "deadline": deadline,
            "seed": settings.seed,
            "started": started,
            # Problems beside each other run in threads, which may not draw.
            "listener": settings.listener if engine is None else None,
            "stopping": None if engine is None else engine.stopping,
        }
        if self.inputs.validation is None:
            return LinearMonitor(**common)
        return ValidatingMonitor(self.inputs.validation, k, **common)

    def _fit_problem(self, k: int, monitor: LinearMonitor, threads: int) -> LinearSolution:
        problem = self.inputs.problem(k, threads)
        name = choose(self.settings.solver, problem, on_disk=self.inputs.on_disk)
        self.solver = name
        w, dual = self._start(k, problem, name in FROM_DUALS)
        result = solve(name, problem, w, monitor, dual, self.settings.options)
        if dual is not None and self.keep_duals:
            self.duals[k] = dual
        if isinstance(monitor, ValidatingMonitor) and monitor.best_w is not None:
            result = _with_weights(result, monitor.best_w, problem, monitor)
        self.w[k] = result.w
        return result

    def _start(
        self, k: int, problem: LinearProblem, from_duals: bool
    ) -> tuple[Array, Array | None]:
        """Return the weights to start from, with duals for solvers that go on from those."""
        start = self.inputs.start if self.neighbour is None else self.neighbour.w
        if start is None or not start[k].any():
            w = np.zeros(problem.size)
            return w, np.zeros(problem.n_rows) if from_duals else None
        w = start[k].copy()
        if not from_duals:
            return w, None
        if self.neighbour is None:
            known = implied_duals(problem, w)
            return w, best_multiple(problem, known, problem.weights_of(known))
        return w, best_multiple(problem, self.neighbour.duals[k], w)

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun, if not finished."""
        return bool(np.all(np.any(self.w, axis=1)))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes, those that tell how the fit went among them."""
        begun = [monitor.iterations for monitor in self.monitors.values()]
        iterations = [r.iterations for r in self.results] or begun
        return {
            **fitted_attributes(self.w, self.inputs.constant, self.results, self.settings.tol),
            "history_": self._history(),
            "n_iter_": max(iterations, default=0),
            "solver_": self.solver,
        }

    def _history(self) -> dict[str, Any]:
        records: list[tuple[float, ...]] = []
        scores: list[float] = []
        for k, monitor in sorted(self.monitors.items()):
            records += monitor.records(k)
            if isinstance(monitor, ValidatingMonitor):
                scores += monitor.scores
        history = history_of(records)
        if self.inputs.validation is not None:
            history["validation_score"] = np.array(scores)
        return history

    def warn(self) -> None:
        """Say what did not converge, unless validation rows ended it."""
        cut_short = [
            result
            for result, (_, monitor) in zip(
                self.results, sorted(self.monitors.items()), strict=True
            )
            if not (isinstance(monitor, ValidatingMonitor) and monitor.ended)
        ]
        warn_of_unconverged(cut_short, self.settings.tol, self.inputs.estimator, stacklevel=5)


def _with_weights(
    result: LinearSolution, w: Array, problem: LinearProblem, monitor: LinearMonitor
) -> LinearSolution:
    """Return a solution at another iterate, certified by the best bound of them all."""
    certificate = problem.evaluate(w).certificate
    if monitor.best is not None:
        certificate = replace(certificate, dual=max(certificate.dual, monitor.best.dual))
    return replace(result, w=w, certificate=certificate)
