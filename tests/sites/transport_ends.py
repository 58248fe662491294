"""Ends of links in this process, which talk to each other without sites behind them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from site_folders import free_ports

from widemargin.sites.config import Neighbour
from widemargin.sites.network.keys import make_keys, read_secret_key
from widemargin.sites.network.transport import Transport


class Ends:
    """Some ends that all know each other, unless told otherwise."""

    def __init__(self, folder: Path, stack: ExitStack, host: str = "127.0.0.1") -> None:
        self._folder, self._stack = folder, stack
        self.ports = free_ports(3)
        self.neighbours: list[Neighbour] = []
        for k, port in enumerate(self.ports):
            (folder / str(k)).mkdir()
            key = make_keys(folder / str(k))
            self.neighbours.append(Neighbour(str(k), f"tcp://{host}:{port}", key))
        self.events: list[tuple[int, str]] = []
        self.told: list[dict[str, Any]] = []

    def open(
        self,
        k: int,
        *others: int,
        rate: float = 1e6,
        listen: str | None = None,
        addresses: str | None = None,
    ) -> Transport:
        """Open an end; it listens at its address, and dials others at theirs, if not told so."""

        def listener(event: str, **fields: Any) -> None:
            self.events.append((k, event))
            self.told.append({"event": event, **fields})

        known = [self.neighbours[j] for j in others]
        if addresses is not None:
            known = [Neighbour(each.name, addresses, each.public_key) for each in known]
        end = Transport(
            self.neighbours[k].address if listen is None else listen,
            public_key=self.key(k),
            secret_key=self.secret(k),
            frame_bytes=2000,
            rate_limit=rate,
            max_memory=2**30,
            neighbours=known,
            arrived=threading.Event(),
            listener=listener,
            folder=self.folder(k),
        )
        self._stack.callback(end.close)
        return end

    def folder(self, k: int) -> Path:
        return self._folder / str(k)

    def key(self, k: int) -> str:
        return self.neighbours[k].public_key

    def secret(self, k: int) -> str:
        return read_secret_key(self.folder(k))


def until(happens: Callable[[], Any], seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def both_ways(one: Transport, two: Transport, key_one: str, key_two: str) -> None:
    """Wait until frames have gone both ways."""
    heard: set[str] = set()

    def exchange() -> bool:
        # A site sends every heartbeat; the way back is known once it has.
        one.send(key_two, b"there")
        two.send(key_one, b"back")
        heard.update(name for name, end in (("one", one), ("two", two)) if end.take())
        return len(heard) == 2

    until(exchange)
