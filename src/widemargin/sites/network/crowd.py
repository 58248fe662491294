"""Connections from outside, of which there are never more than there is room for.

When there is no room, one that has not proved a key is closed: the oldest of the address that holds
most of them, and rather one of an address from which no key was ever proved. So whoever opens many
connections loses them to himself, and neighbours still get in. Of one key, the newest connections
are kept.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .keys import TokenBucket

__all__ = ["Crowd", "Visitor"]

# Seconds until the next attempt, where the system has no descriptor or memory to accept one.
_PAUSE = 0.2
_MOST_KNOWN = 1024
_CUT_MILLISECONDS = 30_000


@dataclass(eq=False)
class Visitor:
    """A connection from outside."""

    link: socket.socket
    address: str
    source: str  # address, or its network where everyone has many of them
    judged: bool = False  # whether it was asked for its key
    key: str | None = None  # once it is proved
    since: float = field(default_factory=time.monotonic)
    task: asyncio.Task[None] | None = None

    def leave(self) -> None:
        """End the connection; runs in the loop."""
        if self.task is not None:
            self.task.cancel()


Serve = Callable[[Visitor], Coroutine[Any, Any, None]]


class Crowd:
    """The connections, each served by a task; all methods run in one event loop.

    Parameters
    ----------
    most : int
        Connections at any time.
    most_per_key : int
        Those of one key.
    listener : callable
        Called with the event ``crowded``, at most once a minute.

    Attributes
    ----------
    turned_away : int
        Number of connections that were closed for lack of room, or of a handshake in time.
    """

    def __init__(self, most: int, most_per_key: int, listener: Callable[..., None]) -> None:
        self.most, self.most_per_key, self.turned_away = most, most_per_key, 0
        self.visitors: set[Visitor] = set()
        self._listening: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._known: set[str] = set()  # sources of proved keys
        self._listener, self._news = listener, TokenBucket(1 / 60, 1.0)

    async def open(self, listening: Sequence[socket.socket], serve: Serve) -> None:
        """Accept connections from now on."""
        self._listening = list(listening)
        self._accepting = [asyncio.ensure_future(self._accept(each, serve)) for each in listening]

    async def _accept(self, listening: socket.socket, serve: Serve) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                link, place = await loop.sock_accept(listening)
            except OSError:  # no descriptor, no memory, or gone already
                await asyncio.sleep(_PAUSE)
                continue
            if await self.make_room():
                with suppress(OSError):  # gone already
                    self.enter(link, str(place[0]), serve)
                    continue
            link.close()

    async def make_room(self) -> bool:
        """Return whether there is room for one more, after closing another if need be."""
        # Connections must get their turns, however fast others arrive.
        await asyncio.sleep(0)
        while len(self.visitors) >= self.most:
            victim = self._least_welcome()
            self.turned_away += 1
            if self._news.take():
                address = None if victim is None else victim.address
                self._listener("crowded", connections=len(self.visitors), closed=address)
            if victim is None or victim.task is None:
                return False
            victim.leave()
            await asyncio.wait({victim.task})
        return True

    def enter(self, link: socket.socket, address: str, serve: Serve) -> Visitor:
        """Serve a connection, which is closed at the end."""
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # for a cable that is cut while bytes wait
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _CUT_MILLISECONDS)
        address = address.removeprefix("::ffff:")
        visitor = Visitor(link, address, _source(address))
        self.visitors.add(visitor)
        visitor.task = asyncio.ensure_future(serve(visitor))
        # Not at the end of the task: one that is cancelled at once does not even begin.
        visitor.task.add_done_callback(lambda task: self._left(visitor, task))
        return visitor

    def prove(self, visitor: Visitor, key: str) -> None:
        """Record the key of a connection, and close the oldest ones if the key has too many."""
        visitor.key = key
        if len(self._known) < _MOST_KNOWN:
            self._known.add(visitor.source)
        same = sorted((v for v in self.visitors if v.key == key), key=lambda v: v.since)
        for old in same[: -self.most_per_key]:
            old.leave()

    def drop(self, keys: Set[str] | None = None) -> None:
        """Close the connections of some keys, or all."""
        for visitor in self.visitors:
            if keys is None or visitor.key in keys:
                visitor.leave()

    async def close(self) -> None:
        """Accept no more connections, and close all."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for each in self._listening:
            each.close()
        self.drop()
        tasks = [each.task for each in self.visitors if each.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def _least_welcome(self) -> Visitor | None:
        waiting = [each for each in self.visitors if each.key is None]
        counts = Counter(each.source for each in waiting)
        return max(
            waiting,
            key=lambda each: (each.source not in self._known, counts[each.source], -each.since),
            default=None,
        )

    def _left(self, visitor: Visitor, task: asyncio.Task[None]) -> None:
        self.visitors.discard(visitor)
        visitor.link.close()
        if not task.cancelled():
            task.exception()  # a fault of one connection is nobody else's


def _source(address: str) -> str:
    """Return an IPv4 address, or the network of an IPv6 one, of which anyone has 2**64."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False))
