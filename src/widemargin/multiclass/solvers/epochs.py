"""Epochs over all rows in one memory: classes together, or bundle by bundle."""

from __future__ import annotations

import numpy as np

from ... import _native
from ...engines import Engine
from ..problem import BlockProblem
from .class_bundles import ClassBundles, Pass
from .tournament import dealt_classes

# A visit takes up this many new classes at most, or as many as can hold this mass of multipliers
# (of what one row needs) at their bounds: weights stay sparse on the way to a sparse solution.
FEWEST_NEW, NEW_MASS = 16, 2.0
# Parts of an epoch, after each of which the printed algorithm updates the mean of all classes.
PRINTED_PARTS = 10


class AllTogether:
    """One bundle of all classes: the default of ``ww``, ``cs`` and ``llw``.

    Multipliers of a row are bound to each other: Crammer and Singer's by a common bound, Lee, Lin
    and Wahba's by the sum of the weights, Weston and Watkins's by the row's own class. Solving for
    all of them in one visit needs fewer visits, and those cost less, than a tournament's: on 1,000
    classes 7 epochs against 34.
    """

    def bundles(self, problem: BlockProblem, engine: Engine, memory: int) -> ClassBundles:
        """Put all classes into one bundle."""
        return ClassBundles(
            problem, [np.arange(problem.objective.n_classes)], engine, memory=memory
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows in random order."""
        state.shuffle(what.seed)
        (everything,) = state.parts
        # All multipliers of a row of `llw` move together.
        fewest_new = 0 if state.formulation == "llw" else FEWEST_NEW
        return state.visit(everything, everything, what, fewest_new=fewest_new, new_mass=NEW_MASS)


class Independent:
    """Bundles that each have all rows, and do not interact: for ``ovr``."""

    formulation, parts = "ovr", 1

    def bundles(self, problem: BlockProblem, engine: Engine, memory: int) -> ClassBundles:
        """Deal the classes out."""
        class_rows = np.bincount(problem.codes, minlength=problem.objective.n_classes)
        return ClassBundles(
            problem,
            dealt_classes(class_rows),
            engine,
            formulation=self.formulation,
            all_rows=True,
            memory=memory,
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows for every bundle, in parts after each of which the mean is updated."""
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
    """Alber et al.'s algorithm for Lee, Lin and Wahba's formulation, kept for the record.

    The mean of all classes stays fixed for a tenth of an epoch, which makes classes independent of
    each other, and is updated then. The direction in which all multipliers of a row move together
    is too stiff by a factor of the number of classes, and the algorithm hardly converges.
    """

    formulation, parts = "llw_fixed_mean", PRINTED_PARTS

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Visit all rows; the gain includes what updates of the mean change."""
        before, _ = state.dual_objective()
        loss, _ = super().epoch(state, what)
        return loss, state.dual_objective()[0] - before
