"""Who may connect: the allow-list of public keys, asked by libzmq at every handshake (ZAP)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from zmq.utils import z85

__all__ = ["DOMAIN", "ENDPOINT", "Gate", "TokenBucket"]

# Where libzmq asks, by ZeroMQ's RFC 27.
ENDPOINT = "inproc://zeromq.zap.01"
DOMAIN = b"widemargin"
# Handshakes of a neighbour, which connects once, and again when a line or a process broke.
CONNECTIONS_PER_SECOND = 2.0
CONNECTION_BURST = 20.0
# Strangers that are remembered, so that the log tells of each once.
MOST_STRANGERS = 1024


class TokenBucket:
    """Lets so many things happen a second, and a burst of as many as `most`."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most, self._left = rate, most, most
        self._then = time.monotonic()

    def take(self) -> bool:
        """Tell whether one more may happen now."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Gate:
    """Answers libzmq's questions, and counts those who were turned away.

    Parameters
    ----------
    listener : callable
        Told ``refused`` of every stranger, once.

    Attributes
    ----------
    refused : int
        Handshakes that were refused.
    """

    def __init__(self, listener: Callable[..., None]) -> None:
        self.refused = 0
        self._listener = listener
        self._strangers: set[tuple[str, ...]] = set()
        self._connecting: dict[str, TokenBucket] = {}

    def admit(self, keys: Iterable[str]) -> None:
        """Let these in from now on, and nobody else."""
        known = self._connecting
        self._connecting = {
            key: known.get(key) or TokenBucket(CONNECTIONS_PER_SECOND, CONNECTION_BURST)
            for key in keys
        }

    def knows(self, key: str) -> bool:
        """Tell whether a key is on the list."""
        return key in self._connecting

    def answer(self, question: list[bytes]) -> list[bytes]:
        """Answer one question of libzmq."""
        if len(question) < 6:
            return [b"1.0", question[1] if len(question) > 1 else b"", b"500", b"", b"", b""]
        version, number, _, address, _, mechanism, *credentials = question
        key = ""
        if mechanism == b"CURVE" and len(credentials) == 1 and len(credentials[0]) == 32:
            key = z85.encode(credentials[0]).decode()
        status, text = b"400", b"no"
        bucket = self._connecting.get(key)
        if bucket is None:
            self.refuse(public_key=key, address=address.decode("ascii", "replace"))
        elif bucket.take():
            status, text = b"200", b"ok"
        else:
            status, text = b"300", b"later"
        return [version, number, status, text, key.encode() if status == b"200" else b"", b""]

    def refuse(self, **who: Any) -> None:
        """Count a handshake that failed, and tell of it the first time."""
        self.refused += 1
        known = tuple(str(value) for value in who.values())
        if known in self._strangers or len(self._strangers) >= MOST_STRANGERS:
            return
        self._strangers.add(known)
        self._listener("refused", **who)
