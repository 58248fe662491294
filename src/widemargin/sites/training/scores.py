"""Scores on held-out rows of all sites, added up by Push-Sum.

Every site keeps a share of its rows for scoring and reports how many of them each candidate gets
right. Messages carry running sums of all shares that a link was ever given, as those of the native
core do: a message that is lost, late or repeated changes nothing in the end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...linear.model import decisions_of, split_weights

__all__ = ["Scores", "SiteHeldOut", "correct_rows", "held_out_rows"]

# Exchanges without a message after which a neighbour is given no share, as in the native core.
SILENCE = 6
# Rounds from one scoring to the next.
SCORE_EVERY = 5
# Rounds, at least, over which scores must not have changed to count as settled,
WINDOW = 40
# and the change of an accuracy that counts as none.
SETTLED = 2e-3
# The same once reports are fixed, so that all sites see the same figures.
EXACT = 1e-5
# Windows after which settled scores count even if a problem is far from its optimum.
LONG = 10
# Largest counter, as in the native core.
MOST_COUNTED = 2**30


def held_out_rows(n_rows: int, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which rows are held out: a share by a hash of the position and the seed."""
    # SplitMix64: the same on every machine, and rows that are appended change none of the others.
    x = np.arange(1, n_rows + 1, dtype=np.uint64) + np.uint64(seed % 2**32) * np.uint64(0x9E3779B9)
    with np.errstate(over="ignore"):
        x *= np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return np.asarray(x < np.uint64(int(share * 2.0**64)))


def correct_rows(X: Any, codes: NDArray[np.int32], models: Array, constant: float) -> int:
    """Return how many rows are classified correctly; one model decides between two classes."""
    decision = decisions_of(X, *split_weights(models, constant))
    found = decision[:, 0] > 0 if len(models) == 1 else decision.argmax(axis=1)
    return int((found == codes).sum())


@dataclass(frozen=True)
class SiteHeldOut:
    """The held-out rows of a site."""

    X: Any
    codes: NDArray[np.int32]  # positions of their classes
    constant: float  # value of the constant feature

    def correct(self, models: Array) -> int:
        """Return how many rows a candidate gets right."""
        return correct_rows(self.X, self.codes, models, self.constant)


class Scores:
    """Push-Sum of the counts of correct rows, one per candidate, and of held-out rows.

    Parameters
    ----------
    candidates : int
        Number of candidates.
    links : int
        Number of links.
    longest_path : int
        Upper bound on the number of links between two sites.
    """

    def __init__(self, candidates: int, links: int, longest_path: int) -> None:
        self.size = candidates + 1
        self._window, self._path = max(WINDOW, 4 * longest_path), longest_path
        self.held: Array = np.zeros(self.size)
        self.sent: Array = np.zeros((links, self.size))
        self.received: Array = np.zeros((links, self.size))
        self.heard: NDArray[np.int64] = np.zeros(links, dtype=np.int64)
        self.reported: Array = np.zeros(self.size)
        self.counter = 0  # all sites within so many links have settled
        self.settled_rounds = 0  # in a row
        self._seen: deque[list[float]] = deque(maxlen=self._window)

    @property
    def message_size(self) -> int:
        """Number of numbers in a message: the counter and the running sums."""
        return 1 + self.size

    @property
    def accuracies(self) -> Array | None:
        """Accuracy of every candidate on the held-out rows of all sites, as known here."""
        rows = self.held[-1]
        return self.held[:-1] / rows if rows > 1e-9 else None

    def report(self, correct: list[int], rows: int) -> None:
        """Replace this site's part of the sums."""
        now = np.array([*correct, rows], dtype=np.float64)
        self.held += now - self.reported
        self.reported = now

    def give(self, fraction: Array, silent: Array) -> None:
        """Put a fraction of what is held on its way through every link."""
        given = np.where(silent > SILENCE, 0.0, fraction)
        self.sent += np.outer(given, self.held)
        self.held *= 1.0 - given.sum()

    def write(self, link: int) -> Array:
        """Return what a neighbour is told."""
        return np.concatenate([[float(self.counter)], self.sent[link]])

    def read(self, link: int, message: Array) -> None:
        """Read what a neighbour told."""
        self.heard[link] = int(message[0])
        self.held += message[1:] - self.received[link]
        self.received[link] = message[1:]

    def open(self, link: int) -> None:
        """Begin a link."""
        self.heard[link] = 0

    def abandon(self, link: int) -> None:
        """Undo what a link carried."""
        self.held += self.sent[link] - self.received[link]
        self.sent[link] = self.received[link] = 0.0
        self.heard[link] = 0

    def note(self, ready: bool, is_open: NDArray[np.bool_]) -> None:
        """Record a round; ``ready`` if the problems are solved well enough to be compared."""
        known = self.accuracies
        if known is None:
            self._seen.clear()
        else:
            self._seen.append(known.tolist())
        self.settled_rounds = self.settled_rounds + 1 if self.settled else 0
        ready = ready or self.settled_rounds >= LONG * self._window
        lowest = int(self.heard[is_open].min(initial=MOST_COUNTED))
        self.counter = min(lowest + 1, MOST_COUNTED) if ready and self.settled else 0

    @property
    def settled(self) -> bool:
        """Whether scores have stopped changing, as seen here."""
        return len(self._seen) == self._window and self._range(self._window) <= SETTLED

    @property
    def decided(self) -> int | None:
        """Best candidate, the first of equals; None while other sites may see other figures."""
        rounds = min(self._window, max(10, self._path))
        if self.counter <= self._path or self._range(rounds) > EXACT:
            return None
        return int(np.round(np.array(self._seen[-1]), 5).argmax())

    def _range(self, rounds: int) -> float:
        seen = np.array(list(self._seen)[-rounds:])
        return float(np.ptp(seen, axis=0).max())

    def saved(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        arrays = "held", "sent", "received", "heard", "reported"
        return {
            **{name: getattr(self, name).tolist() for name in arrays},
            "counter": self.counter,
            "settled_rounds": self.settled_rounds,
            "seen": list(self._seen),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue from a state, which may have fewer links; ValueError if it does not fit."""
        links = len(saved["sent"])
        held, reported = np.array(saved["held"]), np.array(saved["reported"])
        if links > len(self.sent) or held.shape != (self.size,) or reported.shape != held.shape:
            raise ValueError("the state of the scores is of another site or version.")
        self.held, self.reported = held, reported
        if links:
            self.sent[:links] = saved["sent"]
            self.received[:links] = saved["received"]
            self.heard[:links] = saved["heard"]
        self.counter = int(saved["counter"])
        self.settled_rounds = int(saved["settled_rounds"])
        self._seen = deque(saved["seen"], maxlen=self._window)
