r"""Weston and Watkins's formulation as Alber et al. (2017) print it: Algorithms 3 to 5.

Every class is a player. In a round, pairs of classes (c, c̃) meet at the same time; in a match the
rows of c are visited one after another, each for its multiplier of c̃ alone, and then the rows of c̃
for theirs of c. A visit sets one multiplier to its best value,

.. math:: \delta = \min\Bigl(C - \alpha_{ic}, \max\Bigl(-\alpha_{ic},
          \frac{1 - x_i^\top (w_{y_i} - w_c)}{2 x_i^\top x_i}\Bigr)\Bigr),

and moves the weights of both classes. Rows are put into another order before each epoch, in which
every two classes meet once, in the order of the rounds.

Corrections: Eqn. 11 has the sign of the fraction turned, which Algorithm 3 has right. Algorithm 5
needs values from 1 to C − 1 of its modulus, and modulus C where the number of classes is odd; then
there are C rounds, of which Algorithm 4 counts C − 1. Not as printed: ε, the slope below which
Algorithm 3 leaves a multiplier alone, is 0 (the paper has 0.1 on the LSHTC corpora); the end is a
duality gap within ``tol``; and the weights are returned times a factor near 1 if that lowers the
objective. The "speedup tricks" that the text mentions, leaving out multipliers that have not moved
in three epochs among them, are not in the listings.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...engines import Engine
from ..problem import InMemoryProblem
from .class_bundles import ClassBundles, Pass
from .tournament import Match, rounds


class SingleClasses(ClassBundles):
    """Bundles of one class each, and who meets whom in which round."""

    def __init__(self, problem: InMemoryProblem, engine: Engine, memory: int) -> None:
        n_classes = problem.objective.n_classes
        alone = [np.array([c], dtype=np.int64) for c in range(n_classes)]
        super().__init__(problem, alone, engine, memory=memory)
        self.schedule = rounds(n_classes)


class PrintedWestonWatkins:
    """Epochs in which every class meets every other, one multiplier at a time."""

    printed: ClassVar[bool] = True

    def bundles(self, problem: InMemoryProblem, engine: Engine, memory: int) -> SingleClasses:
        """Give every class its rows."""
        return SingleClasses(problem, engine, memory)

    def epoch(self, state: SingleClasses, what: Pass) -> tuple[float, float]:
        """Play all rounds in their order, the matches of each at the same time."""

        def play(match: Match) -> tuple[float, float]:
            home, away = (state.parts[c] for c in match)
            return state.visit(home, away, what, in_turn=True)

        state.shuffle(what.seed)
        loss = gain = 0.0
        for matches in state.schedule:
            for met, gained in state.engine.map(matches, play):
                loss, gain = loss + met, gain + gained
            if what.stopping():
                break
        return loss, gain
