"""When the next round of a site is due: often during training, rarely after agreement."""

from __future__ import annotations

import time

from ..protocol.wire import Frame
from .participant import Participant

__all__ = ["Pace"]

# Seconds that a round waits for neighbours that have sent lately.
LONGEST_WAIT = 0.25
# Exchanges without a message after which a neighbour is not waited for, as in the native core.
SILENCE = 6
# Rounds after which a content site with content neighbours rests, even if others are away.
RESTING = 50


class Pace:
    """Schedule of the rounds.

    Parameters
    ----------
    participant : Participant
        The site.

    Attributes
    ----------
    fresh : set of str
        Keys of neighbours that have sent since the last round.
    woken : bool
        Whether a message since then must end the rest of a resting site.
    """

    def __init__(self, participant: Participant) -> None:
        self._of = participant
        self.fresh: set[str] = set()
        self.woken = True
        self._epochs: dict[str, int] = {}  # of neighbours whose greetings were heard
        self._content_rounds = 0
        self._last = time.monotonic()

    @property
    def patience(self) -> int:
        """Counter from which every site is known to be content."""
        return self._of.config.longest_path + 1

    @property
    def agreed(self) -> bool:
        """Whether every site was content and this one still is."""
        return self._of.site.counter >= self.patience

    @property
    def resting(self) -> bool:
        """Whether nothing is left to do but to answer."""
        if self.agreed:
            return True
        if self._content_rounds < RESTING:
            return False
        heard = self._of.site.links()[:, 1]
        return all(heard[self._of.links.by_key[key].slot] >= 1 for key in self._awaited)

    def hear(self, key: str, frame: Frame, was_read: bool) -> None:
        """Record a message of a neighbour."""
        if was_read:
            self.fresh.add(key)
            # A site that rests before all agree has content neighbours, and rests while they are.
            self.woken |= bool(frame.numbers[-3] < (self.patience if self.agreed else 1))
        elif self._epochs.get(key) != frame.sender_epoch:
            self._epochs[key] = frame.sender_epoch
            self.woken = True

    def begin_round(self) -> None:
        """Record the beginning of a round."""
        self._last = time.monotonic()
        self.fresh.clear()
        self.woken = False

    def end_round(self) -> None:
        """Record the end of a round."""
        self._content_rounds = self._content_rounds + 1 if self._of.site.content else 0

    def wake(self) -> None:
        """Do not rest until all sites are known to be content again."""
        self.woken, self._content_rounds = True, 0

    def until_next(self) -> float:
        """Return the seconds until the next round is due."""
        config = self._of.config
        since = time.monotonic() - self._last
        if since < config.round_interval:
            return config.round_interval - since
        if self.resting:
            return 0.0 if self.woken else config.heartbeat - since
        awaited = self._awaited
        if awaited <= self.fresh and (awaited or self.woken):
            return 0.0
        return max(config.round_interval, LONGEST_WAIT) - since

    @property
    def _awaited(self) -> set[str]:
        """Neighbours that have sent lately."""
        links = self._of.site.links()
        return {
            key
            for key, link in self._of.links.by_key.items()
            if link.their_epoch and links[link.slot, 2] <= SILENCE
        }
