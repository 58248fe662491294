"""Weston and Watkins's formulation as a tournament of bundles of classes.

A step for a row of class y against class c touches the weights of these two classes only, so
matches between different pairs can be played at the same time, also in different processes
(:mod:`.dealt_bundles`); in one memory, taking all classes together is faster. Arranging all matches
in as few rounds as possible is the 1-factorisation of the complete graph: one player stays in the
middle, the others stand around it in a circle, and the line that joins the middle to the circle
turns by one place per round; all others meet across that line.

With thousands of classes, bundles of classes are the players: a match lets every class of one meet
every class of the other. Matches are long, because bringing two bundles together may cost more than
playing: a match visits the rows of both in several parts, and in each part the classes of a bundle
meet each other too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import _native
from ...engines import Engine
from ..problem import InMemoryProblem, NativeProblem
from .bundles import BundleLayout
from .class_bundles import ClassBundles, Pass

# Parts of a match: short ones mix the classes better than long ones. To a gap of 1e-2 with C = 1,
# letter takes 120 to 142 epochs with ten parts and 406 with one.
PARTS = 10
# Most new classes that a visit adds, so that weights stay sparse on the way to a sparse solution;
FEWEST_NEW = 4
# more are allowed if it takes them to hold, at their bounds, this multiple of a row's total.
NEW_MASS = 2.0

Match: TypeAlias = tuple[int, int]


def rounds(players: int) -> list[list[Match]]:
    """Arrange matches so that every two players meet exactly once.

    Returns rounds, in none of which a player plays twice. An even number of players needs
    ``players - 1`` rounds, an odd one ``players``, with one player sitting out in each.
    """
    if players < 2:
        return []
    circle = players - 1 if players % 2 == 0 else players
    schedule = []
    for turn in range(circle):
        middle = [(turn, players - 1)] if players % 2 == 0 else []
        across = [
            ((turn + step) % circle, (turn - step) % circle)
            for step in range(1, (circle - 1) // 2 + 1)
        ]
        schedule.append([(min(pair), max(pair)) for pair in middle + across])
    return schedule


def bundle_count(n_classes: int) -> int:
    """Return the number of bundles to make, which must not depend on the threads.

    Half as many matches as bundles are played at a time, so four keep two threads busy; wider
    bundles compute faster.
    """
    if n_classes < 256:
        return min(n_classes, 4)
    return 8 if n_classes < 2048 else 16


def bundles_of(class_rows: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Deal classes with so many rows each out into bundles of about as many rows.

    Bundles differ by one class at most; classes are dealt out from the largest to the smallest,
    there and back.
    """
    by_size = np.argsort(-class_rows, kind="stable")
    hands: list[list[int]] = [[] for _ in range(count)]
    for place, number in enumerate(by_size):
        turn, hand = divmod(place, count)
        hands[hand if turn % 2 == 0 else count - 1 - hand].append(int(number))
    return [np.array(hand, dtype=np.int64) for hand in hands]


def dealt_classes(class_rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Deal classes out into the usual number of bundles."""
    return bundles_of(class_rows, bundle_count(len(class_rows)))


@dataclass(frozen=True)
class Round:
    """What the matches of a round have in common."""

    seed: int  # decides the order of rows
    # Position of the round in its epoch, and rounds of the epoch.
    number: int
    of: int
    active_only: bool = False  # whether only multipliers that are not zero are visited
    dense: bool = True  # whether all weights have a place

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
                    continue  # a single class has no opponent in its own bundle
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


class Players(Protocol):
    """Bundles that can play the rounds of a schedule, in this memory or on an engine."""

    layout: BundleLayout
    schedule: list[list[Match]]

    def shuffle(self, seed: int) -> None:
        """Put the rows of every bundle into another order."""
        ...

    def play(
        self, position: int, played: Round, stopping: Callable[[], bool]
    ) -> list[tuple[float, float]]:
        """Play a round of the schedule; return the losses met and the gain of each match."""
        ...


class MatchedBundles(ClassBundles):
    """Bundles in this memory that play matches: all read the same rows, and none is copied."""

    def __init__(self, problem: InMemoryProblem, engine: Engine, memory: int) -> None:
        class_rows = np.bincount(problem.codes, minlength=problem.objective.n_classes)
        super().__init__(problem, dealt_classes(class_rows), engine, memory=memory)
        self.schedule = rounds(len(self.parts))

    def play(
        self, position: int, played: Round, stopping: Callable[[], bool]
    ) -> list[tuple[float, float]]:
        """Play a round of the schedule, its matches at the same time."""

        def play(match: Match) -> tuple[float, float]:
            home, away = (self.parts[k] for k in match)
            return played.play(self.native, home, away, stopping)

        results: list[tuple[float, float]] = self.engine.map(self.schedule[position], play)
        return results


class Tournament:
    """Epochs in which every bundle meets every other, and itself.

    Rows are not left out by what they gained last (``Pass.skip_below``): that of one match says
    little of the next, and it would have to travel.
    """

    printed: ClassVar[bool] = False

    def bundles(self, problem: InMemoryProblem, engine: Engine, memory: int) -> MatchedBundles:
        """Deal the classes out."""
        return MatchedBundles(problem, engine, memory)

    def epoch(self, state: Players, what: Pass) -> tuple[float, float]:
        """Play all rounds, in a new order."""
        state.shuffle(what.seed)
        order = np.random.default_rng(what.seed).permutation(len(state.schedule))
        loss = gain = 0.0
        for k, position in enumerate(order):
            this = Round(what.seed, k, len(order), what.active_only, state.layout.dense)
            for met, gained in state.play(int(position), this, what.stopping):
                loss, gain = loss + met, gain + gained
            if what.stopping():
                break
        return loss, gain
