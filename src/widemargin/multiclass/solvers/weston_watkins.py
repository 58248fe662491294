"""Weston and Watkins's formulation as a tournament of bundles of classes.

Weights of two bundles are all that a match needs, so matches can be played far from each other
(:mod:`.far_tournament`); in one memory, :mod:`.all_together` is faster.

A match is long, as bringing two bundles together may cost more than to play: it goes through the
rows of both in several parts, and in each the classes of a bundle meet each other too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _native
from ...engines import Engine
from ..problem import MulticlassProblem, NativeProblem
from .class_bundles import ClassBundles, Pass
from .tournament import Match, bundle_count, bundles_of, rounds

# Parts of a match: short ones mix the classes better than long ones. To a gap of 1e-2 with C = 1,
# letter takes 120 to 142 epochs with ten parts and 406 with one.
PARTS = 10
# A visit takes up this many new classes at most, or as many as can hold this mass of multipliers
# (of what one row needs) at their bounds: weights stay sparse on the way to a sparse solution.
FEWEST_NEW, NEW_MASS = 4, 2.0


@dataclass(frozen=True)
class Turn:
    """What the matches of a round have in common.

    Attributes
    ----------
    seed : int
        For the order of rows.
    number, of : int
        Of the round, and how many an epoch has.
    active_only : bool
        Whether only multipliers that are not zero are visited.
    dense : bool
        Whether all weights have a place.
    """

    seed: int
    number: int
    of: int
    active_only: bool = False
    dense: bool = True

    def play(
        self,
        native: NativeProblem,
        home: _native.ClassBundle,
        away: _native.ClassBundle,
        stopping: Callable[[], bool] | None = None,
    ) -> tuple[float, float]:
        """Let two bundles meet, and a share of the rows of each meet its own bundle.

        Returns the losses met and the gain.
        """
        # What is sparse stays sparse; where all weights have a place, it would save nothing.
        limits: dict[str, Any] = (
            {} if self.dense else {"fewest_new": FEWEST_NEW, "new_mass": NEW_MASS}
        )
        loss = gain = 0.0
        for part in range(PARTS):
            own_part, own_parts = self.number * PARTS + part, self.of * PARTS
            for one, other in ((home, home), (away, away), (home, away)):
                if one is other and one.width == 1:
                    continue  # nobody to meet
                met, gained = native.visit(
                    "ww",
                    one,
                    other,
                    seed=self.seed,
                    part=own_part if one is other else part,
                    parts=own_parts if one is other else PARTS,
                    active_only=self.active_only,
                    skip_below=-math.inf,  # a gain may be negative by rounding
                    stopping=stopping,
                    **limits,
                )
                loss, gain = loss + met, gain + gained
        return loss, gain


def dealt(class_rows: Any) -> list[Any]:
    """Deal classes with so many rows each out into bundles."""
    return bundles_of(class_rows, bundle_count(len(class_rows)))


def turns(schedule: list[list[Match]], what: Pass, dense: bool) -> list[tuple[int, Turn]]:
    """Return the rounds of an epoch in a new order: their numbers in the schedule, and turns."""
    order = np.random.default_rng(what.seed).permutation(len(schedule))
    return [
        (int(number), Turn(what.seed, k, len(order), what.active_only, dense))
        for k, number in enumerate(order)
    ]


class Tournament:
    """Every bundle meets every other, and itself, in each epoch.

    Rows are not left out by what they gained last (``Pass.skip_below``): that of one match says
    little of the next, and it would have to travel.
    """

    def bundles(self, problem: MulticlassProblem, engine: Engine, memory: int) -> ClassBundles:
        """Deal the classes out."""
        bundles = dealt(np.bincount(problem.codes, minlength=problem.n_classes))
        self._schedule = rounds(len(bundles))
        return ClassBundles(
            problem, bundles, engine, formulation="ww", all_rows=False, memory=memory
        )

    def epoch(self, state: ClassBundles, what: Pass) -> tuple[float, float]:
        """Play all rounds, in a new order."""
        state.shuffle(what.seed)
        loss = gain = 0.0
        for number, turn in turns(self._schedule, what, state.dense):

            def play(match: Match, turn: Turn = turn) -> tuple[float, float]:
                home, away = (state.parts[k] for k in match)
                return turn.play(state.native, home, away, what.stopping)

            for met, gained in state.engine.map(self._schedule[number], play):
                loss, gain = loss + met, gain + gained
            if what.stopping():
                break
        return loss, gain
