"""Formulations whose classes are solved on their own: one against the rest, and a printed one.

Alber et al.'s algorithm for Lee, Lin and Wahba's formulation keeps the mean of all classes fixed
for a tenth of an epoch, which makes classes independent of each other; then the mean is brought up
to date. It is here for the record (``solver="printed"``): the direction in which all multipliers of
a row move together is as many times too stiff as there are classes, and it hardly converges.
"""

from __future__ import annotations

import numpy as np

from ... import _native
from ...engines import Engine
from ..problem import MulticlassProblem
from .class_bundles import ClassBundles, Pass
from .tournament import bundle_count, bundles_of

PARTS_OF_EPOCH = 10


class Independent:
    """Bundles that each have all rows, and never meet."""

    formulation, parts = "ovr", 1

    def bundles(self, problem: MulticlassProblem, engine: Engine, memory: int) -> ClassBundles:
        """Deal the classes out."""
        class_rows = np.bincount(problem.codes, minlength=problem.n_classes)
        return ClassBundles(
            problem,
            bundles_of(class_rows, bundle_count(problem.n_classes)),
            engine,
            formulation=self.formulation,
            all_rows=True,
            memory=memory,
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows for every bundle, in parts after each of which the mean is renewed."""
        state.shuffle(what.seed)
        loss = gain = 0.0
        for part in range(self.parts):

            def visit(bundle: _native.ClassBundle, part: int = part) -> tuple[float, float]:
                return state.visit(bundle, bundle, what, part=part, parts=self.parts)

            for met, gained in state.engine.map(state.parts, visit):
                loss, gain = loss + met, gain + gained
            state.centre()
            if what.stopping():
                break
        return loss, gain


class PrintedLeeLinWahba(Independent):
    """The printed algorithm."""

    formulation, parts = "llw_fixed_mean", PARTS_OF_EPOCH

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows; the mean is renewed after every part of them."""
        before, _ = state.dual_objective()
        loss, _ = super().epoch(state, what)
        return loss, state.dual_objective()[0] - before
