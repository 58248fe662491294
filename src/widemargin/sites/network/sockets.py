"""The sockets of libzmq, and the thread that owns them.

One ROUTER takes what comes through the `Door`; one DEALER dials each neighbour that has an address.
A frame goes through the DEALER where that is connected, and else back over the connection that the
neighbour itself has made. No fault of a peer, and no lack of descriptors, ends the thread.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import zmq

from .addresses import parse_address
from .door import HANDSHAKE_SECONDS
from .keys import DOMAIN, ENDPOINT, Gate
from .peers import QUEUED, Peer, Peers

__all__ = ["Sockets"]

Socket = zmq.Socket[bytes]

# Seconds of the window in which the number of frames read is limited.
_WINDOW = 0.1
# Smallest limit of a frame, which handshakes need.
_LEAST_FRAME = 1024
# Seconds without success after which a neighbour is dialled anew, and the same for one that has
# dialled itself.
RECONNECT_SECONDS = 5.0
_SPARE_SECONDS = 30.0
_POLL_MILLISECONDS = 200
_HEARTBEAT_MILLISECONDS = 2000


@dataclass(eq=False)
class _Way:
    """How a neighbour is reached."""

    peer: Peer
    where: str = ""  # where it is dialled; empty if it dials itself
    dealer: Socket | None = None
    since: float = 0.0  # time of the last attempt or success of the DEALER
    failed: bool = False  # whether it has failed since
    attempts: int = 0
    route: bytes | None = None  # routing id of its own connection


@dataclass
class _Window:
    """Time in which the number of frames read is limited."""

    began: float = 0.0
    count: int = 0


class Sockets:
    """Sends and receives the frames of all peers, from its own thread.

    Parameters
    ----------
    keys : tuple of bytes
        Public and secret key of the site.
    inside : str
        Path of the Unix socket to listen at.
    endpoint : callable
        Returns where to dial a neighbour, or an empty text.
    received : callable
        Called after frames were delivered.
    """

    def __init__(
        self,
        keys: tuple[bytes, bytes],
        inside: str,
        *,
        peers: Peers,
        gate: Gate,
        frame_bytes: int,
        rate: float,
        endpoint: Callable[[str], str],
        received: Callable[[], None],
        listener: Callable[..., None],
    ) -> None:
        self.bytes_sent = self.bytes_received = 0
        self._keys, self._peers, self._gate = keys, peers, gate
        self._frame_bytes, self._rate = max(frame_bytes, _LEAST_FRAME), rate
        self._endpoint, self._received, self._listener = endpoint, received, listener
        self._ways: dict[str, _Way] = {}
        self._ended = threading.Event()
        self._context = zmq.Context()
        self._answering: Socket = self._context.socket(zmq.REP)
        self._answering.bind(ENDPOINT)
        self._router = self._bound(inside)
        self._poller = zmq.Poller()
        self._waking, self._woken = socket.socketpair()
        for each in (self._waking, self._woken):
            each.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="transport", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Send what is left to be sent; callable from any thread."""
        with suppress(BlockingIOError):  # it is awake already
            self._waking.send(b"\0")

    def close(self) -> None:
        """Close all sockets."""
        self._ended.set()
        self.wake()
        self._thread.join()
        self._context.destroy(0)
        self._waking.close()
        self._woken.close()
        for way in self._ways.values():
            way.peer.reached = False

    def _run(self) -> None:
        self._poller.register(self._answering, zmq.POLLIN)
        self._poller.register(self._woken.fileno(), zmq.POLLIN)
        window = _Window()
        while not self._ended.is_set():
            try:
                self._turn(window)
            except Exception as error:  # the site must not become deaf
                self._listener("transport_failed", error=f"{type(error).__name__}: {error}")
                self._ended.wait(1.0)

    def _turn(self, window: _Window) -> None:
        """Answer libzmq, receive and send frames once."""
        now = time.monotonic()
        if now - window.began > _WINDOW:
            window.began, window.count = now, 0
        self._update_ways(now)
        sources = {w.dealer: key for key, w in self._ways.items() if w.dealer is not None}
        # Excess frames wait at their senders. libzmq alternates between connections, so a
        # neighbour that sends too much slows down only itself.
        crowded = window.count >= 10.0 + 2.0 * self._rate * len(self._ways) * _WINDOW
        for each in (self._router, *sources):
            self._poller.register(each, 0 if crowded else zmq.POLLIN)
        ready = dict(self._poller.poll(int(_WINDOW * 1000) if crowded else _POLL_MILLISECONDS))
        if self._woken.fileno() in ready:
            with suppress(BlockingIOError):
                self._woken.recv(4096)
        if self._answering in ready:
            self._answering.send_multipart(self._gate.answer(self._answering.recv_multipart()))
        if self._router in ready:
            self._receive(self._router, None)
            window.count += 1
        for dealer, key in sources.items():
            if dealer in ready:
                self._receive(dealer, key)
                window.count += 1
        for way in self._ways.values():
            while (frame := self._peers.next_to_send(way.peer)) is not None:
                self._send(way, frame)

    def _receive(self, source: Socket, key: str | None) -> None:
        """Read one frame; one that came through the ROUTER is from the key of its connection."""
        try:
            parts = source.recv_multipart(zmq.DONTWAIT, copy=False)
        except zmq.ZMQError:
            return
        if key is None:
            key = str(parts[-1].get("User-Id"))
            self._note_route(key, parts[0].bytes)
            del parts[0]
        if len(parts) != 1 or key not in self._ways:
            return  # not one part, or no neighbour any more
        if self._peers.deliver(key, parts[0].bytes):
            self.bytes_received += len(parts[0])
            self._received()

    def _note_route(self, key: str, route: bytes) -> None:
        """Record the routing id of a neighbour's connection, which is nobody else's any more."""
        for other, way in self._ways.items():
            if other == key:
                way.route = route
            elif way.route == route:
                way.route = None

    def _send(self, way: _Way, frame: bytes) -> None:
        """Send a frame unless it would have to wait."""
        peer, now = way.peer, time.monotonic()
        through = way.dealer is not None and _sent(way.dealer, frame)
        if through:
            way.since = now
        way.failed = not through
        if not through and not self._sent_back(way, frame):
            peer.reached = False
            if now - peer.since > RECONNECT_SECONDS and not peer.reported:
                peer.reported = True
                self._listener("unreachable", neighbour=peer.neighbour.name)
            return
        self.bytes_sent += len(frame)
        peer.sent += 1
        if peer.reported:
            self._listener("reachable", neighbour=peer.neighbour.name)
        peer.since, peer.reached, peer.reported = now, True, False

    def _sent_back(self, way: _Way, frame: bytes) -> bool:
        """Send a frame over the neighbour's own connection, if there is one."""
        if way.route is None:
            return False
        try:
            self._router.send_multipart([way.route, frame], zmq.DONTWAIT)
        except zmq.Again:
            return False
        except zmq.ZMQError:  # it is closed
            way.route = None
            return False
        return True

    def _update_ways(self, now: float) -> None:
        """Follow changes of the neighbours, and dial those that need it."""
        peers = self._peers.by_key
        for key in self._ways.keys() - peers.keys():
            self._hang_up(self._ways.pop(key))
        for key, peer in peers.items():
            way = self._ways.get(key)
            if way is None or way.peer is not peer:
                if way is not None:
                    self._hang_up(way)
                way = self._ways[key] = _Way(peer)
            where = self._endpoint(key)
            changed = where != way.where
            # libzmq never retries after a refusal, but the neighbour may accept now.
            patience = RECONNECT_SECONDS if way.route is None else _SPARE_SECONDS
            if changed or (way.failed and now - way.since > patience):
                self._hang_up(way)
                way.where, way.since, way.failed = where, now, bool(where)
                if where:
                    way.attempts += 1
                    way.dealer = self._dialled(where, key, way.attempts)

    def _hang_up(self, way: _Way) -> None:
        if way.dealer is not None:
            self._poller.register(way.dealer, 0)  # not polled any more
            way.dealer.close(0)
            way.dealer = None

    def _dialled(self, where: str, key: str, attempt: int) -> Socket | None:
        """Return a connection to a neighbour that is being made; None if there is no way now."""
        dealer: Socket | None = None
        try:
            dealer = self._context.socket(zmq.DEALER)
            dealer.curve_serverkey = key.encode()
            dealer.curve_publickey, dealer.curve_secretkey = self._keys
            dealer.immediate = True  # no queue for a neighbour that is down
            dealer.reconnect_ivl, dealer.reconnect_ivl_max = 100, 2000
            dealer.linger = 0
            self._limit(dealer)
            if where.startswith("tcp:"):
                address = parse_address(where)
                # A name may stand for either; libzmq tries one.
                dealer.ipv6 = address.is_numeric_v6 or (address.is_name and attempt % 2 == 0)
            dealer.connect(where)
        except (
            zmq.ZMQError,
            ValueError,
        ):  # no descriptors; no more is wrong with a checked address
            if dealer is not None:
                dealer.close(0)
            return None
        return dealer

    def _bound(self, inside: str) -> Socket:
        router: Socket = self._context.socket(zmq.ROUTER)
        router.curve_server = True
        router.curve_secretkey = self._keys[1]
        router.zap_domain = DOMAIN
        router.router_mandatory = True  # to know whether a frame can be sent
        self._limit(router)
        with suppress(FileNotFoundError):
            os.unlink(inside)  # libzmq leaves it behind
        router.bind(f"ipc://{inside}")
        return router

    def _limit(self, each: Socket) -> None:
        """Bound the queues and frames of a socket, and detect connections that are cut silently."""
        each.sndhwm = each.rcvhwm = QUEUED
        each.maxmsgsize = self._frame_bytes
        each.handshake_ivl = int(1000 * HANDSHAKE_SECONDS)
        each.heartbeat_ivl = _HEARTBEAT_MILLISECONDS
        each.heartbeat_timeout = 3 * _HEARTBEAT_MILLISECONDS


def _sent(through: Socket, frame: bytes) -> bool:
    try:
        through.send(frame, zmq.DONTWAIT)
    except zmq.ZMQError:
        return False
    return True
