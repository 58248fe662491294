"""Formulations whose rows take all classes together: Crammer and Singer; Lee, Lin and Wahba."""

from __future__ import annotations

import numpy as np

from ..engines import Engine
from .class_bundles import ClassBundles, Pass
from .problem import MulticlassProblem


class AllTogether:
    """One bundle of all classes: multipliers of a row are bound to each other.

    Crammer and Singer's by a common bound, Lee, Lin and Wahba's by the sum of the weights.
    """

    def bundles(self, problem: MulticlassProblem, engine: Engine, memory: int) -> ClassBundles:
        """Put all classes into one bundle."""
        return ClassBundles(
            problem,
            [np.arange(problem.n_classes)],
            engine,
            formulation=problem.formulation,
            all_rows=False,
            dense=8 * problem.size * problem.n_classes <= memory // 2,
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows in random order."""
        state.shuffle(what.seed)
        (everything,) = state.parts
        return state.visit(everything, everything, what)
