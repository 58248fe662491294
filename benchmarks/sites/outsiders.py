"""Strangers that open connections to sites and say nothing."""

from __future__ import annotations

import random
import resource
import socket
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

SECONDS_BETWEEN_BURSTS = 0.1
BURST = 20


class IdleConnections:
    """Context manager that holds idle connections to some ports of this machine.

    Those that sites close are opened anew, `BURST` of them at a time. ``opened`` counts all.
    """

    def __init__(self, ports: Sequence[int], count: int) -> None:
        self.opened = 0
        self._ports, self._held = list(ports), deque[socket.socket](maxlen=count or 1)
        self._count, self._ended = count, threading.Event()
        self._thread = threading.Thread(target=self._keep_opening, daemon=True)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < count + 200 <= hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))

    def __enter__(self) -> Self:
        if self._count:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._count:
            self._thread.join()
        for link in self._held:
            link.close()

    def _keep_opening(self) -> None:
        draw = random.Random(0)
        while not self._ended.wait(SECONDS_BETWEEN_BURSTS):
            for _ in range(BURST):
                with suppress(OSError):
                    link = socket.socket()
                    link.setblocking(False)
                    with suppress(BlockingIOError):
                        link.connect(("127.0.0.1", draw.choice(self._ports)))
                    if len(self._held) == self._held.maxlen:
                        self._held.popleft().close()  # the oldest, which is closed by now
                    self._held.append(link)
                    self.opened += 1
