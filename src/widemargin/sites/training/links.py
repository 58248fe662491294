"""The links of a site: epochs, numbers and limits. Messages are checked here before they are used.

Both ends of a link have an *epoch*, a number that grows. An end that restarts, because its site has
lost its state or had dropped the neighbour for a time, takes a higher one. The other end then
undoes all that the link ever carried (`abandon` of the native site) and restarts as well. Numbers
of messages, acknowledgements and running sums are valid within a pair of epochs only: a frame that
names another epoch of the receiver is not read.

So a message changes a site at most once, in order, whatever the network does to it, and the mass
that a site holds, plus all it has sent, minus all it has received, never changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..config import Neighbour
from ..network.keys import TokenBucket
from ..network.wire import MOST_EPOCH, Frame, FrameError, Kind, MessageLimits
from .column_travel import Journeys, Way
from .columns import AnySite, ColumnLimits, SiteColumns, bodies_of

__all__ = ["Link", "Links"]

Listener = Callable[..., None]

# Reasons that name a neighbour to the operator: its numbers are not those of a sound site.
OUT_OF_LIMITS = ("magnitude", "travel")


@dataclass
class Link:
    """One end of a link."""

    neighbour: Neighbour
    slot: int  # number in the native site
    epoch: int
    their_epoch: int = 0  # 0 if not known, like the next
    degree: int = 0  # number of the neighbour's neighbours, as it claims
    study_version: int | None = None  # of the study that the neighbour has, as it claims
    received: int = 0  # frames since the process started, like the next
    rejected: int = 0
    out_of_limits: int = 0  # of those rejected, frames that no sound neighbour sends
    reasons: dict[str, int] = field(default_factory=dict)
    last_heard: float | None = None  # by the monotonic clock
    journeys: Journeys | None = None  # of the neighbour's vectors, where methods limit it
    last_answered: float | None = None  # the same, of a message that shows that it hears this end
    # Limits the events that are reported for the link.
    news: TokenBucket = field(default_factory=lambda: TokenBucket(0.1, 5.0), repr=False)


class Links:
    """All links of a site; frames must have its agreement and dimension, and keep its limits."""

    def __init__(
        self,
        site: AnySite,
        *,
        agreement: int,
        dimension: int,
        limits: MessageLimits | ColumnLimits,
        listener: Listener,
        ways: Sequence[Way] = (),
    ) -> None:
        self.site, self.limits = site, limits
        self._ways = ways
        # By key: a neighbour that begins anew goes on with what is left to it.
        self._journeys: dict[str, Journeys] = {}
        self._agreement, self._dimension, self._listener = agreement, dimension, listener
        self.behind = False  # whether a neighbour knew of messages that this state does not
        self.study_version = 0  # of the study that this site has
        self.by_key: dict[str, Link] = {}

    def add(self, neighbour: Neighbour, slot: int) -> Link:
        """Open a link that was closed, under a new epoch."""
        link = Link(
            neighbour, slot, _new_epoch(0), journeys=self._journeys_of(neighbour.public_key)
        )
        self.by_key[neighbour.public_key] = link
        self.site.open(slot)
        return link

    def drop(self, key: str) -> None:
        """Close a link and undo what it carried."""
        self.site.abandon(self.by_key.pop(key).slot)

    @property
    def degree(self) -> int:
        """Number of neighbours."""
        return len(self.by_key)

    def receive(self, key: str, frame: Frame) -> bool:
        """Use a frame of a neighbour if it is new and valid; return whether it was read.

        FrameError if it is not valid; the link is then unchanged.
        """
        link = self.by_key[key]
        if frame.sender_epoch < link.their_epoch:
            return False  # late: sent before the neighbour restarted
        if frame.receiver_epoch > link.epoch:
            # The neighbour knows a later epoch of this end: that state was lost, and the clock was
            # set back since.
            self._restart(link, frame.receiver_epoch, "state_behind")
            return False
        if frame.sender_epoch > link.their_epoch:
            if link.their_epoch:
                self._undo(link)
                self._report(link, "neighbour_began_anew")
            link.their_epoch = frame.sender_epoch
        link.degree = frame.degree
        link.last_heard = time.monotonic()
        if frame.receiver_epoch == link.epoch:
            link.last_answered = link.last_heard
        if frame.kind is Kind.GREETING or frame.receiver_epoch != link.epoch:
            return False  # the neighbour does not know yet that this end restarted
        written, read = (int(x) for x in self.site.links()[link.slot, 3:5])
        if frame.acknowledged > written:
            # The neighbour has read more than this state has sent: the state is an older copy.
            self._restart(link, link.epoch, "state_behind")
            return False
        if frame.number <= read:
            return False
        self._check(link.slot, frame.numbers)
        if link.journeys is not None:
            link.journeys.go(bodies_of(self.site, frame.numbers))
        self.site.read(link.slot, frame.numbers)
        link.received += 1
        return True

    def reject(self, key: str, error: FrameError) -> None:
        """Count a frame that cannot be used, and report the first of its kind."""
        link = self.by_key[key]
        link.rejected += 1
        link.reasons[error.reason] = count = link.reasons.get(error.reason, 0) + 1
        if error.reason in OUT_OF_LIMITS:
            link.out_of_limits += 1
            # What was read before would pull for ever. Following it again is a movement, too.
            self.site.disregard(link.slot)
            if link.journeys is not None:
                link.journeys.begin_again()
            if link.news.take():
                self._listener(
                    "neighbour_out_of_limits", neighbour=link.neighbour.name, detail=str(error)
                )
        if count == 1:
            self._listener(
                "frame_rejected",
                neighbour=link.neighbour.name,
                reason=error.reason,
                detail=str(error),
            )

    def frames(self) -> dict[str, Frame]:
        """Return the frames to send, with a share of the mass for each neighbour."""
        self.site.prepare(self._fractions())
        return {key: self._frame(link) for key, link in self.by_key.items()}

    def saved(self) -> list[dict[str, Any]]:
        """Return the state of the links that is not part of the native state."""
        return [
            {
                "public_key": key,
                "name": link.neighbour.name,
                "slot": link.slot,
                "epoch": link.epoch,
                "their_epoch": link.their_epoch,
                "journeys": None if link.journeys is None else link.journeys.saved(),
            }
            for key, link in self.by_key.items()
        ]

    def forgive(self) -> None:
        """Give every neighbour a new allowance of movement."""
        self._journeys.clear()
        for key, link in self.by_key.items():
            link.journeys = self._journeys_of(key)

    def restored(self, saved: Sequence[dict[str, Any]], neighbours: Sequence[Neighbour]) -> None:
        """Restore saved links; drop those to neighbours that are no longer listed."""
        listed = {each.public_key: each for each in neighbours}
        for entry in saved:
            key = entry["public_key"]
            known = listed.get(key, Neighbour(entry["name"], "", key))
            self.by_key[key] = Link(
                known,
                entry["slot"],
                entry["epoch"],
                entry["their_epoch"],
                journeys=self._journeys_of(key),
            )
            journeys, kept = self.by_key[key].journeys, entry.get("journeys")
            if journeys is not None and kept is not None:
                journeys.resume(kept)
        for key in self.by_key.keys() - listed.keys():
            self.drop(key)

    def begin_anew(self) -> None:
        """Restart all links, because the problems have changed."""
        for link in self.by_key.values():
            self._restart(link, link.epoch, "problems_changed")

    def _check(self, slot: int, numbers: Array) -> None:
        """Raise FrameError if a message exceeds the limits."""
        if isinstance(self.limits, ColumnLimits):
            assert isinstance(self.site, SiteColumns)
            self.limits.check(self.site, slot, numbers)
        else:
            assert not isinstance(self.site, SiteColumns)
            self.limits.check(self.site, slot, numbers)

    def _journeys_of(self, key: str) -> Journeys | None:
        if not self._ways:
            return None
        return self._journeys.setdefault(key, Journeys(self._ways))

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
            self.study_version,
        )

    def _fractions(self) -> Array:
        """Return Metropolis weights of the links whose other end is known."""
        fractions = np.zeros(len(self.site.links()))
        for link in self.by_key.values():
            if link.their_epoch:
                # A neighbour has this site at least, whatever it claims.
                most = max(self.degree, min(link.degree, 2**20), 1)
                fractions[link.slot] = 1.0 / (1.0 + most)
        return fractions

    def _undo(self, link: Link) -> None:
        self.site.abandon(link.slot)
        self.site.open(link.slot)

    def _restart(self, link: Link, above: int, event: str) -> None:
        self._undo(link)
        link.epoch, link.their_epoch = _new_epoch(above), 0
        self.behind |= event == "state_behind"
        self._report(link, event)

    def _report(self, link: Link, event: str) -> None:
        """Report an event that a neighbour can cause as often as it likes."""
        if link.news.take():
            self._listener(event, neighbour=link.neighbour.name)


def _new_epoch(above: int) -> int:
    """Return an epoch later than all before, unless the clock was set back."""
    return min(max(time.time_ns(), above + 1), MOST_EPOCH - 1)
