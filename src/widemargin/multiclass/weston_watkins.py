"""Weston and Watkins's formulation as a tournament of bundles of classes.

Weights of two bundles are all that a match needs, so matches can be played far from each other; in
one memory, :mod:`.all_together` is faster.
"""

from __future__ import annotations

import numpy as np

from .. import _native
from ..engines import Engine
from .class_bundles import ClassBundles, Pass
from .problem import MulticlassProblem
from .tournament import bundle_count, bundles_of, rounds

# An epoch is a number of tournaments, each with a share of the rows: many short matches mix the
# classes better than few long ones. A match shall still take longer than starting it: products of
# row entries with weights that it makes at least.
TOURNAMENTS = 10
PRODUCTS_OF_MATCH = 100_000
# A visit takes up this many new classes at most, or as many as can hold this mass of multipliers
# (of what one row needs) at their bounds: weights stay sparse on the way to a sparse solution.
FEWEST_NEW, NEW_MASS = 4, 2.0

Match = tuple[_native.ClassBundle, ...]


class Tournament:
    """Every bundle meets every other, and itself, in each epoch."""

    def bundles(self, problem: MulticlassProblem, engine: Engine, memory: int) -> ClassBundles:
        """Deal the classes out."""
        class_rows = np.bincount(problem.codes, minlength=problem.n_classes)
        count = bundle_count(problem.n_classes)
        self._schedule = [[(k, k) for k in range(count)], *rounds(count)]
        products = problem.stored * problem.n_classes / (count * (count + 1) / 2)  # of a match
        self._tournaments = int(np.clip(products / PRODUCTS_OF_MATCH, 1, TOURNAMENTS))
        return ClassBundles(
            problem,
            bundles_of(class_rows, count),
            engine,
            formulation="ww",
            all_rows=False,
            memory=memory,
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Let every bundle meet every other, and itself, in a new order of rounds."""
        state.shuffle(what.seed)
        loss = gain = 0.0
        order = np.random.default_rng(what.seed)
        for part in range(self._tournaments):

            def play(match: Match, part: int = part) -> tuple[float, float]:
                return state.visit(
                    match[0],
                    match[-1],
                    what,
                    part=part,
                    parts=self._tournaments,
                    fewest_new=FEWEST_NEW,
                    new_mass=NEW_MASS,
                )

            for number in order.permutation(len(self._schedule)):
                matches = [
                    (state.parts[a],) if a == b else (state.parts[a], state.parts[b])
                    for a, b in self._schedule[number]
                ]
                for met, gained in state.engine.map(matches, play):
                    loss, gain = loss + met, gain + gained
                if what.stopping():
                    return loss, gain
        return loss, gain
