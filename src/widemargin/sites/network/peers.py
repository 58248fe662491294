"""Neighbours as the transport sees them: queues, counts, and how they are reached."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..settings import Neighbour
from .keys import TokenBucket

__all__ = ["QUEUED", "Peer", "Peers"]

# Length of each queue of frames to or from a neighbour, in libzmq and here. Older frames are
# dropped, since later ones contain them.
QUEUED = 4


@dataclass(eq=False)
class Peer:
    """One neighbour."""

    neighbour: Neighbour
    bucket: TokenBucket  # limits the frames that are read of it
    inbox: deque[bytes] = field(default_factory=lambda: deque(maxlen=QUEUED))
    outbox: deque[bytes] = field(default_factory=lambda: deque(maxlen=QUEUED))
    dropped: int = 0  # frames beyond the limit
    sent: int = 0
    since: float = field(default_factory=time.monotonic)  # time of the last frame sent
    reached: bool = False  # whether the last frame could be sent
    reported: bool = False  # whether it was reported to be out of reach


class Peers:
    """All neighbours, by key; frames are left and taken here by several threads."""

    def __init__(self, rate: float) -> None:
        self._rate, self._lock = rate, threading.Lock()
        self.by_key: dict[str, Peer] = {}

    def set(self, neighbours: Iterable[Neighbour]) -> set[str]:
        """Change to these neighbours, and return the keys of those that are gone."""
        wanted = {each.public_key: each for each in neighbours}
        with self._lock:
            before = self.by_key
            self.by_key = {
                key: before.get(key)
                or Peer(neighbour, TokenBucket(self._rate, max(2.0, self._rate)))
                for key, neighbour in wanted.items()
            }
            for key, peer in self.by_key.items():
                peer.neighbour = wanted[key]
        return before.keys() - wanted.keys()

    def leave(self, key: str, frame: bytes) -> bool:
        """Leave a frame to be sent; return whether the neighbour was reached with the last one."""
        with self._lock:
            peer = self.by_key.get(key)
            if peer is None:
                return False
            peer.outbox.append(frame)
            return peer.reached

    def next_to_send(self, peer: Peer) -> bytes | None:
        """Return the next frame for a neighbour, or None."""
        with self._lock:
            return peer.outbox.popleft() if peer.outbox else None

    def deliver(self, key: str, frame: bytes) -> bool:
        """Put a received frame where it is taken, unless it is one too many or from nobody."""
        with self._lock:
            peer = self.by_key.get(key)
            if peer is None:
                return False
            if not peer.bucket.take():
                peer.dropped += 1
                return False
            peer.inbox.append(frame)
        return True

    def take(self) -> list[tuple[str, bytes]]:
        """Return the received frames, each with the key of its sender."""
        with self._lock:
            taken = [(key, frame) for key, peer in self.by_key.items() for frame in peer.inbox]
            for peer in self.by_key.values():
                peer.inbox.clear()
        return taken
