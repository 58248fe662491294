"""A site's way through a relay: both ends dial it, and meet there.

Of two ends, the one with the larger key is the client of the CURVE handshake that then runs through
the relay, and the other the server. The client's DEALER dials a Unix socket, which is there while
the two have met; the server's end goes to its `Door`, like any connection.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..settings import Neighbour
from .addresses import RELAY, parse_address
from .door import Door
from .keys import TokenBucket
from .relay import RelayLater, RelayRefused, meet, read_relay_token
from .streams import LoopThread, first_of, pump

__all__ = ["RelayLinks"]

# Seconds for libzmq to dial the Unix socket once the two ends have met.
_SECONDS_TO_DIAL = 4.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0


class RelayLinks:
    """The links of a site that go through relays."""

    def __init__(
        self,
        thread: LoopThread,
        door: Door,
        place: Path,
        public_key: str,
        folder: Path | None,
        listener: Callable[..., None],
    ) -> None:
        self._thread, self._door, self._place = thread, door, place
        self._public_key, self._folder, self._listener = public_key, folder, listener
        self._running: dict[tuple[str, str], Future[Any]] = {}  # by key and address
        self._news = TokenBucket(1 / 60, 3.0)

    def set_neighbours(self, neighbours: Sequence[Neighbour]) -> None:
        """Meet these neighbours, those of them that have the address of a relay."""
        wanted = {
            (each.public_key, each.address): each
            for each in neighbours
            if each.address.startswith(f"{RELAY}:")
        }
        for gone in self._running.keys() - wanted.keys():
            self._running.pop(gone).cancel()
        for new in wanted.keys() - self._running.keys():
            self._running[new] = self._thread.start(self._keep_meeting(wanted[new]))

    def endpoint(self, key: str) -> str:
        """Return where this site dials a neighbour; empty if the neighbour comes to its door."""
        return f"ipc://{self._path(key)}" if self._public_key > key else ""

    def close(self) -> None:
        """End all links."""
        for each in self._running.values():
            each.cancel()
        self._running.clear()

    def _path(self, key: str) -> Path:
        return self._place / hashlib.blake2b(key.encode(), digest_size=6).hexdigest()

    async def _keep_meeting(self, neighbour: Neighbour) -> None:
        address, key, pause = parse_address(neighbour.address), neighbour.public_key, _FIRST_PAUSE
        while True:
            try:
                token = read_relay_token(self._folder or Path())
                link = await meet(address, self._public_key, key, token)
            except RelayLater:
                pause = _FIRST_PAUSE
                continue
            except (RelayRefused, OSError, ValueError) as error:
                if self._news.take():
                    self._listener("relay_failed", neighbour=neighbour.name, error=str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            with link, suppress(OSError):
                if self.endpoint(key):
                    await self._join(link, self._path(key))
                else:
                    await self._door.receive(link, f"relay {address.host}:{address.port}")
            await asyncio.sleep(_FIRST_PAUSE)

    async def _join(self, link: socket.socket, path: Path) -> None:
        """Have libzmq dial a Unix socket, and pass bytes between it and the relay."""
        loop = asyncio.get_running_loop()
        path.unlink(missing_ok=True)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
                listening.setblocking(False)
                listening.bind(str(path))
                listening.listen(1)
                async with asyncio.timeout(_SECONDS_TO_DIAL):
                    inner, _ = await loop.sock_accept(listening)
        finally:
            path.unlink(missing_ok=True)
        with inner:
            inner.setblocking(False)
            await first_of(pump(inner, link), pump(link, inner))
