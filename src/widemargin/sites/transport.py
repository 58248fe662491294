"""Transport of frames between sites: ZeroMQ with CURVE, and bounded queues everywhere.

A site receives through one ROUTER, from the keys on its allow-list, and sends through one DEALER
per neighbour, which must prove to own its public key. The sender of a frame is known by the key of
its connection, never by the contents. Any frame may be dropped silently, here or by libzmq:
messages acknowledge each other.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import zmq
from zmq.utils.monitor import parse_monitor_message

from .config import Neighbour
from .keys import DOMAIN, ENDPOINT, Gate, TokenBucket

__all__ = ["QUEUED", "Transport"]

# Length of each queue of frames to or from a neighbour, in libzmq and here. Older frames are
# dropped, since later ones contain them.
QUEUED = 4
# Seconds of the window in which the number of frames read is limited.
_WINDOW = 0.1
# Smallest limit of a frame, which handshakes need.
_LEAST_FRAME = 1024
# Seconds without a connection after which a new one is opened.
_RECONNECT_SECONDS = 5.0
_POLL_MILLISECONDS = 200
_HANDSHAKE_MILLISECONDS = 5000
_HEARTBEAT_MILLISECONDS = 2000


@dataclass
class _Inbox:
    frames: deque[bytes]
    bucket: TokenBucket
    dropped: int = 0


@dataclass
class _Sender:
    neighbour: Neighbour
    socket: zmq.Socket[bytes]
    since: float = field(default_factory=time.monotonic)  # time of the last frame
    reported: bool = False  # whether this was reported


class Transport:
    """Sender and receiver of frames.

    Parameters
    ----------
    frame_bytes : int
        Size of the largest frame; a connection that sends a larger one is closed.
    rate_limit : float
        Frames of a neighbour that are read per second; the others are dropped.
    max_memory : int
        Bytes by which the process may grow before all connections are closed and reopened.
    arrived : threading.Event
        Set when there are frames to :meth:`take`.
    listener : callable
        Called with events, also from another thread.
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
    ) -> None:
        self._arrived = arrived
        self.bytes_sent = self.bytes_received = 0
        self._keys = (public_key.encode(), secret_key.encode())
        self._listen, self._frame_bytes, self._rate = listen, frame_bytes, rate_limit
        self._most_memory = resident_bytes() + max_memory
        self._gate = Gate(listener)
        self._inboxes: dict[str, _Inbox] = {}
        self._lock = threading.Lock()
        self._senders: dict[str, _Sender] = {}
        self._listener = listener
        self._open(neighbours)

    def _open(self, neighbours: Sequence[Neighbour]) -> None:
        self._ended = threading.Event()
        self._context = zmq.Context()
        self._answering: zmq.Socket[bytes] = self._context.socket(zmq.REP)
        self._answering.bind(ENDPOINT)
        # Before anyone can connect: a refused neighbour does not retry for a while.
        self.set_neighbours(neighbours)
        try:
            self._receiving = self._router()
        except zmq.ZMQError as error:
            self._context.destroy(0)
            raise OSError(
                f"cannot listen at {self._listen}: {error}. Set `listen` to an address of this "
                "machine and a free port."
            ) from None
        self._watching = self._receiving.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
        )
        self._thread = threading.Thread(target=self._receive, name="transport", daemon=True)
        self._thread.start()

    @property
    def refused(self) -> int:
        """Number of handshakes of unknown keys."""
        return self._gate.refused

    def set_neighbours(self, neighbours: Sequence[Neighbour]) -> None:
        """Exchange frames with these neighbours only, from now on."""
        wanted = {each.public_key: each for each in neighbours}
        for key, sender in list(self._senders.items()):
            if key not in wanted or wanted[key].address != sender.neighbour.address:
                self._senders.pop(key).socket.close(0)
        for key in wanted.keys() - self._senders.keys():
            self._senders[key] = _Sender(wanted[key], self._dealer(wanted[key]))
        with self._lock:
            self._gate.admit(wanted)
            self._inboxes = {
                key: self._inboxes.get(key)
                or _Inbox(deque(maxlen=QUEUED), TokenBucket(self._rate, max(2.0, self._rate)))
                for key in wanted
            }

    def send(self, key: str, frame: bytes) -> bool:
        """Send a frame unless it would have to wait; return whether it was sent."""
        sender, now = self._senders[key], time.monotonic()
        try:
            sender.socket.send(frame, zmq.DONTWAIT)
        except zmq.Again:
            if now - sender.since > _RECONNECT_SECONDS:
                if not sender.reported:
                    self._listener("unreachable", neighbour=sender.neighbour.name)
                # libzmq never retries after a refusal, but the neighbour may accept now.
                sender.socket.close(0)
                self._senders[key] = _Sender(
                    sender.neighbour, self._dealer(sender.neighbour), now, reported=True
                )
            return False
        if sender.reported:
            self._listener("reachable", neighbour=sender.neighbour.name)
        sender.since, sender.reported = now, False
        self.bytes_sent += len(frame)
        return True

    def take(self) -> list[tuple[str, bytes]]:
        """Return the received frames, each with the key of its sender."""
        with self._lock:
            taken = [(key, frame) for key, box in self._inboxes.items() for frame in box.frames]
            for box in self._inboxes.values():
                box.frames.clear()
        return taken

    def dropped(self, key: str) -> int:
        """Return the number of a neighbour's frames beyond its rate limit."""
        box = self._inboxes.get(key)
        return 0 if box is None else box.dropped

    def check_memory(self) -> None:
        """Close and reopen all connections if the process has grown too much.

        All queues are bounded, but libzmq reads all parts of a message before it delivers the
        first. This stops a neighbour that sends parts without end.
        """
        if resident_bytes() <= self._most_memory:
            return
        self._listener("memory_exceeded", bytes=resident_bytes(), limit=self._most_memory)
        neighbours = [sender.neighbour for sender in self._senders.values()]
        self.close()
        self._open(neighbours)
        # Memory that is not returned to the system is not to be taken for another attack.
        self._most_memory = max(self._most_memory, resident_bytes() + self._frame_bytes)

    def close(self) -> None:
        """Close all connections and drop all queues."""
        self._ended.set()
        self._thread.join()
        for sender in self._senders.values():
            sender.socket.close(0)
        self._senders.clear()
        self._context.destroy(0)

    def _router(self) -> zmq.Socket[bytes]:
        router: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        router.curve_server = True
        router.curve_secretkey = self._keys[1]
        router.zap_domain = DOMAIN
        router.rcvhwm = QUEUED
        router.maxmsgsize = max(self._frame_bytes, _LEAST_FRAME)
        router.handshake_ivl = _HANDSHAKE_MILLISECONDS
        _keep_alive(router)
        try:
            router.bind(self._listen)
        except zmq.ZMQError:
            router.close(0)
            raise
        return router

    def _dealer(self, neighbour: Neighbour) -> zmq.Socket[bytes]:
        dealer: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        dealer.curve_serverkey = neighbour.public_key.encode()
        dealer.curve_publickey, dealer.curve_secretkey = self._keys
        dealer.sndhwm = QUEUED
        dealer.immediate = True  # no queue for a neighbour that is down
        dealer.rcvhwm, dealer.maxmsgsize = 1, _LEAST_FRAME  # nothing is read here
        dealer.reconnect_ivl, dealer.reconnect_ivl_max = 100, 2000
        dealer.handshake_ivl = _HANDSHAKE_MILLISECONDS
        dealer.linger = 0
        _keep_alive(dealer)
        dealer.connect(neighbour.address)
        return dealer

    def _receive(self) -> None:
        """Answer libzmq and receive frames until closed; runs in its own thread."""
        poller = zmq.Poller()
        for each in (self._answering, self._receiving, self._watching):
            poller.register(each, zmq.POLLIN)
        began, count = time.monotonic(), 0
        while not self._ended.is_set():
            now = time.monotonic()
            if now - began > _WINDOW:
                began, count = now, 0
            # Excess frames wait at their senders. libzmq alternates between connections, so a
            # neighbour that sends too much slows down only itself.
            crowded = count >= self._budget
            poller.modify(self._receiving, 0 if crowded else zmq.POLLIN)
            ready = dict(poller.poll(int(_WINDOW * 1000) if crowded else _POLL_MILLISECONDS))
            if self._answering in ready:
                self._answering.send_multipart(self._gate.answer(self._answering.recv_multipart()))
            if self._watching in ready:
                event = parse_monitor_message(self._watching.recv_multipart())
                self._gate.refuse(handshake="no or wrong keys", code=int(event["value"]))
            if self._receiving in ready:
                self._receive_one()
                count += 1
        self._receiving.disable_monitor()
        for each in (self._watching, self._receiving, self._answering):
            each.close(0)

    @property
    def _budget(self) -> float:
        return 10.0 + 2.0 * self._rate * len(self._inboxes) * _WINDOW

    def _receive_one(self) -> None:
        parts = self._receiving.recv_multipart(copy=False)
        key = str(parts[-1].get("User-Id"))
        with self._lock:
            box = self._inboxes.get(key)
            if box is None or len(parts) != 2:
                return  # no neighbour any more, or not one part
            if not box.bucket.take():
                box.dropped += 1
                return
            self.bytes_received += len(parts[1])
            box.frames.append(parts[1].bytes)
        self._arrived.set()


def _keep_alive(socket: zmq.Socket[bytes]) -> None:
    """Detect connections that are cut silently."""
    socket.heartbeat_ivl = _HEARTBEAT_MILLISECONDS
    socket.heartbeat_timeout = 3 * _HEARTBEAT_MILLISECONDS


def resident_bytes() -> int:
    """Return the resident memory of this process, 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
