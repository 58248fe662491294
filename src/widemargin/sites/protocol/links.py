"""The links of a site: epochs, numbers and limits. What comes is checked here before it is used.

Both ends of a link have an *epoch*, a number that grows. An end that begins anew, since its site
has lost its state or had dropped the neighbour for a time, takes a higher one. The other end sees
that, undoes all that the link ever carried (`abandon` of the native site) and begins anew, too.
Numbers of messages, acknowledgements and running sums hold within a pair of epochs only: a frame
that names another epoch of the receiver is not read.

So a message changes a site at most once, in order, whatever the network does to it; and the mass
that a site holds, plus all it has sent, minus all it has received, is always what it began with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import _native
from ...core.arrays import Array
from ..config import Neighbour
from .gate import TokenBucket
from .limits import Limits
from .wire import MOST_EPOCH, Frame, FrameError, Kind

__all__ = ["Link", "Links"]

Listener = Callable[..., None]


@dataclass
class Link:
    """One end of a link.

    Attributes
    ----------
    neighbour : Neighbour
        Who is at the other end.
    slot : int
        Its number in the native site.
    epoch, their_epoch : int
        Of this end, and of the other as far as known; 0 if not.
    degree : int
        Neighbours that the other site has, as it says; 0 if not known.
    sent, received, rejected : int
        Frames since the process began.
    reasons : dict
        Why frames were rejected, and how often.
    last_heard : float or None
        When a frame of it was last read, by the monotonic clock.
    news : TokenBucket
        Limits what is told of it.
    """

    neighbour: Neighbour
    slot: int
    epoch: int
    their_epoch: int = 0
    degree: int = 0
    sent: int = 0
    received: int = 0
    rejected: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    last_heard: float | None = None
    news: TokenBucket = field(default_factory=lambda: TokenBucket(0.1, 5.0), repr=False)


class Links:
    """All links of a site.

    Parameters
    ----------
    site : native site
        Whose links these are.
    agreement, dimension : int
        As frames carry them.
    limits : Limits
        What is believed.
    listener : callable
        Told of events.
    """

    def __init__(
        self,
        site: _native._GossipSite,
        *,
        agreement: int,
        dimension: int,
        limits: Limits,
        listener: Listener,
    ) -> None:
        self.site, self.limits = site, limits
        self._agreement, self._dimension, self._listener = agreement, dimension, listener
        self.by_key: dict[str, Link] = {}

    def add(self, neighbour: Neighbour, slot: int) -> Link:
        """Open a link that was closed, under a new epoch."""
        link = Link(neighbour, slot, _new_epoch(0))
        self.by_key[neighbour.public_key] = link
        self.site.open(slot)
        return link

    def drop(self, key: str) -> None:
        """Close a link for good; what it carried is undone."""
        self.site.abandon(self.by_key.pop(key).slot)

    @property
    def degree(self) -> int:
        """Number of neighbours."""
        return len(self.by_key)

    def receive(self, key: str, frame: Frame) -> bool:
        """Use a frame of a neighbour, if it is new and sound; tell whether it was read.

        Raises
        ------
        FrameError
            If it is not sound. The link is as it was.
        """
        link = self.by_key[key]
        if frame.sender_epoch < link.their_epoch:
            return False  # late, from before the neighbour began anew
        if frame.receiver_epoch > link.epoch:
            # It knows a later beginning of this end than we do: that state is lost, and the clock
            # was set back since.
            self._begin_anew(link, frame.receiver_epoch, "state_behind")
            return False
        if frame.sender_epoch > link.their_epoch:
            if link.their_epoch:
                self._undo(link)
                self._tell(link, "neighbour_began_anew")
            link.their_epoch = frame.sender_epoch
        link.degree = frame.degree
        link.last_heard = time.monotonic()
        if frame.kind is Kind.GREETING or frame.receiver_epoch != link.epoch:
            return False  # it does not know yet that this end began anew
        written, read = (int(x) for x in self.site.links()[link.slot, 3:5])
        if frame.acknowledged > written:
            # It has read what this state does not know of: an older copy of it was put back.
            self._begin_anew(link, link.epoch, "state_behind")
            return False
        if frame.number <= read:
            return False
        self.limits.check(self.site, link.slot, frame.numbers)
        self.site.read(link.slot, frame.numbers)
        link.received += 1
        return True

    def reject(self, key: str, error: FrameError) -> None:
        """Count a frame that cannot be used, and tell of the first of its kind."""
        link = self.by_key[key]
        link.rejected += 1
        link.reasons[error.reason] = count = link.reasons.get(error.reason, 0) + 1
        if count == 1:
            self._listener(
                "frame_rejected",
                neighbour=link.neighbour.name,
                reason=error.reason,
                detail=str(error),
            )

    def frames(self) -> dict[str, Frame]:
        """Give shares to all neighbours and return what to send them."""
        self.site.prepare(self._fractions())
        return {key: self._frame(link) for key, link in self.by_key.items()}

    def saved(self) -> list[dict[str, Any]]:
        """Return what has to be kept of the links beside the native state."""
        return [
            {
                "public_key": key,
                "name": link.neighbour.name,
                "slot": link.slot,
                "epoch": link.epoch,
                "their_epoch": link.their_epoch,
            }
            for key, link in self.by_key.items()
        ]

    def restored(self, saved: Sequence[dict[str, Any]], neighbours: Sequence[Neighbour]) -> None:
        """Take up links where they were left; drop those to neighbours no longer listed."""
        listed = {each.public_key: each for each in neighbours}
        for entry in saved:
            key = entry["public_key"]
            known = listed.get(key, Neighbour(entry["name"], "", key))
            self.by_key[key] = Link(known, entry["slot"], entry["epoch"], entry["their_epoch"])
        for key in self.by_key.keys() - listed.keys():
            self.drop(key)

    def _frame(self, link: Link) -> Frame:
        known = link.their_epoch != 0
        numbers: Array = self.site.write(link.slot) if known else np.empty(0)
        number, read = (int(numbers[-2]), int(numbers[-1])) if known else (0, 0)
        return Frame(
            Kind.EXCHANGE if known else Kind.GREETING,
            self._agreement,
            link.epoch,
            link.their_epoch,
            number,
            read,
            self.degree,
            self._dimension,
            numbers,
        )

    def _fractions(self) -> Array:
        """Return Metropolis weights, of links whose other end is known."""
        fractions = np.zeros(len(self.site.links()))
        for link in self.by_key.values():
            if link.their_epoch:
                # A neighbour that claims to have none has this site at least.
                most = max(self.degree, min(link.degree, 2**20), 1)
                fractions[link.slot] = 1.0 / (1.0 + most)
        return fractions

    def _undo(self, link: Link) -> None:
        self.site.abandon(link.slot)
        self.site.open(link.slot)

    def _begin_anew(self, link: Link, above: int, event: str) -> None:
        self._undo(link)
        link.epoch, link.their_epoch = _new_epoch(above), 0
        self._tell(link, event)

    def _tell(self, link: Link, event: str) -> None:
        """Tell of an event that a neighbour can bring about as often as it likes."""
        if link.news.take():
            self._listener(event, neighbour=link.neighbour.name)


def _new_epoch(above: int) -> int:
    """Return an epoch later than all before, as long as the clock was not set back."""
    return min(max(time.time_ns(), above + 1), MOST_EPOCH - 1)
