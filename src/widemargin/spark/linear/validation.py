"""Validation rows on the cluster, which choose among the iterates of a solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...engines import Engine
from ...estimators.linear_prediction import decisions_of
from ...estimators.linear_validation import ValidatingMonitor
from ...linear.divided_fit import DIVIDED, DividedFit, DividedInputs, DividedSettings
from ...linear.divided_problem import DividedProblem
from ...linear.monitor import LinearMonitor
from ...linear.row_blocks import RowBlock
from ...linear.solution import LinearSolution


@dataclass(frozen=True)
class RightRows:
    """How many rows of a block a binary problem's weights get right."""

    coef: Array
    intercept: float
    positive: int

    def __call__(self, block: RowBlock) -> int:
        """Pass over the rows."""
        decision = decisions_of(block.X, self.coef[None, :], self.intercept)[:, 0]
        return int(((decision > 0) == (block.codes == self.positive)).sum())


@dataclass(frozen=True)
class DividedValidation:
    """Rows that are not trained on.

    Attributes
    ----------
    engine : Engine
        Where they are.
    parts : Parts
        The engine's parts, of :class:`.RowBlock`.
    n_rows : int
        Of all blocks.
    inputs : DividedInputs
        Of the fit.
    """

    engine: Engine
    parts: Any
    n_rows: int
    inputs: DividedInputs

    def score(self, w: Array, k: int) -> float:
        """Return the share of rows that a binary problem's weights get right."""
        n_features, constant = self.inputs.n_features, self.inputs.constant
        intercept = constant * float(w[n_features]) if constant else 0.0
        question = RightRows(w[:n_features], intercept, self.inputs.pose(k).positive)
        right: int = self.engine.reduce(self.parts, question, lambda a, b: a + b)
        return right / self.n_rows


class ValidatedFit(DividedFit):
    """Solves every binary problem, and keeps of each the iterate that validates best."""

    def __init__(
        self, inputs: DividedInputs, settings: DividedSettings, validation: DividedValidation
    ) -> None:
        if settings.solver not in ("auto", *DIVIDED):
            raise ValueError(
                f"`validationIndicatorCol` is for the solvers 'auto', 'newton' and 'dsvrg'; got "
                f"solver={settings.solver!r}."
            )
        # Rows brought together would have to bring the validation rows along.
        solver = "newton" if settings.solver == "auto" else settings.solver
        super().__init__(inputs, replace(settings, solver=solver))
        self.validation = validation
        self.scores: list[float] = []
        self.ended: list[LinearSolution] = []

    def _new_monitor(self, k: int, **settings: Any) -> LinearMonitor:
        return ValidatingMonitor(self.validation, k, **settings)  # type: ignore[arg-type]

    def _solve_one(self, k: int, monitor: LinearMonitor) -> LinearSolution:
        assert isinstance(monitor, ValidatingMonitor)
        result = super()._solve_one(k, monitor)
        self.scores += monitor.scores
        if monitor.best_w is not None:
            result = self._at(monitor.best_w, k, monitor, result)
        if monitor.ended:
            self.ended.append(result)
        return result

    def _at(
        self, w: Array, k: int, monitor: LinearMonitor, result: LinearSolution
    ) -> LinearSolution:
        """Return a solution at another iterate, certified by the best bound of them all."""
        inputs = self.inputs
        problem = DividedProblem(
            inputs.engine, inputs.blocks, inputs.pose(k), inputs.n_rows, inputs.size
        )
        certificate = problem.evaluate(w).certificate
        if monitor.best is not None:
            certificate = replace(certificate, dual=max(certificate.dual, monitor.best.dual))
        return replace(result, w=w, certificate=certificate)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes, scores among them."""
        found = super().attributes()
        found["history_"]["validation_score"] = np.array(self.scores)
        return found
