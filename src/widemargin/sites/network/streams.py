"""Streams of bytes between sockets, in an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from .addresses import parse_address

__all__ = ["LoopThread", "exactly", "first_of", "listening_at", "pump"]

_CHUNK = 65536
_BACKLOG = 128


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run a coroutine in the loop; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self) -> None:
        """Cancel all that runs, and end."""
        self.start(_cancel_others()).result(10.0)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def exactly(link: socket.socket, count: int) -> bytes:
    """Return the next bytes of a stream; ConnectionResetError if there are fewer."""
    loop, found = asyncio.get_running_loop(), b""
    while len(found) < count:
        data = await loop.sock_recv(link, count - len(found))
        if not data:
            raise ConnectionResetError
        found += data
    return found


async def pump(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until the source ends; what the target does not take is not read."""
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, _CHUNK):
        await loop.sock_sendall(target, data)
        await asyncio.sleep(0)  # others, too, while one has always more


async def first_of(*work: Coroutine[Any, Any, None]) -> int:
    """Run coroutines until the first one ends; return its number, or raise what it raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return next(k for k, task in enumerate(tasks) if task in done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def listening_at(listen: str) -> list[socket.socket]:
    """Return sockets that listen at an address; OSError if it cannot be had."""
    address = parse_address(listen)
    host = None if address.host == "*" else address.host
    flags = socket.AI_PASSIVE
    found: list[socket.socket] = []
    failure: OSError | None = None
    try:
        places = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM, flags=flags)
        for family, kind, protocol, _, place in dict.fromkeys(places):
            try:
                found.append(_bound(family, kind, protocol, place))
            except OSError as error:
                failure = error
                if error.errno == errno.EADDRINUSE:
                    break
    except OSError as error:  # a name that is not known
        failure = error
    if failure is not None and (not found or failure.errno == errno.EADDRINUSE):
        for each in found:
            each.close()
        raise OSError(
            f"cannot listen at {listen}: {failure.strerror or failure}. Set `listen` to an address "
            "of this machine and a free port."
        )
    return found


def _bound(family: int, kind: int, protocol: int, place: Any) -> socket.socket:
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # IPv4 has a socket of its own
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.setblocking(False)
        listening.bind(place)
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening
