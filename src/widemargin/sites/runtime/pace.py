"""When the next round of a site is due: soon while there is something to learn, else seldom."""

from __future__ import annotations

import time

from ..protocol.wire import Frame
from .participant import Participant

__all__ = ["Pace"]

# Seconds that a round waits for neighbours that have talked lately.
LONGEST_WAIT = 0.25
# Exchanges without a word after which a neighbour is not waited for; the native core's silence.
SILENCE = 6
# Rounds after which a content site among content neighbours rests, though others may be away.
RESTING = 50


class Pace:
    """Decides when to go on.

    Parameters
    ----------
    participant : Participant
        Whose rounds these are.

    Attributes
    ----------
    fresh : set of str
        Keys of neighbours that were heard since the last round.
    stirred : bool
        Whether something was heard since then that a resting site must not sleep over.
    """

    def __init__(self, participant: Participant) -> None:
        self._of = participant
        self.fresh: set[str] = set()
        self.stirred = True
        self._epochs: dict[str, int] = {}  # of neighbours whose greetings were heard
        self._content_rounds = 0
        self._last = time.monotonic()

    @property
    def patience(self) -> int:
        """Count at which every site is known to be content."""
        return self._of.config.longest_path + 1

    @property
    def agreed(self) -> bool:
        """Whether every site was content, and so is this one still."""
        return self._of.site.counter >= self.patience

    @property
    def resting(self) -> bool:
        """Whether there is nothing to do but to be there."""
        if self.agreed:
            return True
        if self._content_rounds < RESTING:
            return False
        heard = self._of.site.links()[:, 1]
        return all(heard[self._of.links.by_key[key].slot] >= 1 for key in self._awaited)

    def hear(self, key: str, frame: Frame, was_read: bool) -> None:
        """Note what came of a neighbour."""
        if was_read:
            self.fresh.add(key)
            # A site that rests though not all agree is among content ones, and stays so.
            self.stirred |= bool(frame.numbers[-3] < (self.patience if self.agreed else 1))
        elif self._epochs.get(key) != frame.sender_epoch:
            self._epochs[key] = frame.sender_epoch
            self.stirred = True

    def begin_round(self) -> None:
        """Note that a round begins."""
        self._last = time.monotonic()
        self.fresh.clear()
        self.stirred = False

    def end_round(self) -> None:
        """Note that a round is over."""
        self._content_rounds = self._content_rounds + 1 if self._of.site.content else 0

    def wake(self) -> None:
        """Do not rest before it is known again that all are content."""
        self.stirred, self._content_rounds = True, 0

    def until_next(self) -> float:
        """Return the seconds until the next round is due."""
        config = self._of.config
        since = time.monotonic() - self._last
        if since < config.round_interval:
            return config.round_interval - since
        if self.resting:
            return 0.0 if self.stirred else config.heartbeat - since
        awaited = self._awaited
        if awaited <= self.fresh and (awaited or self.stirred):
            return 0.0
        return max(config.round_interval, LONGEST_WAIT) - since

    @property
    def _awaited(self) -> set[str]:
        """Neighbours that have talked lately."""
        links = self._of.site.links()
        return {
            key
            for key, link in self._of.links.by_key.items()
            if link.their_epoch and links[link.slot, 2] <= SILENCE
        }
