"""Fit every binary problem by divide and conquer."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.progress import FitProgress
from ..engines import Engine
from ..kernel.divide.part_solver import PartSettings
from ..kernel.divide.strategies import Strategy
from ..kernel.model.level_models import LevelModel
from ..kernel.solvers.monitor import Monitor
from .divided import DividedProblem, fit_divided, level_attributes, warn_of_levels
from .exact_fit import FitInputs
from .routing import Routing, routing_attribute
from .validation import ValidationSet


class DividedFit:
    """Takes the binary problems one after another through the levels of a strategy.

    Attributes
    ----------
    coef : array of shape (n_problems, n_rows)
        Coefficients of the last complete level of each problem.
    """

    def __init__(
        self,
        inputs: FitInputs,
        monitor: Monitor,
        solver: str,
        strategy: Strategy,
        engine: Engine,
        *,
        max_time: float | None,
        pairwise: bool,
        validation: ValidationSet | None,
        checkpoint: Any,
        progress: FitProgress,
        verbose: int,
    ) -> None:
        self.inputs, self.monitor, self.strategy = inputs, monitor, strategy
        self.engine, self.validation, self.checkpoint = engine, validation, checkpoint
        self.progress, self.solver, self.pairwise = progress, solver, pairwise
        self.verbose = verbose
        self.deadline = None if max_time is None else time.time() + max_time
        shape = (len(inputs.tasks), len(inputs.weights))
        self.coef = np.zeros(shape)
        self.part = np.full(shape, -1, dtype=np.int32)
        self.results: list[DividedProblem] = []

    def fit_problems(self) -> None:
        """Solve the problems one after another; the parts of each keep the threads busy."""
        for k in range(len(self.inputs.tasks)):
            self._fit_problem(k)
            self.monitor.next_problem()

    def _fit_problem(self, k: int) -> None:
        """Take one problem through the levels."""
        samples, level = self.inputs.samples(k), [0]
        settings = PartSettings(
            total=float(samples.weight.sum()),
            tol=self.monitor.tol,
            max_iter=self.monitor.max_iter,
            solver=self.solver,
            seed=self.monitor.seed,
            memory=self.monitor.memory,
            threads=self.inputs.threads,
            root=False,
            deadline=self.deadline,
            listener=self.monitor.listener,
        )

        def announce(number: int, n_parts: int) -> None:
            level[0] = number
            self.progress.report_parts(number, 0, n_parts)
            if self.verbose:
                name = self.inputs.estimator
                print(f"[{name}] problem {k}: level {number}, {n_parts} parts")

        def keep(problem: DividedProblem) -> None:
            rows = self.inputs.rows_of(k)
            self.coef[k, rows] = problem.net_dual * self.inputs.tasks[k].label
            self.part[k, rows] = problem.part
            self.results.append(problem)

        fit_divided(
            samples,
            self.strategy,
            self.engine,
            settings,
            self.inputs.start(k),
            judge=None if self.validation is None else lambda p: self._score(k, p),
            store=None if self.checkpoint is None else self.checkpoint.for_problem(k),
            announce=announce,
            report=lambda done, of: self.progress.report_parts(level[0], done, of),
            keep=keep,
        )

    def _score(self, k: int, problem: DividedProblem) -> float:
        """Score a level's model of a binary problem on the validation rows."""
        assert self.validation is not None
        inputs, rows = self.inputs, self.inputs.rows_of(k)
        support = np.flatnonzero(problem.net_dual)
        chosen = rows[support]
        router = problem.router
        if router is not None:
            router = replace(router, basis_rows=rows[router.basis_rows])
        model = LevelModel(
            inputs.kernel,
            None,
            chosen,
            problem.net_dual[support] * inputs.tasks[k].label[support],
            problem.part[support],
            router,
        )
        return self.validation.score(model, inputs, k)

    @property
    def usable(self) -> bool:
        """Whether an interrupt leaves a model: some level is complete."""
        return bool(self.results)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that tell how the fit went."""
        done = self.results
        return {
            **level_attributes(done, len(self.inputs.tasks)),
            "strategy_": self.strategy.method().name,
            "support_part_": self.part if any(p.divided for p in done) else None,
            "routing_": self._routing(),
        }

    def _routing(self) -> list[Routing | None] | None:
        """Return the routers of all problems; None for those that ask all parts."""
        routing: list[Routing | None] = [None] * len(self.inputs.tasks)
        for k, problem in enumerate(self.results):
            if problem.router is not None:
                rows = self.inputs.rows_of(k)[problem.router.basis_rows]
                routing[k] = routing_attribute(
                    problem.router, rows, self.inputs.training, self.pairwise
                )
        return routing if any(each is not None for each in routing) else None

    def warn(self) -> None:
        """Say what time ended early, or did not converge."""
        warn_of_levels(self.results, self.monitor.tol, self.inputs.estimator)
