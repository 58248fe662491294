"""The parts of a kernel fit that do not depend on what is learnt, classes or targets."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.budget import Budget, seed_of
from ..core.fit import train, warn
from ..core.progress import FitProgress
from ..core.regression_set import RegressionSet
from ..core.training_set import TrainingSet
from ..engines import resolve as resolve_engine
from ..kernel.divide.checkpoints import Checkpoints, identity_of, shaping_settings
from ..kernel.divide.driver import LevelFit
from ..kernel.divide.levels import Level
from ..kernel.divide.placing import PlacedProblems
from ..kernel.divide.strategies import Strategy
from ..kernel.kernels import Kernel
from ..kernel.model.prediction import Routing, routing_of, routing_or_none
from ..kernel.partition import NearestGroup
from ..kernel.problems import KernelProblems
from .kernel_expansion import KernelExpansion
from .path import FitsPaths
from .resolved_kernel import resolved_kernel
from .validation import ValidationRows

AnySet = TrainingSet | RegressionSet


class KernelTraining(FitsPaths, KernelExpansion):
    """From checked rows to a solved kernel problem; what it sets is up to the estimator."""

    gamma: float | str
    coef0: float
    degree: int
    solver: str
    engine: Any
    checkpoint: str | PathLike[str] | None
    memory_limit: int | str
    verbose: int

    @abstractmethod
    def _labels_of(self, training: Any) -> NDArray[Any]:
        """Return what is learnt, a number per row."""

    @abstractmethod
    def _training_budget(self, budget: Budget) -> Budget:
        """Return the budget of the model itself."""

    @abstractmethod
    def _with_intercept(self, kernel: Kernel, rows: Any, training: Any) -> Kernel:
        """Add the constant of the intercept to a kernel, if there is to be one."""

    @abstractmethod
    def _set(self, training: Any, kernel: Kernel, coef: Array, attributes: dict[str, Any]) -> None:
        """Set the fitted attributes."""

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _warn_of_settings_for_levels(self) -> None:
        for setting, value in (("checkpoint", self.checkpoint), ("engine", self.engine)):
            if value not in (None, "local"):
                warn(
                    f"`{setting}` is for a training set that is divided; this one is solved as a "
                    "whole. Set `strategy` to 'sodm' or 'dc', for example."
                )

    def _fit_by_levels(
        self,
        training: AnySet,
        problems: KernelProblems,
        strategy: Strategy,
        validation: ValidationRows | None,
        budget: Budget,
        progress: FitProgress,
    ) -> None:
        """Take every binary problem through the levels and set the fitted attributes."""
        name, seed, budget = type(self).__name__, budget.seed, self._training_budget(budget)
        engine = resolve_engine(self.engine, budget.threads)
        folder = None
        if self.checkpoint is not None:
            # Everything that the levels depend on: data, settings, seed.
            arrays = [problems.rows, self._labels_of(training), problems.weights]
            arrays += [] if problems.previous is None else [problems.previous]
            arrays += [] if validation is None else [validation.X, validation.learnt]
            identity = identity_of(arrays, shaping_settings(self, strategy, seed))
            folder = Checkpoints(self.checkpoint, identity)
        placed = PlacedProblems(problems, strategy, engine)

        def judge(k: int, level: Level) -> float:
            assert validation is not None
            model = placed.model(k, level)
            return validation.score(model, k, training, problems, budget.threads)

        def announce(k: int, level: int, n_parts: int) -> None:
            progress.report_parts(level, 0, n_parts)
            if self.verbose:
                print(f"[{name}] problem {k}: level {level}, {n_parts} parts")

        def keep(fit: LevelFit) -> None:
            coef, part, routers = placed.gather(fit.reached)
            routing = [None if each is None else self._routing(each, training) for each in routers]
            parts = {"support_part_": part, "routing_": routing_or_none(routing)}
            self._set(training, problems.kernel, coef, fit.attributes() | parts)

        fit = LevelFit(
            name,
            len(problems),
            placed.pose,
            strategy,
            problems.loss.name,
            engine,
            self.solver,
            budget,
            judge=None if validation is None else judge,
            folder=folder,
            announce=announce,
            report=progress.report_parts,
            listener=progress.listener(name, self.verbose),
        )
        train(fit, fit.run, keep)

    def _routing(self, router: NearestGroup, training: AnySet) -> Routing:
        rows = router.basis_rows
        basis = None if self._pairwise else training.X[rows]
        return routing_of(router, training.given_numbers(rows), basis)

    def _kernel_and_rows(self, training: AnySet) -> tuple[Kernel, Any]:
        """Resolve the kernel; return it with the rows it sees."""
        kernel, rows = resolved_kernel(self, training.X, training.weights)
        return self._with_intercept(kernel, rows, training), rows
