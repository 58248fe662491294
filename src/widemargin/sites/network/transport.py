"""Transport of frames between sites: ZeroMQ with CURVE, and bounded queues everywhere.

Frames go both ways over every connection, so that a link works if one end can dial the other: at
its `Door`, or through a relay where neither can. Both ends prove to own their keys: the one that
dials to the allow-list of the other, and the other to the one that dials. The sender of a frame is
known by the key of its connection, never by the contents. Any frame may be dropped silently, here
or by libzmq: messages acknowledge each other.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ..config import Neighbour
from ..site_folder import socket_folder
from .addresses import RELAY
from .descriptors import connections_allowed
from .door import Door
from .keys import Gate
from .peers import QUEUED, Peers
from .relay_link import RelayLinks
from .sockets import Sockets
from .streams import LoopThread

__all__ = ["QUEUED", "Transport"]


class Transport:
    """Sender and receiver of frames.

    Parameters
    ----------
    listen : str
        Address of the site; empty if nobody can dial it.
    frame_bytes : int
        Size of the largest frame; a connection that sends a larger one is closed.
    rate_limit : float
        Frames of a neighbour that are read per second; the others are dropped.
    max_memory : int
        Bytes by which the process may grow before all connections are closed and reopened.
    arrived : threading.Event
        Set when there are frames to :meth:`take`.
    listener : callable
        Called with events, also from other threads.
    folder : Path, optional
        Folder of the site, for sockets and the token for relays.

    Raises
    ------
    OSError
        If it cannot listen there, or the process may have too few file descriptors.
    """

    def __init__(
        self,
        listen: str,
        *,
        public_key: str,
        secret_key: str,
        frame_bytes: int,
        rate_limit: float,
        max_memory: int,
        neighbours: Sequence[Neighbour],
        arrived: threading.Event,
        listener: Callable[..., None],
        folder: Path | None = None,
    ) -> None:
        self._arrived, self._listener = arrived, listener
        self._keys = (public_key.encode(), secret_key.encode())
        self._frame_bytes, self._rate = frame_bytes, rate_limit
        self._most_memory = resident_bytes() + max_memory
        self._bytes_before = (0, 0)  # through sockets that are closed
        self._peers, self._gate = Peers(rate_limit), Gate(listener)
        most = connections_allowed(len(neighbours))
        self._place = socket_folder(folder)
        self._loop = LoopThread("door")
        try:
            self._door = Door(
                listen,
                self._inside,
                self._loop,
                most=most,
                refuse=self._gate.refuse,
                listener=listener,
            )
            self._relays = RelayLinks(
                self._loop, self._door, self._place, public_key, folder, listener
            )
        except BaseException:
            self._loop.close()
            shutil.rmtree(self._place, ignore_errors=True)
            raise
        self._gate.judge = self._door.judge
        # Before anyone can connect: a refused neighbour does not retry for a while.
        self.set_neighbours(neighbours)
        self._sockets = self._opened()

    @property
    def bytes_sent(self) -> int:
        """Number of bytes of frames sent."""
        return self._bytes_before[0] + self._sockets.bytes_sent

    @property
    def bytes_received(self) -> int:
        """Number of bytes of frames received."""
        return self._bytes_before[1] + self._sockets.bytes_received

    @property
    def refused(self) -> int:
        """Number of handshakes of unknown keys."""
        return self._gate.refused

    @property
    def connections(self) -> int:
        """Number of connections from outside."""
        return self._door.connections

    @property
    def turned_away(self) -> int:
        """Number of connections closed for lack of room, or of a handshake in time."""
        return self._door.turned_away

    def set_neighbours(self, neighbours: Sequence[Neighbour]) -> None:
        """Exchange frames with these neighbours only, from now on."""
        gone = self._peers.set(neighbours)
        self._gate.admit(self._peers.by_key)
        self._relays.set_neighbours(neighbours)
        with suppress(OSError):  # no more than before
            self._door.allow(connections_allowed(len(neighbours)))
        if gone:
            self._door.drop(gone)

    def send(self, key: str, frame: bytes) -> bool:
        """Leave a frame to be sent at once; return whether the last one to this neighbour was.

        A frame that would have to wait is dropped.
        """
        reached = self._peers.leave(key, frame)
        self._sockets.wake()
        return reached

    def take(self) -> list[tuple[str, bytes]]:
        """Return the received frames, each with the key of its sender."""
        return self._peers.take()

    def dropped(self, key: str) -> int:
        """Return the number of a neighbour's frames beyond its rate limit."""
        peer = self._peers.by_key.get(key)
        return 0 if peer is None else peer.dropped

    def sent(self, key: str) -> int:
        """Return the number of frames sent to a neighbour."""
        peer = self._peers.by_key.get(key)
        return 0 if peer is None else peer.sent

    def reaches(self, key: str) -> bool:
        """Return whether the last frame to a neighbour could be sent."""
        peer = self._peers.by_key.get(key)
        return peer is not None and peer.reached

    def check_memory(self) -> None:
        """Close and reopen all connections if the process has grown too much.

        All queues are bounded, but libzmq reads all parts of a message before it delivers the
        first. This stops a neighbour that sends parts without end.
        """
        if resident_bytes() <= self._most_memory:
            return
        self._listener("memory_exceeded", bytes=resident_bytes(), limit=self._most_memory)
        self._bytes_before = self.bytes_sent, self.bytes_received
        self._sockets.close()
        self._door.drop()
        self._sockets = self._opened()
        # Memory that is not returned to the system is not to be taken for another attack.
        self._most_memory = max(self._most_memory, resident_bytes() + self._frame_bytes)

    def close(self) -> None:
        """Close all connections and drop all queues."""
        self._relays.close()
        self._door.close()
        self._sockets.close()
        self._loop.close()
        shutil.rmtree(self._place, ignore_errors=True)

    @property
    def _inside(self) -> str:
        return str(self._place / "libzmq")

    def _opened(self) -> Sockets:
        return Sockets(
            self._keys,
            self._inside,
            peers=self._peers,
            gate=self._gate,
            frame_bytes=self._frame_bytes,
            rate=self._rate,
            endpoint=self._endpoint,
            received=self._arrived.set,
            listener=self._listener,
        )

    def _endpoint(self, key: str) -> str:
        """Return where libzmq dials a neighbour; empty if the neighbour dials."""
        peer = self._peers.by_key.get(key)
        address = "" if peer is None else peer.neighbour.address
        return self._relays.endpoint(key) if address.startswith(f"{RELAY}:") else address


def resident_bytes() -> int:
    """Return the resident memory of this process, 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
