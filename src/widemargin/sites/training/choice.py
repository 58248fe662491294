"""Choice of C without pooling: all values at once, scored on held-out rows of every site.

A site first trains one model per class and value of C on the rows that it does not hold out, all in
one exchange. Rows that are held out stay in the problems with a weight of next to nothing, so that
the state of the chosen problems fits the same problems on all rows. When every site's scores have
settled, each site picks the best value, drops the other problems and continues from the state of
those it keeps; links, numbers and masses go on. A neighbour learns of the choice from the first
message of the new size and makes the same one.

Scores are equal at all sites when they choose, but for rounding. Should two sites choose
differently all the same, the smaller value wins wherever both are known: a site that had chosen the
larger one starts over with the smaller. So all sites end with the same value, whatever gets lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...gossip.methods import NativeSite
from ..network.wire import SHARES, Frame, FrameError, Kind, MessageLimits
from .columns import TRAILER, ColumnLimits, SiteColumns, packed, unpacked
from .links import Links
from .scores import MOST_COUNTED, SCORE_EVERY, Scores, SiteHeldOut

__all__ = ["HELD_OUT_WEIGHT", "Candidates", "Choice", "ChoiceLimits", "followed"]

# Weight of a held-out row while values are compared. It must be positive.
HELD_OUT_WEIGHT = 1e-12
# Largest estimated gap of a problem whose score counts, even if it has settled.
LOOSE = 0.25


@dataclass(frozen=True)
class Candidates:
    """What is compared at one site."""

    values: tuple[float, ...]  # ascending
    n_problems: int  # of one value
    make: Callable[[int, bool], Sequence[NativeSite]]  # of a value, without or with held-out rows
    held_out: SiteHeldOut
    longest_path: int


class Choice(SiteColumns):
    """Problems of all values of C, and of the chosen one alone from then on.

    Parameters
    ----------
    candidates : Candidates
        What is compared.
    links : int
        Number of links.
    """

    def __init__(self, candidates: Candidates, links: int) -> None:
        every = range(len(candidates.values))
        super().__init__([part for value in every for part in candidates.make(value, False)])
        self._of = candidates
        self.chosen: int | None = None
        self.scores = Scores(len(candidates.values), links, candidates.longest_path)
        self.table: list[float] | None = None  # accuracies, once chosen
        self._rounds = 0

    @property
    def values(self) -> tuple[float, ...]:
        """The values that are compared."""
        return self._of.values

    @property
    def active(self) -> range:
        """Positions of ``parts`` among all problems."""
        if self.chosen is None:
            return range(len(self.parts))
        begin = self.chosen * self._of.n_problems
        return range(begin, begin + self._of.n_problems)

    @property
    def accuracies(self) -> list[float] | None:
        """Accuracies on held-out rows, those of the choice once it was made."""
        known = self.scores.accuracies
        if self.chosen is not None or known is None:
            return self.table
        return [float(each) for each in known]

    @property
    def best(self) -> int:
        """Position of the chosen value, or of the best so far."""
        if self.chosen is not None:
            return self.chosen
        known = self.scores.accuracies
        return 0 if known is None else int(known.argmax())

    def models(self) -> Array:
        """Return the weights for the best value, one row per problem."""
        begin = 0 if self.chosen is not None else self.best * self._of.n_problems
        return np.array([p.model() for p in self.parts[begin : begin + self._of.n_problems]])

    def model(self) -> Array:
        """Return the weights of all problems, one after the other."""
        return np.concatenate([part.model() for part in self.parts])

    def combine(self) -> None:
        """Use the messages that were read; choose if all sites are ready."""
        super().combine()
        if self.chosen is not None:
            return
        ready = all(part.content or part.estimate <= LOOSE for part in self.parts)
        if self.scores.counter == 0 and self._rounds % SCORE_EVERY == 0:
            self._score()
        self._rounds += 1
        self.scores.note(ready, self.parts[0].links()[:, 0] > 0)
        if (best := self.scores.decided) is not None:
            self.choose(best)

    def _score(self) -> None:
        n, held_out = self._of.n_problems, self._of.held_out
        models = np.array([part.model() for part in self.parts])
        right = [held_out.correct(models[k : k + n]) for k in range(0, len(models), n)]
        self.scores.report(right, len(held_out.codes))

    def choose(self, value: int) -> None:
        """Keep the problems of one value, and continue with them on all rows."""
        n = self._of.n_problems
        states = [part.save() for part in self.parts[value * n : (value + 1) * n]]
        self._start(value)
        for part, state in zip(self.parts, states, strict=True):
            part.restore(state)

    def choose_anew(self, value: int) -> None:
        """Change to a smaller value, from the beginning; all links must be begun anew."""
        self._start(value)

    def _start(self, value: int) -> None:
        known = self.scores.accuracies
        if self.table is None and known is not None:
            self.table = known.tolist()
        self.chosen = value
        self.parts = list(self._of.make(value, True))

    def prepare(self, fraction: Array) -> None:
        """Share out the masses and the scores before messages are written."""
        super().prepare(fraction)
        if self.chosen is None:
            self.scores.give(fraction, self.parts[0].links()[:, 2])

    def write(self, link: int) -> Array:
        """Return the message to a neighbour."""
        plain = super().write(link)
        if self.chosen is None:
            more = np.concatenate([self.scores.write(link), [0.0]])
        else:
            more = np.array([1.0 + self.chosen])
        return np.concatenate([plain[:-TRAILER], more, plain[-TRAILER:]])

    def read(self, link: int, message: Array) -> None:
        """Read the message of a neighbour, in the layout of this site."""
        super().read(link, message)
        if self.chosen is None:
            self.scores.read(link, self.scores_in(message))

    def scores_in(self, message: Array) -> Array:
        """Return the part of a message before a choice that is about scores."""
        return message[-TRAILER - 1 - self.scores.message_size : -TRAILER - 1]

    def choice_in(self, message: Array) -> int | None:
        """Return the choice of whoever sent a message, None if it has made none yet."""
        mark, size = float(message[-TRAILER - 1]), len(message)
        chosen = size == self._size(chosen=True)
        if mark != np.floor(mark) or not (chosen <= mark <= len(self.values) * chosen):
            raise FrameError("number", "the mark of the chosen value of C is not one.")
        return int(mark) - 1 if chosen else None

    def fitted(self, message: Array) -> Array:
        """Return a message without the problems that this site has dropped."""
        if self.chosen is None or len(message) == self.message_size:
            return message
        kept = message[self.active.start * self.unit : self.active.stop * self.unit]
        return np.concatenate([kept, [1.0 + self.chosen], message[-TRAILER:]])

    def open(self, link: int) -> None:
        """Open a link in every problem."""
        super().open(link)
        self.scores.open(link)

    def abandon(self, link: int) -> None:
        """Close a link and undo what it carried."""
        super().abandon(link)
        self.scores.abandon(link)

    @property
    def content(self) -> bool:
        """Whether the chosen problems are within the tolerance."""
        return self.chosen is not None and super().content

    @property
    def counter(self) -> int:
        """The smallest counter; 0 before the choice."""
        return 0 if self.chosen is None else super().counter

    @property
    def message_size(self) -> int:
        """Number of numbers in a message."""
        return self._size(chosen=self.chosen is not None)

    @property
    def message_sizes(self) -> frozenset[int]:
        """Sizes of messages that neighbours may send, before and after the choice."""
        return frozenset({self._size(chosen=False), self._size(chosen=True)})

    def _size(self, *, chosen: bool) -> int:
        n = self._of.n_problems
        if chosen:
            return n * self.unit + 1 + TRAILER
        return n * len(self.values) * self.unit + self.scores.message_size + 1 + TRAILER

    def save(self) -> bytes:
        """Return the state."""
        header = {
            "chosen": self.chosen,
            "table": self.table,
            "rounds": self._rounds,
            "scores": self.scores.saved() if self.chosen is None else None,
        }
        return packed([json.dumps(header).encode(), super().save()])

    def restore(self, state: bytes) -> None:
        """Continue from a state; ValueError if it is of another site."""
        saved = unpacked(state)
        if len(saved) != 2:
            raise ValueError("the state is of another site or version.")
        header: dict[str, Any] = json.loads(saved[0])
        chosen = header["chosen"]
        if chosen is None:
            self.scores.restore(header["scores"])
        else:
            if chosen not in range(len(self.values)):
                raise ValueError("the state has chosen a value of C that there is not.")
            self._start(chosen)
        self.table, self._rounds = header["table"], int(header["rounds"])
        super().restore(saved[1])


class ChoiceLimits(ColumnLimits):
    """Limits of messages with all problems, or with those of the chosen value.

    ``total_rows`` is the number of rows of all sites.
    """

    def __init__(self, limits: Sequence[MessageLimits], total_rows: float) -> None:
        super().__init__(limits)
        self.total_rows = total_rows

    def check(self, site: SiteColumns, slot: int, numbers: Array) -> None:
        """Raise FrameError if a message exceeds the limits."""
        super().check(site, slot, numbers)
        assert isinstance(site, Choice)
        if site.chosen is not None:
            return
        told = site.scores_in(numbers)
        if told[0] != np.floor(told[0]) or not 0 <= told[0] <= MOST_COUNTED:
            raise FrameError("number", "the counter of scores must be whole, from 0 to 2**30.")
        new = np.abs(told[1:] - site.scores.received[slot])
        if not new.max() <= SHARES * self.total_rows:
            raise FrameError("magnitude", "scores must not exceed the rows of the whole network.")


def followed(site: Choice, links: Links, frame: Frame) -> tuple[Frame, bool]:
    """Follow the choice of a neighbour that a frame reports.

    Returns the frame in the layout of this site and whether it changed the choice here.
    """
    if frame.kind is Kind.GREETING:
        return frame, False
    theirs, mine = site.choice_in(frame.numbers), site.chosen
    if theirs is None or theirs == mine:
        return replace(frame, numbers=site.fitted(frame.numbers)), False
    if mine is None:
        site.choose(theirs)
        return frame, True
    if theirs < mine:
        site.choose_anew(theirs)
        links.begin_anew()
        return frame, True
    # The sender has yet to learn of the smaller value; what its message says of the link counts.
    return replace(frame, kind=Kind.GREETING, number=0, numbers=np.empty(0)), False
