"""Signed duals, y times α, of a level or of a whole machine, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin.core.resources import thread_count
from widemargin.kernel.model.level_model import LevelModel

from .combinations import level_model


@dataclass(frozen=True)
class Duals:
    """The rows with a dual, and their duals with the sign of the label."""

    rows: np.ndarray
    signed: np.ndarray
    objective: float | None = None  # f of [DC] Eqn. (1), of all rows together

    @classmethod
    def of(cls, model: Any, *, valued: bool = True) -> Duals:
        """Return those of a fitted machine; ``valued`` computes the objective, a kernel pass."""
        level = level_model(model)
        kept = level.coef != 0
        objective = _objective(level) if valued else None
        return cls(np.asarray(level.basis_rows)[kept], np.asarray(level.coef)[kept], objective)

    def recall(self, final: np.ndarray) -> float:
        """Return the share of the final support vectors that are among these."""
        return float(np.isin(final, self.rows).mean())

    def precision(self, final: np.ndarray) -> float:
        """Return the share of these that are among the final support vectors."""
        return float(np.isin(self.rows, final).mean())


def _objective(level: LevelModel) -> float:
    whole = replace(level, part=None, router=None)
    margins = whole.decide(level.basis, thread_count(None))
    return objective_of(level.coef, margins)


def objective_of(signed: np.ndarray, decisions: np.ndarray) -> float:
    """Return f from signed duals and the decisions of their rows."""
    return float(0.5 * signed @ decisions - np.abs(signed).sum())
