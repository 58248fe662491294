"""Fit every binary problem as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.losses import Loss
from ..engines import LocalEngine
from ..kernel.divide.starts import best_multiple
from ..kernel.kernels import Kernel
from ..kernel.problem import KernelProblem
from ..kernel.samples import Samples
from ..kernel.solvers.binary import FittedProblem, fit_binary
from ..kernel.solvers.monitor import Monitor
from .multiclass import BinaryTask
from .outcomes import warn_of_outcomes
from .training_set import TrainingSet


@dataclass(frozen=True)
class FitInputs:
    """What a fit of all binary problems starts from.

    Attributes
    ----------
    estimator : str
        Name of the estimator, for messages.
    training : TrainingSet
        The checked data.
    tasks : list of BinaryTask
        The binary problems.
    kernel : Kernel
        The kernel, resolved.
    rows : array or CSR matrix
        Training rows as the kernel sees them.
    weights : array of shape (n_rows,)
        Weight of each row's loss.
    loss : Loss
        The loss.
    threads : int
        Threads.
    previous : array of shape (n_problems, n_rows) or None
        Coefficients to start from.
    """

    estimator: str
    training: TrainingSet
    tasks: list[BinaryTask]
    kernel: Kernel
    rows: Any
    weights: Array
    loss: Loss
    threads: int
    previous: Array | None

    def rows_of(self, k: int) -> NDArray[np.int64]:
        """Return the training rows that take part in a problem."""
        rows = self.tasks[k].rows
        return np.arange(len(self.weights)) if rows is None else rows

    def samples(self, k: int) -> Samples:
        """Return the training set of a problem."""
        task = self.tasks[k]
        label = np.zeros(len(self.weights))
        label[self.rows_of(k)] = task.label
        everything = Samples(self.rows, self.kernel, label, self.weights, self.loss)
        return everything.take(self.rows_of(k))

    def start(self, k: int) -> Array | None:
        """Return the net duals to start a problem from, if there are any."""
        if self.previous is None:
            return None
        return np.asarray(self.previous[k, self.rows_of(k)] * self.tasks[k].label)


# Several problems of up to the second number of rows are solved at the same time, each on one
# thread, which wastes less than one after another on all threads.
FEWEST_TOGETHER, LARGEST_TOGETHER = 3, 50_000
# Part of its share of the time that a problem gets even when others have overrun theirs.
LEAST_TIME = 0.2


class ExactFit:
    """Solves every binary problem as a whole.

    Attributes
    ----------
    coef : array of shape (n_problems, n_rows)
        Coefficients; also those of a problem that an interrupt cut short.
    neighbours : list of FittedProblem or None
        The same problems solved for another ``C``, to start from.
    """

    def __init__(self, inputs: FitInputs, monitor: Monitor, solver: str) -> None:
        self.inputs, self.monitor, self.solver = inputs, monitor, solver
        self.neighbours: list[FittedProblem] | None = None
        self.coef = np.zeros((len(inputs.tasks), len(inputs.weights)))
        self.results: list[FittedProblem] = []

    def fit_problems(self) -> None:
        """Solve all problems, several small ones at the same time."""
        n_problems, n_rows = len(self.inputs.tasks), len(self.inputs.weights)
        together = n_problems >= FEWEST_TOGETHER and n_rows <= LARGEST_TOGETHER
        engine = LocalEngine(self.inputs.threads if together else 1)
        of_engine = engine.share(n_problems if together else 1)
        threads = of_engine.threads if together else self.inputs.threads
        report = partial(self.monitor.count, "binary problems") if together else None
        monitors = [
            self.monitor.of_problem(k, of_engine.sharers, engine.stopping if together else None)
            for k in range(n_problems)
        ]
        waiting = iter(range(n_problems, 0, -1))

        def solve(k: int) -> FittedProblem:
            # Each gets its share of the time, so that none is left without a solution.
            share = min(1.0, engine.threads / next(waiting))
            monitors[k].limit_time(share, LEAST_TIME / n_problems)
            return self._fit_problem(k, monitors[k], threads)

        try:
            self.results = engine.map(list(range(n_problems)), solve, report)
        finally:
            for monitor in monitors:
                self.monitor.take_records(monitor)

    def _fit_problem(self, k: int, monitor: Monitor, threads: int) -> FittedProblem:
        inputs, rows, label = self.inputs, self.inputs.rows_of(k), self.inputs.tasks[k].label
        problem = inputs.samples(k).problem(1.0, threads)
        start, margin = self._start(k, problem)
        try:
            result = fit_binary(problem, start, self.solver, monitor, margin=margin)
        except KeyboardInterrupt:
            if monitor.latest is not None:
                self.coef[k, rows] = monitor.latest * label
            raise
        self.coef[k, rows] = result.net_dual * label
        return result

    def _start(self, k: int, problem: KernelProblem) -> tuple[Array, Array | None]:
        """Return the net duals to start from, with their margins where they are known."""
        if self.neighbours is not None:
            nearby = self.neighbours[k]
            return best_multiple(problem, nearby.net_dual, nearby.margin)
        start = self.inputs.start(k)
        if start is None:
            return np.zeros(problem.n_rows), None
        return problem.terms.nearest(start), None

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: every problem has been begun, if not finished."""
        return bool(np.all(np.any(self.coef, axis=1)))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that tell how the fit went."""
        complete = len(self.results) == len(self.inputs.tasks)
        history = self.monitor.history()
        begun = int(history["iteration"].max(initial=0))
        gaps = [r.certificate.gap for r in self.results]
        relative = [r.certificate.relative_gap for r in self.results]
        return {
            "dual_gap_": float(np.sum(gaps)) if complete else np.nan,
            "relative_gap_": float(np.max(relative)) if complete else np.nan,
            "history_": history,
            "n_iter_": max([r.iterations for r in self.results], default=begun),
            "converged_": complete and all(r.outcome.converged for r in self.results),
            "solver_": self.monitor.solver,
            "strategy_": "exact",
            "level_": 0,
            "support_part_": None,
            "routing_": None,
        }

    def warn(self) -> None:
        """Say what did not converge."""
        warn_of_outcomes(self.results, self.monitor.tol, self.inputs.estimator)
